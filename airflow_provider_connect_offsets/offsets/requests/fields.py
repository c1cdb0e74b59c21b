"""How a parameter is defined: by one field of a dataclass, from which everything else that concerns it follows.

The trigger form shows it; operators, task groups and DAGs take it as an argument; docs and stubs name it; its type says
how a typed value is parsed, or refused in one sentence; and a request that inherits it has it in its JSON, for Spark's
jobs. So only the standard library is used here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from dataclasses import Field as DataclassField
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import Annotated, Any, ClassVar, Self, dataclass_transform, get_args, get_origin, get_type_hints

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.requests import values


class Section(StrEnum):
    """The parts of the trigger form, in the order in which it shows them.

    Params of the first part get no section: Airflow's form then shows them at once, under the name given here, while
    all other parts are folds to be opened. So what has to be given, or nearly always is, belongs there.
    """

    WHAT = "Run Parameters"
    WHERE = "Where to resume, in detail"
    FLOW = "Flow, if no connector describes it"
    LIMITS = "Limits"
    SAFETY = "Safety"
    CONNECTIONS = "Connections"


_TEXT = {"type": "string", "minLength": 1}
# Keys of the metadata of a dataclass's field.
_DESCRIPTION, _FORM = "description", "form"


def argument(description: str, *, default: Any = MISSING) -> Any:
    """Define a parameter that only code gives; the form does not show it."""
    return field(default=default, metadata={_DESCRIPTION: description})


def required(
    title: str, description: str, *, section: Section | None = None, example: str, default: str | None = None
) -> Any:
    """Define a string that must not be empty; without ``default`` whoever triggers the DAG fills it in."""
    value = MISSING if default is None else default
    return _form_field(title, description, _TEXT, value, example=example, default=default, section=section)


def prefilled(title: str, description: str, *, default: str) -> Any:
    """Define a string that code must give, and for which the form has a default."""
    return _form_field(title, description, _TEXT, MISSING, example=default, default=default)


def optional(
    title: str,
    description: str,
    *,
    section: Section | None = None,
    example: str,
    default: str | None = "",
    refused: str | None = None,
) -> Any:
    """Define a string that may be left empty; ``refused``: a regular expression that must be found nowhere in it.

    The form treats a Param as required if its type lacks null (``isParamRequired`` of Airflow's UI), and keeps its
    button disabled while a required Param is empty. So the type is ``["null", "string"]``, and null means empty.
    """
    schema: dict[str, Any] = {"type": ["null", "string"]}
    if refused is not None:
        schema["not"] = {"type": "string", "pattern": refused}
    return _form_field(title, description, schema, default, example=example, default=default or None, section=section)


def listed(title: str, description: str, *, example: str, default: tuple[str, ...]) -> Any:
    """Define strings, given as a list or separated by commas."""
    shown = ",".join(default)
    return _form_field(title, description, {"type": ["null", "string"]}, default, example=example, default=shown)


def choice(
    title: str, description: str, *, section: Section | None = None, values: Mapping[str, str], default: str
) -> Any:
    """Define one of ``values``, each with the words that the form shows for it.

    Null can't be one of them: in Airflow 3.1, a DAG's page shows nothing but an error if an "enum" has a null.
    """
    schema = {"type": "string", "enum": list(values), "values_display": dict(values)}
    return _form_field(title, description, schema, default, default=default, section=section)


def flag(title: str, description: str, *, section: Section | None = None, default: bool) -> Any:
    """Define a parameter that is true or false."""
    return _form_field(title, description, {"type": "boolean"}, default, default=default, section=section)


def count(title: str, description: str, *, section: Section | None = None, default: int, minimum: int = 1) -> Any:
    """Define a whole number, ``minimum`` or more."""
    schema = {"type": "integer", "minimum": minimum}
    return _form_field(title, description, schema, default, example=default, default=default, section=section)


def limit(title: str, description: str, *, default: int) -> Any:
    """Define a whole number, 0 or more."""
    return count(title, description, default=default, minimum=0)


def optional_count(title: str, description: str, *, example: int, default: int | None = None) -> Any:
    """Define a whole number, 0 or more, that may be left empty."""
    schema = {"type": ["null", "integer"], "minimum": 0}
    return _form_field(title, description, schema, default, example=example, default=default)


def share(title: str, description: str, *, default: float) -> Any:
    """Define a number from 0 to 1."""
    schema = {"type": "number", "minimum": 0, "maximum": 1}
    return _form_field(title, description, schema, default, example=default, default=default)


def connection(title: str, description: str, *, default: str) -> Any:
    """Define the id of an Airflow connection."""
    return required(title, description, section=Section.CONNECTIONS, example=default, default=default)


def _form_field(title: str, description: str, schema: Mapping[str, Any], value: Any, **form: Any) -> Any:
    """Define a parameter that the form shows; ``value``: its default in code, ``form``: see :class:`Parameter`."""
    shown = {"section": None, "example": None, "default": None, **form, "title": title, "schema": dict(schema)}
    return field(default=value, metadata={_DESCRIPTION: description, _FORM: shown})


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, as its field defines it.

    Attributes:
        name: Its name.
        description: What it means.
        default: Its value if it is not given; ``dataclasses.MISSING``: it must be given.
        type: The type of its parsed value, without what ``Annotated`` adds.
        marks: What ``Annotated`` adds: the function that parses a typed value, and :data:`URI`.
        form: How the trigger form shows it (title, section, JSON schema, example, default); None: it does not.
    """

    name: str
    description: str
    default: Any
    type: Any
    marks: tuple[Any, ...]
    form: Mapping[str, Any] | None

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is MISSING

    def parse(self, value: object) -> Any:
        """Parse a value, which templates and forms give as a string; raises :class:`InvalidRequest` with its name."""
        parse: Callable[[object, str], Any] | None = next(filter(callable, self.marks), None)
        if parse is not None:
            return parse(value, self.name)
        kinds = set(get_args(self.type) or [self.type])
        if NoneType in kinds and (value is None or not str(value).strip()):
            return None
        least, most = self._bounds
        if int in kinds:
            return values.count(value, param=self.name, least=least, most=most)
        if float in kinds:
            return values.share(value, param=self.name) if most == 1 else _number(value, self.name, least)
        return value

    @property
    def _bounds(self) -> tuple[int, int]:
        schema = self.form["schema"] if self.form else {}
        return schema.get("minimum", 0), schema.get("maximum", values.MAX_COUNT)


def _number(value: object, param: str, least: float) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not least <= number < math.inf:
        raise InvalidRequest(f"{param}: {value!r} is not a number of at least {least}.")
    return number


@dataclass_transform(
    kw_only_default=True,
    frozen_default=True,
    field_specifiers=(
        argument,
        required,
        prefilled,
        optional,
        listed,
        choice,
        flag,
        count,
        limit,
        optional_count,
        share,
        connection,
        field,
    ),
)
@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Parameters that belong together; each subclass is a frozen dataclass.

    As a class it defines arguments of operators and task groups, and Params of DAGs. A value of it has what was given.
    ``section`` of a subclass is the fold of the form in which its fields are, unless a field names another.
    """

    #: Names of the fields that the form shows first in their section.
    first: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, section: Section | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for value in vars(cls).values():
            if isinstance(value, DataclassField) and _FORM in value.metadata:
                form = value.metadata[_FORM]
                form["section"] = form["section"] or section
        dataclass(frozen=True, kw_only=True)(cls)

    @classmethod
    def parse_values(cls, given: Mapping[str, object]) -> dict[str, Any]:
        """Return the parsed values by name: those that were given, and the defaults of all other parameters.

        Raises :class:`InvalidRequest` in one sentence that names the first parameter whose value does not fit.
        """
        known = fields_of(cls)
        given = {**{name: one.default for name, one in known.items() if not one.is_required}, **given}
        return {name: known[name].parse(value) if name in known else value for name, value in given.items()}

    @classmethod
    def parse(cls, **given: Any) -> Self:
        """Return the parameters with the values of :meth:`parse_values`; raises :class:`InvalidRequest` as it does."""
        return cls(**cls.parse_values(given))

    def values(self, *names: str) -> dict[str, Any]:
        """Return the values by name; of all parameters if no names are given."""
        return {name: getattr(self, name) for name in names or fields_of(type(self))}


def fields_of(*models: type[Parameters]) -> dict[str, Parameter]:
    """Return the parameters of all ``models`` by name; if several have the same name, the last one counts."""
    return {name: one for model in models for name, one in _fields(model).items()}  # type: ignore[arg-type]


@cache
def _fields(model: type[Parameters]) -> dict[str, Parameter]:
    types = get_type_hints(model, include_extras=True)
    return {
        one.name: Parameter(
            one.name, one.metadata[_DESCRIPTION], one.default, *_strip_annotation(types[one.name]), _form(one)
        )
        for one in fields(model)
        if _DESCRIPTION in one.metadata
    }


def _strip_annotation(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return an annotation without what ``Annotated`` adds, and what it adds."""
    is_annotated = get_origin(annotation) is Annotated
    return (annotation.__origin__, annotation.__metadata__) if is_annotated else (annotation, ())


def _form(one: DataclassField[Any]) -> Mapping[str, Any] | None:
    return one.metadata.get(_FORM)


def shown_fields(*models: type[Parameters]) -> dict[str, Parameter]:
    """Return the parameters that the trigger form shows, in its order."""
    order, first = list(Section), [name for model in models for name in model.first]
    shown = {name: (one, one.form) for name, one in fields_of(*models).items() if one.form}

    def rank(name: str) -> tuple[int, int]:
        return order.index(shown[name][1]["section"]), first.index(name) if name in first else len(first)

    return {name: shown[name][0] for name in sorted(shown, key=rank)}
