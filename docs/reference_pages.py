"""Writes the parts of ``docs/reference`` that are made from the code: ``make reference``.

A part is between two comments of a page, the first of which names it. The rest of a page is written by hand.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from airflow.sdk import DAG

from airflow_provider_connect_offsets import dags, exceptions, operators, sensors, task_groups
from airflow_provider_connect_offsets.get_provider_info import get_provider_info
from airflow_provider_connect_offsets.offsets.requests.fields import fields_of
from airflow_provider_connect_offsets.offsets.verdicts import Rule
from docs.docstrings import PACKAGE, TOP, docstring, markdown

PAGES = sorted((TOP / "docs" / "reference").glob("*.md"))
#: Operators for DAGs of your own. Those that only work as tasks of a task group are left out.
OPERATORS = {
    "Steps on one connector": (
        "StopConnectorOperator",
        "PauseConnectorOperator",
        "RestartConnectorOperator",
        "ResumeConnectorOperator",
        "GetConnectorStatusOperator",
        "GetConnectorConfigOperator",
        "GetConnectorOffsetsOperator",
        "AlterConnectorOffsetsOperator",
        "ResetConnectorOffsetsOperator",
    ),
    "New, configured, copied, renamed and deleted connectors": (
        "CreateConnectorOperator",
        "UpdateConnectorConfigOperator",
        "DeleteConnectorOperator",
        "CopyConnectorOperator",
        "RenameConnectorOperator",
        "CheckCopyOperator",
        "ApproveCopyOperator",
        "ReleaseCopyOperator",
    ),
    "Consumer groups": (
        "ListConsumerGroupsOperator",
        "DescribeConsumerGroupOperator",
        "DeleteConsumerGroupOperator",
    ),
    "Poison records": ("SkipPoisonRecordOperator", "FindPoisonRecordOperator", "ReleasePoisonedSinkOperator"),
    "MirrorMaker 2": (
        "ClearOffsetSyncsOperator",
        "TranslateGroupOffsetsOperator",
        "CommitGroupOffsetsOperator",
        "RestoreGroupOffsetsOperator",
    ),
    "A planned change, task by task": (
        "SnapshotConnectorOffsetsOperator",
        "PlanConnectorOffsetsOperator",
        "ApproveOffsetPlanOperator",
        "BeginOffsetChangeOperator",
        "ApplyOffsetPlanOperator",
        "RestoreConnectorOffsetsOperator",
    ),
}
TRIGGERS = {"triggers.watching": ("ConnectorFailedTrigger", "LagBeyondTrigger", "GroupEmptyTrigger")}
HOOKS = {
    "hooks.kafka_connect": ("KafkaConnectHook",),
    "hooks.kafka": ("kafka_config", "kafka_cluster", "offsets_topic"),
}
#: Arguments that are no parameters, as only code gives them: default (None: that of the code), meaning.
CODE_ONLY: dict[str, tuple[str | None, str]] = {
    "approval_timeout": (None, "`timedelta` in which a person may answer. None: `plan_ttl`; without a plan 12 hours."),
    "approvers": (None, "Who may answer: names of users, or dicts of `id` and `name`. None: all who may in Airflow."),
    "deferrable": ("`[operators] default_deferrable`", "Whether a triggerer waits, which takes no worker's slot."),
    "group_id": (None, "Id of the task group."),
    "notifiers": (None, "Airflow's notifiers, which are called when the question is asked."),
    "response_timeout": (None, "`timedelta` in which a person may answer. None: no limit."),
    "spark": (None, "More arguments for the `SparkSubmitOperator`, like `conf`."),
}
_PART = re.compile(r"^(<!-- made by `make reference`: (\w+) -->)\n.*?^(<!-- end -->)$", re.MULTILINE | re.DOTALL)
_EXAMPLE = re.compile(r"(Example: )(.+)$")
_ANNOTATION = re.compile(r"(: |-> )'([^']+)'")


def renewed(page: str) -> str:
    """Return the text of a page with its generated parts replaced."""
    return _PART.sub(lambda found: "\n".join([found[1], "", *_trimmed(PARTS[found[2]]()), "", found[3]]), page)


def _trimmed(lines: Iterator[str]) -> list[str]:
    return "\n".join(lines).strip("\n").splitlines()


def _dags() -> Iterator[str]:
    """Give each ready DAG with its Params."""
    for name in dags.__all__:
        dag: DAG = getattr(dags, name)()
        yield from (f"## `{name}`", "", f"{dag.description}.", "")
        yield from ("| Param | default | meaning |", "|---|---|---|")
        for param in dag.params:
            found = dag.params.get_param(param)
            meaning = _EXAMPLE.sub(r"\1`\2`", _cell(found.description))
            yield f"| `{param}` | {_param_default(found)} | {meaning}{_choices(found)} |"
        yield ""


def _param_default(param: Any) -> str:
    if param.has_value:
        return "" if param.value is None else f"`{_cell(str(param.value))}`"
    return "" if "null" in param.schema["type"] else "required"


def _choices(param: Any) -> str:
    choices = [choice for choice in param.schema.get("enum", ()) if choice]
    return f" One of {_names(choices)}." if choices else ""


def _task_groups() -> Iterator[str]:
    for name in task_groups.__all__:
        group = getattr(task_groups, name)
        yield from (f"## `{name}`", "", docstring(inspect.unwrap(group).__module__, name), "")
        yield from _arguments(inspect.signature(group).parameters, _descriptions(group))


def _operators() -> Iterator[str]:
    for title, names in OPERATORS.items():
        yield from (f"## {title}", "")
        yield from _classes(operators, names, heading="###")


def _sensors() -> Iterator[str]:
    yield from _classes(sensors, sensors.__all__, heading="##")


def _classes(room: ModuleType, names: Iterable[str], *, heading: str) -> Iterator[str]:
    """Give operators or sensors: docstring, arguments, and which of these can't be templates."""
    for name in names:
        operator = getattr(room, name)
        text = docstring(operator.__module__, name)
        yield from (f"{heading} `{name}`", "", f"`from {room.__name__} import {name}`", "", text, "")
        arguments = arguments_of(operator)
        yield from _arguments(arguments, _descriptions(operator))
        fixed = [argument for argument in arguments if argument not in operator.template_fields]
        yield from (f"Templates: all arguments{f' but {_names(fixed)}' if fixed else ''}.", "")


