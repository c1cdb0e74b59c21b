"""Write ``docs/reference.md`` from what the code says about itself: DAGs, operators, rules, errors, settings."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets import dags, exceptions, task_groups
from airflow_provider_connect_offsets.get_provider_info import get_provider_info
from airflow_provider_connect_offsets.offsets.verdicts import Rule

HERE = Path(__file__).parent
_READY = """\
Each is a function of `airflow_provider_connect_offsets.dags`, so a DAG file has two lines:

```python
from airflow_provider_connect_offsets.dags import connector_offsets_change

dag = connector_offsets_change(params={"connect_conn_id": "connect_orders"})
```

It takes the arguments of `airflow.sdk.DAG`; `params` gives Params other defaults. `dags/` has such a file for each."""


def reference() -> str:
    """Give the whole page as Markdown."""
    lines = [
        "# Reference",
        "",
        "Made by `make docs` from docstrings and metadata; what is missing here is missing there.",
        *_dags(),
        *_task_groups(),
        *_operators(),
        *_rules(),
        *_errors(),
        *_settings(),
    ]
    return "\n".join(lines) + "\n"


def _dags() -> Iterator[str]:
    yield from ("", "## DAGs", "", _READY)
    for name in dags.__all__:
        dag = getattr(dags, name)()
        yield from (
            "",
            f"### `{name}`",
            "",
            f"{dag.description}.",
            "",
            "| Param | default | meaning |",
            "|---|---|---|",
        )
        for param in dag.params:
            found = dag.params.get_param(param)
            yield f"| `{param}` | {_default(found)} | {_cell(found.description)} |"


def _default(param: Any) -> str:
    if param.has_value:
        return f"`{param.value}`"
    return "" if "null" in param.schema["type"] else "required"


def _task_groups() -> Iterator[str]:
    yield from ("", "## Task groups")
    for name in task_groups.__all__:
        yield from _callable(name, getattr(task_groups, name))


def _operators() -> Iterator[str]:
    info = get_provider_info()
    for kind in ("operators", "sensors"):
        yield from ("", f"## {kind.title()}")
        for module in sorted(module for item in info[kind] for module in item["python-modules"]):
            for name, found in inspect.getmembers(importlib.import_module(module), inspect.isclass):
                if found.__module__ == module and issubclass(found, BaseOperator) and not name.startswith("_"):
                    yield from ("", f"### `{name}`", "", f"`from {module} import {name}`", "", _text(found))
                    yield from ("", f"Arguments: {', '.join(_arguments(found))}.")
                    yield from ("", f"Templated: {', '.join(f'`{field}`' for field in found.template_fields)}.")


def _rules() -> Iterator[str]:
    yield from ("", "## Rules", "", "What the plan job checks, by the names in dataset `verdicts`.", "")
    yield from ("| rule | what must be true, or is said |", "|---|---|")
    yield from (f"| `{rule.value}` | {_cell(rule.sentence)} |" for rule in Rule)


def _errors() -> Iterator[str]:
    yield from ("", "## Errors", "", f"`{exceptions.__name__}`, all below `ConnectOffsetsError`.", "")
    yield from ("| error | what has happened |", "|---|---|")
    for name, found in vars(exceptions).items():
        if inspect.isclass(found) and issubclass(found, Exception):
            yield f"| `{name}` | {_cell(_text(found))} |"


def _settings() -> Iterator[str]:
    info = get_provider_info()
    yield from ("", "## Settings and connections", "")
    for section, described in info["config"].items():
        for option, told in described["options"].items():
            yield f"- `[{section}] {option}`: {_cell(told['description'])}"
    for connection in info["connection-types"]:
        yield from ("", f"Connection type `{connection['connection-type']}` (its extra; all optional):", "")
        for name, field in connection["conn-fields"].items():
            yield f"- `{name}`: {field['label']}. {field['description']}"


def _callable(name: str, found: Any) -> Iterator[str]:
    yield from ("", f"### `{name}`", "", f"`from {task_groups.__name__} import {name}`", "", _text(found))
    yield from ("", f"Arguments: {', '.join(_parameters(found))}.")


def _arguments(operator: type[BaseOperator]) -> list[str]:
    """Give the arguments that this package's own classes add."""
    own = [base for base in operator.__mro__ if base.__module__.startswith("airflow_provider_connect_offsets")]
    initialisers = [vars(base)["__init__"] for base in own if "__init__" in vars(base)]
    named = [argument for initialiser in initialisers for argument in _parameters(inspect.unwrap(initialiser))]
    return list(dict.fromkeys(named))


def _parameters(function: Any) -> list[str]:
    shown = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self" or parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        default = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
        shown.append(f"`{name}{default}`")
    return shown


def _text(documented: Any) -> str:
    return (inspect.getdoc(documented) or "").replace("``", "`")


def _cell(text: str | None) -> str:
    return " ".join((text or "").replace("``", "`").replace("|", "\\|").split())


if __name__ == "__main__":
    target = HERE / "reference.md"
    target.write_text(reference())
    sys.stdout.write(f"{target.relative_to(HERE.parent)} is written.\n")
