"""What the site shows that is in no page of ``docs/``: files of the top folder, and tables made from the code.

A line ``{{ name }}`` of a page is replaced by what the function of that name in ``TABLES`` gives.
"""

from __future__ import annotations

import importlib
import inspect
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from airflow.sdk import DAG, BaseOperator
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from airflow_provider_connect_offsets import dags, task_groups
from airflow_provider_connect_offsets.get_provider_info import get_provider_info
from airflow_provider_connect_offsets.offsets.verdicts import Rule
from airflow_provider_connect_offsets.parameters.fields import fields_of

TOP = Path(__file__).parents[1]
PACKAGE = "airflow_provider_connect_offsets"
#: Files of the top folder that are pages of the site, by what they are called there.
TOP_PAGES = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changes.md": "CHANGELOG.md"}
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
_TABLE = re.compile(r"^{{ (\w+) }}$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages whose text is in the top folder."""
    for page, name in TOP_PAGES.items():
        files.append(File.generated(config, page, content=(TOP / name).read_text()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put in the tables, and let links lead to pages of the site."""
    del config, files
    uri = page.file.src_uri
    folder = "" if uri in TOP_PAGES else posixpath.join("docs", posixpath.dirname(uri))
    with_tables = _TABLE.sub(lambda found: "\n".join(TABLES[found[1]]()), markdown)
    return _LINK.sub(lambda found: _on_site(found, folder, uri), with_tables)


def _on_site(link: re.Match[str], folder: str, uri: str) -> str:
    """Give the link as the site needs it; of a file that is no page of the site only the text."""
    text, name, anchor = link[1], link[2], link[3] or ""
    path = posixpath.normpath(posixpath.join(folder, name))
    pages = {name: page for page, name in TOP_PAGES.items()}
    target = path.removeprefix("docs/") if path.startswith("docs/") else pages.get(path)
    if target is None:
        return text
    return f"[{text}]({posixpath.relpath(target, posixpath.dirname(uri) or '.')}{anchor})"


def _dags() -> Iterator[str]:
    """Give each ready DAG with its Params."""
    for name in dags.__all__:
        dag: DAG = getattr(dags, name)()
        yield from (f"## `{name}`", "", f"{dag.description}.", "")
        yield from ("| Param | default | meaning |", "|---|---|---|")
        for param in dag.params:
            found = dag.params.get_param(param)
            yield f"| `{param}` | {_default(found)} | {_cell(found.description)}{_choices(found)} |"
        yield ""


def _default(param: Any) -> str:
    if param.has_value:
        return f"`{param.value}`"
    return "" if "null" in param.schema["type"] else "required"


def _choices(param: Any) -> str:
    choices = [choice for choice in param.schema.get("enum", ()) if choice]
    return f" One of {_names(choices)}." if choices else ""


def _task_groups() -> Iterator[str]:
    for name in task_groups.__all__:
        group = getattr(task_groups, name)
        yield from (f"::: {inspect.unwrap(group).__module__}.{name}", "")
        descriptions = re.findall(r"^    (\w+): (.+)$", group.__doc__, re.MULTILINE)
        yield from _arguments(inspect.signature(group).parameters, dict(descriptions))


def _operators() -> Iterator[str]:
    yield from _classes("operators")


def _sensors() -> Iterator[str]:
    yield from _classes("sensors")


def _classes(kind: str) -> Iterator[str]:
    """Give each public operator or sensor: docstring, arguments, templated fields."""
    for module in _modules(kind):
        for operator in _operators_of(module):
            yield from (f"::: {module.__name__}.{operator.__name__}", "")
            yield from (f"`from {module.__name__} import {operator.__name__}`", "")
            fields = fields_of(*getattr(operator, "parameters", ()))
            yield from _arguments(
                _signature_of(operator), {name: str(field.description) for name, field in fields.items()}
            )
            yield from (f"Templated: {_names(operator.template_fields)}.", "")


def _modules(kind: str) -> list[ModuleType]:
    names = [name for entry in get_provider_info()[kind] for name in entry["python-modules"]]
    return [importlib.import_module(name) for name in names]


def _operators_of(module: ModuleType) -> list[type[BaseOperator]]:
    found = [member for name, member in vars(module).items() if inspect.isclass(member) and not name.startswith("_")]
    return [member for member in found if member.__module__ == module.__name__ and issubclass(member, BaseOperator)]


def _signature_of(operator: type[BaseOperator]) -> dict[str, inspect.Parameter]:
    """Return the arguments that the operator has beside those of Airflow's."""
    arguments: dict[str, inspect.Parameter] = {}
    for base in operator.__mro__:
        if base.__module__.startswith(PACKAGE) and "__init__" in vars(base):
            for name, argument in inspect.signature(inspect.unwrap(vars(base)["__init__"])).parameters.items():
                if argument.kind is inspect.Parameter.KEYWORD_ONLY:
                    arguments.setdefault(name, argument)
    return arguments


def _arguments(signature: Mapping[str, inspect.Parameter], descriptions: Mapping[str, str]) -> Iterator[str]:
    """Give the table of arguments."""
    yield from ("| argument | default | meaning |", "|---|---|---|")
    for name, argument in signature.items():
        default = "required" if argument.default is inspect.Parameter.empty else f"`{argument.default!r}`"
        yield f"| `{name}` | {default} | {_cell(descriptions.get(name))} |"
    yield ""


def _names(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _hooks() -> Iterator[str]:
    """Give the public classes and functions of each hook's module."""
    for module in _modules("hooks"):
        for name, found in vars(module).items():
            if not name.startswith("_") and getattr(found, "__module__", "") == module.__name__:
                yield from (f"::: {module.__name__}.{name}", "    options: {members: null}", "")
                yield from (f"`from {module.__name__} import {name}`", "")


def _rules() -> Iterator[str]:
    yield from ("| rule | what it checks |", "|---|---|")
    yield from (f"| `{rule.value}` | {_cell(rule.sentence)} |" for rule in Rule)


def _settings() -> Iterator[str]:
    yield from ("| setting | default | meaning |", "|---|---|---|")
    for section, described in get_provider_info()["config"].items():
        for name, option in described["options"].items():
            default = f"`{option['default']}`" if option["default"] else ""
            yield f"| `[{section}] {name}` | {default} | {_cell(option['description'])} |"


def _connections() -> Iterator[str]:
    for connection in get_provider_info()["connection-types"]:
        yield from (
            f"### `{connection['connection-type']}`",
            "",
            "| field of the extra | label | meaning |",
            "|---|---|---|",
        )
        for name, field in connection["conn-fields"].items():
            yield f"| `{name}` | {field['label']} | {_cell(field['description'])} |"
        yield ""


def _cell(text: str | None) -> str:
    return " ".join((text or "").replace("``", "`").replace("|", "\\|").split())


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "dags": _dags,
    "task_groups": _task_groups,
    "operators": _operators,
    "sensors": _sensors,
    "hooks": _hooks,
    "rules": _rules,
    "settings": _settings,
    "connections": _connections,
}
