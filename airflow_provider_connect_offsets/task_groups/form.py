"""Params of the ready DAGs, made of parameter models; and how a DAG hands them on to its task group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from airflow.sdk import Param
from pydantic.fields import FieldInfo

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.parameters.fields import Parameters, form_of, shown_fields


def params_of(*models: type[Parameters]) -> dict[str, Param]:
    """Return the Params of ``models``, in the order in which the trigger form shows them."""
    return {name: _param(field) for name, field in shown_fields(*models).items()}


def preset(params: Mapping[str, Param], values: Mapping[str, Any]) -> dict[str, Param]:
    """Return ``params`` with other defaults; raises :class:`InvalidInput` for a name that none of them has."""
    if unknown := sorted(set(values) - set(params)):
        raise InvalidInput(f"No Param is called {', '.join(map(repr, unknown))}; there are {', '.join(params)}.")
    return {
        name: Param(values.get(name, param.value), param.description, schema=param.schema)
        for name, param in params.items()
    }


def as_arguments(names: Iterable[str]) -> dict[str, Any]:
    """Return templates of the Params ``names``, as arguments of their task group; null becomes the empty text."""
    return {name: f"{{{{ '' if params.{name} is none else params.{name} }}}}" for name in names}


def _param(field: FieldInfo) -> Param:
    """Return the Param of a field; without a default whoever triggers the DAG fills it in.

    The example stands in the description. The schema's "examples" would not do: the form would ask to "start typing to
    see options", as if there were no others.
    """
    form = form_of(field)
    example = f" Example: {form['example']}" if form["example"] is not None else ""
    schema = {**form["schema"], "title": field.title, "section": form["section"].value}
    schema["description"] = f"{field.description}{example}"
    if field.is_required() and form["default"] is None:
        return Param(**schema)
    return Param(form["default"], **schema)
