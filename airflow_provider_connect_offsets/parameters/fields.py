"""How a parameter is defined: by one pydantic field, which says how it is parsed and how the trigger form shows it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.fields import FieldInfo

from airflow_provider_connect_offsets.offsets.requests.values import is_true


class Section(StrEnum):
    """The folds of the trigger form, in the order in which it shows them."""

    WHAT = "What"
    WHERE = "Where to resume"
    FLOW = "Flow, if no connector describes it"
    LIMITS = "Limits"
    SAFETY = "Safety"
    CONNECTIONS = "Connections"


#: A text; None, which the form gives for an empty field, becomes the empty text.
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else str(value))]
#: True or false, also as a text, as templates give it; raises :class:`InvalidInput` for anything else.
Flag = Annotated[bool, BeforeValidator(is_true)]


class Parameters(BaseModel):
    """Parameters that belong together.

    As a class it defines arguments of operators and task groups, and Params of DAGs. As a value it holds them after
    Airflow has rendered templates.
    """

    # Parsing a DAG needs the fields only: a model is built when the first value of it is.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    #: Names of the fields that the form shows first in their section.
    first: ClassVar[tuple[str, ...]] = ()


def argument(description: str, *, default: Any = ...) -> Any:
    """Define a parameter that only code gives; the form does not show it."""
    return Field(default, description=description)


def required(title: str, description: str, *, section: Section, example: str, default: str | None = None) -> Any:
    """Define a text that must not be empty; without ``default`` whoever triggers the DAG fills it in."""
    schema = {"type": "string", "minLength": 1}
    shown = _shown(section, schema, example, default)
    return Field(... if default is None else default, title=title, description=description, json_schema_extra=shown)


def prefilled(title: str, description: str, *, section: Section, default: str) -> Any:
    """Define a text that code must give, and for which the form has a default."""
    shown = _shown(section, {"type": "string", "minLength": 1}, default, default)
    return Field(..., title=title, description=description, json_schema_extra=shown)


def optional(title: str, description: str, *, section: Section, example: str, default: str = "") -> Any:
    """Define a text that may be left empty.

    The form takes a Param as required if its type lacks null (``isParamRequired`` of Airflow's UI) and keeps its button
    disabled while a required one is empty. So its type is ``["null", "string"]``, and null means the same as empty.
    """
    shown = _shown(section, {"type": ["null", "string"]}, example, default or None)
    return Field(default, title=title, description=description, json_schema_extra=shown)


def choice(title: str, description: str, *, section: Section, values: Mapping[str | None, str], default: str) -> Any:
    """Define one of ``values``, each with the words that the form shows for it; None is the one nobody has to pick."""
    schema = {
        "type": ["null", "string"] if None in values else "string",
        "enum": list(values),
        "values_display": {str(value): words for value, words in values.items()},
    }
    shown = _shown(section, schema, None, default or None)
    return Field(default, title=title, description=description, json_schema_extra=shown)


def flag(title: str, description: str, *, section: Section, default: bool) -> Any:
    """Define a parameter that is true or false."""
    shown = _shown(section, {"type": "boolean"}, None, default)
    return Field(default, title=title, description=description, json_schema_extra=shown)


def count(title: str, description: str, *, section: Section, default: int, minimum: int = 1) -> Any:
    """Define a whole number, ``minimum`` or more."""
    shown = _shown(section, {"type": "integer", "minimum": minimum}, default, default)
    return Field(default, title=title, description=description, json_schema_extra=shown)


def optional_count(title: str, description: str, *, section: Section, example: int) -> Any:
    """Define a whole number, 0 or more, that may be left empty."""
    shown = _shown(section, {"type": ["null", "integer"], "minimum": 0}, example, None)
    return Field("", title=title, description=description, json_schema_extra=shown)


def share(title: str, description: str, *, section: Section, default: float) -> Any:
    """Define a number from 0 to 1."""
    shown = _shown(section, {"type": "number", "minimum": 0, "maximum": 1}, default, default)
    return Field(default, title=title, description=description, json_schema_extra=shown)


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


def _shown(section: Section, schema: Mapping[str, Any], example: object, default: object) -> dict[str, Any]:
    return {"section": section, "schema": dict(schema), "example": example, "default": default}
