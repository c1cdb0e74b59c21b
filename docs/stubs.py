"""Writes the stubs of the public packages, which editors and type checkers read: ``make reference``.

At run time arguments are the fields of parameter models. A stub says the same in a form that is read without running
anything, so that a misspelt argument of an operator, a task group or a ready DAG, or one of the wrong type, is found
before any DAG runs. Arguments of Airflow's own classes are those of the version that is installed.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from airflow.sdk import DAG, BaseOperator

from airflow_provider_connect_offsets import dags, operators, sensors, task_groups
from airflow_provider_connect_offsets.offsets.requests.fields import Parameter, fields_of, shown_fields
from airflow_provider_connect_offsets.task_groups.wiring import QUESTION
from docs.docstrings import PACKAGE, TOP
from docs.reference_pages import arguments_of

#: Arguments of Airflow's operators that ours give themselves, or define anew.
_NOT_GIVEN = {
    *("application", "application_args", "java_class", "py_files"),
    *("body", "multiple", "options", "response_timeout", "subject"),
}
#: Names in Airflow's annotations that a stub keeps; what is annotated with others may be anything.
_KNOWN = {
    *("Any", "None", "bool", "dict", "float", "int", "list", "str"),
    *("Collection", "Iterable", "Sequence", "datetime", "timedelta"),
}
#: Types of arguments that are no parameters, as only code gives them.
_CODE_ONLY = {
    "approval_timeout": "timedelta | None",
    "approvers": "str | Iterable[str | Mapping[str, str]] | None",
    "deferrable": "bool",
    "group_id": "str",
    "notifiers": "Any",
    "response_timeout": "timedelta | None",
    "spark": "Mapping[str, Any] | None",
}
_NUMBERS = {"integer": "int | str", "number": "float | str"}
#: Types of fields that the trigger form does not show, by their annotation; those with others may be anything.
_PLAIN = {
    "str": "str",
    "bool": "bool | str",
    "float": "float | str",
    "int": "int | str",
    "float | None": "float | str | None",
    "int | None": "int | str | None",
}
#: Where a stub imports from what it needs of these, Python's modules first.
_IMPORTS = (
    {
        "collections.abc": ("Collection", "Iterable", "Mapping", "Sequence"),
        "datetime": ("datetime", "timedelta"),
        "typing": ("Any", "Literal", "Required", "TypedDict", "Unpack"),
    },
    {
        "airflow.providers.apache.spark.operators.spark_submit": ("SparkSubmitOperator",),
        "airflow.providers.standard.operators.hitl": ("ApprovalOperator",),
        "airflow.sdk": ("DAG", "BaseOperator", "BaseSensorOperator", "Param", "TaskGroup", "XComArg"),
    },
)


def stub(public: str) -> str:
    """Return the text of the stub of a package: what it needs to import, and its public names."""
    lines = list(_STUBS[public]())
    code = "\n".join(line for line in lines if not line.lstrip().startswith('"""'))
    used = set(re.findall(r"(?<!')\b\w+", code))  # but not what is a value of a Literal
    head = ["# Made by `make reference`, for editors and type checkers."]
    for modules in _IMPORTS:
        needed = {module: [name for name in names if name in used] for module, names in modules.items()}
        head += ["", *(f"from {module} import {', '.join(names)}" for module, names in needed.items() if names)]
    names = sorted(import_module(f"{PACKAGE}.{public}").__all__)
    whole = "\n".join([*head, "", f"__all__ = {names}", "", *lines])
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FILES[public]), "-"]
    return subprocess.run(ruff, input=whole, capture_output=True, text=True, check=True).stdout  # noqa: S603 - as lint


def _operators() -> Iterator[str]:
    return _classes(operators)


def _sensors() -> Iterator[str]:
    return _classes(sensors)


def _classes(public: ModuleType) -> Iterator[str]:
    """Give classes with their arguments, those of Airflow's classes before the first one that takes them."""
    known: list[type] = []
    for operator in (getattr(public, name) for name in public.__all__):
        airflows = next(one for one in operator.__mro__ if not one.__module__.startswith(PACKAGE))
        new = [one for one in dict.fromkeys((BaseOperator, airflows)) if one not in known]
        known += new
        for one in new:
            yield from _taken_by(one)
        types = _types(getattr(operator, "parameters", ()), "XComArg")
        yield from (f"class {operator.__name__}({airflows.__name__}):", f'    """{_first_line(operator)}"""')
        yield from ("    def __init__(", "        self,", "        *,")
        yield from (f"        {_argument(one, types)}" for one in arguments_of(operator).values())
        yield from (f"        **kwargs: Unpack[_{airflows.__name__}],", "    ) -> None: ...", "")


