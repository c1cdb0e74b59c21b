"""Params for Airflow's trigger form: each with a section, a description and an example, and optional where it may be.

The form takes a Param as required where its schema's ``type`` leaves out ``null``, and keeps its button disabled while
a required one is empty, ``""`` included (``isParamRequired`` of Airflow's UI). So a text that may be empty is of type
``["null", "string"]`` and defaults to null, which means the same as empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from airflow.sdk import Param

from airflow_provider_connect_offsets.exceptions import InvalidInput


class Section(StrEnum):
    """The folds of the form, in the order in which it shows them."""

    WHAT = "What"
    WHERE = "Where to resume"
    FLOW = "Flow, where no connector describes it"
    LIMITS = "Limits"
    SAFETY = "Safety"
    CONNECTIONS = "Connections"


def required(title: str, description: str, *, section: Section, example: str, default: str | None = None) -> Param:
    """A text that must not be empty; without a ``default`` whoever triggers has to fill it in."""
    schema = {**_shown(title, description, section, example), "type": "string", "minLength": 1}
    return Param(**schema) if default is None else Param(default, **schema)


def optional(title: str, description: str, *, section: Section, example: str, default: str | None = None) -> Param:
    """A text that may be left empty."""
    return Param(default, type=["null", "string"], **_shown(title, description, section, example))


def choice(title: str, description: str, *, section: Section, values: Mapping[Any, str], default: str | None) -> Param:
    """One of ``values``, each with the words that the form shows for it; null is one that nobody has to set."""
    kinds: Any = ["null", "string"] if None in values else "string"
    words = {str(value): shown for value, shown in values.items()}
    shown: dict[str, Any] = {"title": title, "description": description, "section": section.value}
    return Param(default, type=kinds, enum=list(values), values_display=words, **shown)


def flag(title: str, description: str, *, section: Section, default: bool) -> Param:
    """True or false."""
    return Param(default, type="boolean", title=title, description=description, section=section.value)


def count(title: str, description: str, *, section: Section, default: int, minimum: int = 1) -> Param:
    """A whole number, ``minimum`` or more."""
    return Param(default, type="integer", minimum=minimum, **_shown(title, description, section, default))


def optional_count(title: str, description: str, *, section: Section, example: int) -> Param:
    """A whole number, 0 or more, that may be left empty."""
    return Param(None, type=["null", "integer"], minimum=0, **_shown(title, description, section, example))


def share(title: str, description: str, *, section: Section, default: float) -> Param:
    """A number from 0 to 1."""
    return Param(default, type="number", minimum=0, maximum=1, **_shown(title, description, section, default))


def connection(title: str, description: str, *, default: str) -> Param:
    """The id of an Airflow connection."""
    return required(title, description, section=Section.CONNECTIONS, example=default, default=default)


def preset(params: Mapping[str, Param], values: Mapping[str, Any]) -> dict[str, Param]:
    """Give ``params`` with other defaults; raises :class:`InvalidInput` for a name that none of them has."""
    if unknown := sorted(set(values) - set(params)):
        raise InvalidInput(f"No Param is called {', '.join(map(repr, unknown))}; there are {', '.join(params)}.")
    return {
        name: Param(values.get(name, param.value), param.description, schema=param.schema)
        for name, param in params.items()
    }


def as_arguments(params: Mapping[str, Param] | Sequence[str]) -> dict[str, Any]:
    """The same Params as templated arguments of their task group; null becomes the empty text."""
    return {name: f"{{{{ '' if params.{name} is none else params.{name} }}}}" for name in params}


def _shown(title: str, description: str, section: Section, example: object) -> dict[str, Any]:
    # Not the schema's "examples": the form would ask to "start typing to see options", as if there were no others.
    return {"title": title, "description": f"{description} Example: {example}", "section": section.value}