def _triggers() -> Iterator[str]:
    for module, name, found in _members(TRIGGERS):
        yield from _introduced(module, name, heading="##")
        keyword = inspect.Parameter.KEYWORD_ONLY
        fields = fields_of(found.parameters)
        signature = {one: inspect.Parameter(one, keyword, default=field.default) for one, field in fields.items()}
        yield from _arguments(signature, {one: str(field.description) for one, field in fields.items()})


def _descriptions(takes: Any) -> dict[str, str]:
    """Return what the arguments that are parameters mean."""
    return {name: str(field.description) for name, field in fields_of(*getattr(takes, "parameters", ())).items()}


def _members(modules: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str, Any]]:
    """Give module, name and what is there of that name."""
    for module, names in modules.items():
        for name in names:
            yield f"{PACKAGE}.{module}", name, getattr(importlib.import_module(f"{PACKAGE}.{module}"), name)


def _introduced(module: str, name: str, *, heading: str) -> Iterator[str]:
    yield from (f"{heading} `{name}`", "", f"`from {module} import {name}`", "", docstring(module, name), "")


def arguments_of(operator: type) -> dict[str, inspect.Parameter]:
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
    for name, argument in sorted(signature.items(), key=lambda item: not _is_required(item[1])):
        default, meaning = (None, descriptions[name]) if name in descriptions else CODE_ONLY[name]
        if default is None:
            default = "required" if _is_required(argument) else f"`{_cell(repr(argument.default))}`"
        yield f"| `{name}` | {default} | {_cell(meaning)} |"
    yield ""


def _is_required(argument: inspect.Parameter) -> bool:
    return argument.default is inspect.Parameter.empty


def _hooks() -> Iterator[str]:
    """Give classes with their public methods, and functions."""
    for module, name, found in _members(HOOKS):
        yield from _introduced(module, name, heading="##")
        yield from _called(name, found)
        for method, function in vars(found).items() if inspect.isclass(found) else ():
            if inspect.isfunction(function) and not method.startswith("_"):
                yield from (f"### `{name}.{method}`", "", docstring(module, f"{name}.{method}"), "")
                yield from _called(method, function)


def _called(name: str, called: Callable[..., Any]) -> Iterator[str]:
    """Give the signature as code."""
    signature = inspect.signature(called)
    kept = [argument for argument in signature.parameters.values() if argument.name != "self"]
    returned = inspect.Signature.empty if inspect.isclass(called) else signature.return_annotation
    text = str(signature.replace(parameters=kept, return_annotation=returned))
    yield from ("```python", name + _ANNOTATION.sub(r"\1\2", text), "```", "")


def _exceptions() -> Iterator[str]:
    """Give the tree of errors, and each error with its base."""
    yield from (docstring(exceptions.__name__), "")
    for name, found in vars(exceptions).items():
        if inspect.isclass(found) and found.__module__ == exceptions.__name__:
            bases = _names(base.__name__ for base in found.__bases__)
            yield from (f"## `{name}`", "", f"Base: {bases}.", "")
            yield from (docstring(exceptions.__name__, name), "")


def _rules() -> Iterator[str]:
    yield from ("| rule | what it checks |", "|---|---|")
    yield from (f"| `{rule.value}` | {_cell(rule.sentence)} |" for rule in Rule)


def _settings() -> Iterator[str]:
    yield from ("| setting | default | meaning |", "|---|---|---|")
    for section, described in get_provider_info()["config"].items():
        for name, option in described["options"].items():
            default = f"`{_cell(option['default'])}`" if option["default"] else ""
            yield f"| `[{section}] {name}` | {default} | {_cell(option['description'])} |"


def _connections() -> Iterator[str]:
    for connection in get_provider_info()["connection-types"]:
        yield from (f"### `{connection['connection-type']}`", "")
        yield from ("| field of the extra | label | meaning |", "|---|---|---|")
        for name, field in connection["conn-fields"].items():
            yield f"| `{name}` | {field['label']} | {_cell(field['description'])} |"
        yield ""


def _names(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _cell(text: str | None) -> str:
    return " ".join(markdown(text or "").replace("|", "\\|").split())


PARTS: dict[str, Callable[[], Iterator[str]]] = {
    "dags": _dags,
    "task_groups": _task_groups,
    "operators": _operators,
    "sensors": _sensors,
    "triggers": _triggers,
    "hooks": _hooks,
    "exceptions": _exceptions,
    "rules": _rules,
    "settings": _settings,
    "connections": _connections,
}


if __name__ == "__main__":
    for file in PAGES:
        file.write_text(renewed(file.read_text()))