def _task_groups() -> Iterator[str]:
    """Give the task groups, whose durations may also be ``timedelta``."""
    for name in task_groups.__all__:
        group = getattr(task_groups, name)
        types = _types(group.parameters, "XComArg")
        types = {one: _union(kind, "timedelta") if "float" in kind else kind for one, kind in types.items()}
        yield from (f"def {name}(", "    *,")
        yield from (f"    {_argument(one, types)}" for one in inspect.signature(group).parameters.values())
        yield from (") -> TaskGroup:", f'    """{_first_line(group)}"""', "")


def _dags() -> Iterator[str]:
    """Give the functions that make ready DAGs, with the Params of each."""
    arguments = {name: _kept(one.annotation) for name, one in inspect.signature(DAG).parameters.items()}
    del arguments["params"]
    yield from _typed_dict("_Dag", "TypedDict", arguments)
    yield from _typed_dict("_DagThatAsks", "_Dag", {name: _CODE_ONLY[name] for name in QUESTION})
    for name in dags.__all__:
        make = getattr(dags, name)
        params = f"_{name.title().replace('_', '')}Params"
        shown = shown_fields(*make.parameters)
        yield from _typed_dict(params, "TypedDict", _types(make.parameters, "Param | None", shown))
        given = "_DagThatAsks" if "approval" in shown else "_Dag"
        yield f"def {name}("
        yield from (f"    *, params: {params} = ..., pinned: {params} = ..., **given: Unpack[{given}]", ") -> DAG:")
        yield from (f'    """{make().description}."""', "")


def _taken_by(airflows: type) -> Iterator[str]:
    """Give the arguments of one of Airflow's operators as a ``TypedDict``, on top of those of ``BaseOperator``."""
    types = {
        argument.name: _kept(argument.annotation)
        for one in reversed(airflows.__mro__)
        if "__init__" in vars(one) and (airflows is BaseOperator or one not in BaseOperator.__mro__)
        for argument in inspect.signature(inspect.unwrap(vars(one)["__init__"])).parameters.values()
        if argument.kind is inspect.Parameter.KEYWORD_ONLY and argument.name not in _NOT_GIVEN
    }
    if airflows is BaseOperator:
        yield from _typed_dict("_BaseOperator", "TypedDict", {**types, "task_id": "Required[str]"})
    else:
        yield from _typed_dict(f"_{airflows.__name__}", "_BaseOperator", types)


def _typed_dict(name: str, base: str, types: Mapping[str, str]) -> Iterator[str]:
    """Give a ``TypedDict``, of which a key has to be given only if its type says so."""
    yield f"class {name}({base}, total=False):"
    yield from (f"    {one}: {kind}" for one, kind in types.items())
    yield ""


def _argument(argument: inspect.Parameter, types: Mapping[str, str]) -> str:
    default = "" if argument.default is argument.empty else " = ..."
    return f"{argument.name}: {types.get(argument.name) or _CODE_ONLY[argument.name]}{default},"


def _types(models: Iterable[Any], more: str, names: Iterable[str] | None = None) -> dict[str, str]:
    """Return the types of the fields of ``models``, of ``names`` only if there are some; each may also be ``more``."""
    fields = fields_of(*models)
    return {name: _union(_type(fields[name]), more) for name in (fields if names is None else names)}


def _union(*types: str) -> str:
    """Return what may be any of ``types``, None at the end."""
    members = dict.fromkeys(member for one in types for member in one.split(" | "))
    return " | ".join(sorted(members, key="None".__eq__)) if "Any" not in members else "Any"


def _type(field: Parameter) -> str:
    """Return the type of a parameter; numbers and flags may be texts, as a template gives them."""
    schema: Any = field.form["schema"] if field.form else {}
    if "enum" in schema:
        return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]"
    kinds = schema.get("type", ())
    for kind, number in _NUMBERS.items():
        if kind in kinds:
            return f"{number} | None" if "null" in kinds else number
    if "string" in kinds and field.default is None:
        return "str | None"
    written = field.type.__name__ if isinstance(field.type, type) else str(field.type)
    return _PLAIN.get(written, "Any")


def _kept(annotation: object) -> str:
    """Return an annotation of Airflow's if its names can be had in a stub, else ``Any``."""
    text = annotation if isinstance(annotation, str) else "Any"
    known = set(re.findall(r"\w+", text)) <= _KNOWN
    return re.sub(r"\bdict\b(?!\[)", "dict[str, Any]", text) if known else "Any"


def _first_line(documented: object) -> str:
    return (inspect.getdoc(documented) or "").partition("\n")[0]


_STUBS: dict[str, Callable[[], Iterator[str]]] = {
    "dags": _dags,
    "operators": _operators,
    "sensors": _sensors,
    "task_groups": _task_groups,
}
#: The stub of each public package, by the package's name.
FILES = {public: TOP / PACKAGE / public / "__init__.pyi" for public in _STUBS}


if __name__ == "__main__":
    for written, file in FILES.items():
        file.write_text(stub(written))
