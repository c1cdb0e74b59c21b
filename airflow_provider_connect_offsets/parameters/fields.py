"""How a parameter is defined: by one pydantic field, which says how it is parsed and how the trigger form shows it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Unpack

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.requests.values import is_true


class Section(StrEnum):
    """The parts of the trigger form, in the order in which it shows them.

    Params of the first one get no section: Airflow's form then shows them at once, under the name given here, while all
    other parts are folds to be opened. So what has to be given, or nearly always is, belongs there.
    """

    WHAT = "Run Parameters"
    WHERE = "Where to resume, in detail"
    FLOW = "Flow, if no connector describes it"
    LIMITS = "Limits"
    SAFETY = "Safety"
    CONNECTIONS = "Connections"


def _flag(value: object) -> bool:
    try:
        return is_true(value)
    except InvalidInput as error:
        raise PydanticCustomError("flag", "it is neither true nor false") from error


#: A text; None, which the form gives for an empty field, becomes the empty text.
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else str(value))]
#: True or false, also as a text, as templates give it; None and the empty text are false.
Flag = Annotated[bool, BeforeValidator(_flag)]
#: The choice to take what a connector's configuration says; as a value it is the empty text.
CONFIGURED = "configured"
Configured = Annotated[str, BeforeValidator(lambda value: "" if value in (None, CONFIGURED) else str(value))]
#: Marks the URI of something that is read, which has to be readable (``offsets.requests.guards``).
URI = "uri"
Uri = Annotated[str, BeforeValidator(lambda value: "" if value is None else str(value)), URI]
_TEXT = {"type": "string", "minLength": 1}


class Parameters(BaseModel):
    """Parameters that belong together.

    As a class it defines arguments of operators and task groups, and Params of DAGs. As a value it holds them after
    Airflow has rendered templates. ``section`` of a subclass is the fold of the form in which its fields are, unless
    one names another.
    """

    # Parsing a DAG needs the fields only: a model is built when the first value of it is.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    #: Names of the fields that the form shows first in their section.
    first: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, section: Section | None = None, **kwargs: Unpack[ConfigDict]) -> None:
        super().__init_subclass__(**kwargs)
        for value in vars(cls).values():
            if isinstance(value, FieldInfo) and value.json_schema_extra:
                form = form_of(value)
                form["section"] = form["section"] or section


def argument(description: str, *, default: Any = ...) -> Any:
    """Define a parameter that only code gives; the form does not show it."""
    return Field(default, description=description)


def required(
    title: str, description: str, *, section: Section | None = None, example: str, default: str | None = None
) -> Any:
    """Define a text that must not be empty; without ``default`` whoever triggers the DAG fills it in."""
    value = ... if default is None else default
    return _shown(title, description, _TEXT, value, example=example, default=default, section=section)


def prefilled(title: str, description: str, *, default: str) -> Any:
    """Define a text that code must give, and for which the form has a default."""
    return _shown(title, description, _TEXT, ..., example=default, default=default)


def optional(
    title: str,
    description: str,
    *,
    section: Section | None = None,
    example: str,
    default: str = "",
    refused: str | None = None,
) -> Any:
    """Define a text that may be left empty; ``refused``: a regular expression that must be found nowhere in it.

    The form takes a Param as required if its type lacks null (``isParamRequired`` of Airflow's UI) and keeps its button
    disabled while a required one is empty. So its type is ``["null", "string"]``, and null means the same as empty.
    """
    schema: dict[str, Any] = {"type": ["null", "string"]}
    if refused is not None:
        schema["not"] = {"type": "string", "pattern": refused}
    return _shown(title, description, schema, default, example=example, default=default or None, section=section)


def choice(
    title: str, description: str, *, section: Section | None = None, values: Mapping[str, str], default: str
) -> Any:
    """Define one of ``values``, each with the words that the form shows for it.

    None is no value: the page of a DAG with a null in an "enum" shows nothing but an error in Airflow 3.1.
    """
    schema = {"type": "string", "enum": list(values), "values_display": dict(values)}
    return _shown(title, description, schema, default, default=default, section=section)


def flag(title: str, description: str, *, section: Section | None = None, default: bool) -> Any:
    """Define a parameter that is true or false."""
    return _shown(title, description, {"type": "boolean"}, default, default=default, section=section)


def count(title: str, description: str, *, section: Section | None = None, default: int, minimum: int = 1) -> Any:
    """Define a whole number, ``minimum`` or more."""
    schema = {"type": "integer", "minimum": minimum}
    return _shown(title, description, schema, default, example=default, default=default, section=section)


def limit(title: str, description: str, *, default: int) -> Any:
    """Define a whole number, 0 or more."""
    return count(title, description, default=default, minimum=0)


def optional_count(title: str, description: str, *, example: int) -> Any:
    """Define a whole number, 0 or more, that may be left empty."""
    schema = {"type": ["null", "integer"], "minimum": 0}
    return _shown(title, description, schema, "", example=example)


def share(title: str, description: str, *, default: float) -> Any:
    """Define a number from 0 to 1."""
    schema = {"type": "number", "minimum": 0, "maximum": 1}
    return _shown(title, description, schema, default, example=default, default=default)


def connection(title: str, description: str, *, default: str) -> Any:
    """Define the id of an Airflow connection."""
    return required(title, description, section=Section.CONNECTIONS, example=default, default=default)


def fields_of(*models: type[Parameters]) -> dict[str, FieldInfo]:
    """Return the fields of all ``models`` by name; of a name that several have, the last one's."""
    return {name: field for model in models for name, field in model.model_fields.items()}


def shown_fields(*models: type[Parameters]) -> dict[str, FieldInfo]:
    """Return the fields that the trigger form shows, in its order."""
    order, first = list(Section), [name for model in models for name in model.first]
    shown = {name: field for name, field in fields_of(*models).items() if field.json_schema_extra}

    def rank(name: str) -> tuple[int, int]:
        return order.index(form_of(shown[name])["section"]), first.index(name) if name in first else len(first)

    return {name: shown[name] for name in sorted(shown, key=rank)}


def form_of(field: FieldInfo) -> dict[str, Any]:
    """Return what the trigger form needs of a field: section, JSON schema, example (None: none), default."""
    assert isinstance(field.json_schema_extra, dict)  # noqa: S101 - only fields of the form have it
    return field.json_schema_extra


def _shown(title: str, description: str, schema: Mapping[str, Any], value: Any, **form: Any) -> Any:
    """Define a parameter that the form shows; ``value``: its default in code, ``form``: as of :func:`form_of`."""
    shown = {"section": None, "schema": dict(schema), "example": None, "default": None, **form}
    # A default is validated, too, as that of a choice may stand for the empty text (CONFIGURED).
    return Field(value, title=title, description=description, json_schema_extra=shown, validate_default=True)
