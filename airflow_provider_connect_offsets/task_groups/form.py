"""Makes the Params of the ready DAGs from parameter models, and hands them on to a DAG's task group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from airflow.providers.common.compat.sdk import ParamValidationError
from airflow.sdk import Param

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.families import MirrorCheckpoint, MirrorSource
from airflow_provider_connect_offsets.offsets.requests.fields import Parameter, Parameters, Section, shown_fields
from airflow_provider_connect_offsets.operators.snapshots import suggestions

# Params that name a connector, and its family; empty: of any.
_PROPOSED = {
    "connector": "",
    "source_connector": MirrorSource.name,
    "forward_connector": MirrorSource.name,
    "checkpoint_connector": MirrorCheckpoint.name,
}
# A form's list is part of the stored DAG, and of each of its versions.
_MOST = 1_000


def params_of(*models: type[Parameters]) -> dict[str, Param]:
    """Return the Params of ``models``, in the order in which the trigger form shows them."""
    return {name: _param(field) for name, field in shown_fields(*models).items()}


def propose(params: Mapping[str, Param]) -> dict[str, Param]:
    """Return ``params``; those that name a connector propose the first 1,000 that fit, if that is switched on."""
    proposing = {name: family for name, family in _PROPOSED.items() if name in params}
    if not proposing or not suggestions.are_on():
        return dict(params)
    noted = suggestions.noted_connectors()
    fitting = {name: sorted(one for one in noted if of in ("", noted[one]))[:_MOST] for name, of in proposing.items()}
    return preset(params, {name: Param(params[name].value, examples=names) for name, names in fitting.items() if names})


def preset(params: Mapping[str, Param], values: Mapping[str, Any]) -> dict[str, Param]:
    """Return ``params`` with other defaults; raises :class:`InvalidInput` for a name that none of them has."""
    _refuse_unknown(params, values)
    return {name: _with_default(param, values[name]) if name in values else param for name, param in params.items()}


def pin(params: Mapping[str, Param], values: Mapping[str, Any]) -> dict[str, Param]:
    """Return ``params``, where each Param in ``values`` is fixed to its value: the form shows it, and refuses another.

    Raises :class:`InvalidInput` for a name that no Param has, and for a value that does not fit it.
    """
    _refuse_unknown(params, values)
    return {name: _pin(name, param, values[name]) if name in values else param for name, param in params.items()}


def as_arguments(names: Iterable[str], values: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """Return templates of the Params ``names``, as arguments of their task group; null becomes the empty text.

    A Param that is pinned in ``values`` is passed as that value, not as a template, so that no run can change it.
    """
    templates = {name: f"{{{{ '' if params.{name} is none else params.{name} }}}}" for name in names}
    return {**templates, **{name: "" if value is None else value for name, value in values.items()}}


def _refuse_unknown(params: Mapping[str, Param], values: Mapping[str, Any]) -> None:
    if unknown := sorted(set(values) - set(params)):
        raise InvalidInput(f"Unknown Params: {', '.join(map(repr, unknown))}. The Params are {', '.join(params)}.")


def _with_default(param: Param, value: Any) -> Param:
    """Return the Param with another default; a Param as ``value`` adds its schema, too."""
    if isinstance(value, Param):
        return Param(value.value, value.description or param.description, schema={**param.schema, **value.schema})
    return Param(value, param.description, schema=param.schema)


def _pin(name: str, param: Param, value: Any) -> Param:
    # Not "const": the form would hide the field, and whoever triggers the DAG should see what it does. Nor a null in
    # "enum", with which the page shows nothing but an error in Airflow 3.1.
    fixed = {"type": ["null"]} if value is None else {"enum": [value]}
    described = f"Fixed by the DAG's author. {param.description or ''}".strip()
    try:
        Param(value, schema=param.schema).resolve()
    except ParamValidationError as error:
        raise InvalidInput(f"pinned: {name} can't be {value!r}: {error}") from error
    kept = {name: part for name, part in param.schema.items() if name != "examples"}
    return Param(value, described, schema={**kept, **fixed})


def _param(field: Parameter) -> Param:
    """Return the Param of a field; without a default whoever triggers the DAG fills it in.

    The description holds the example. The schema's "examples" would not do: the form would ask to "start typing to
    see options", as if there were no others.
    """
    form = field.form or {}
    example = f" Example: {form['example']}" if form["example"] is not None else ""
    schema = {**form["schema"], "title": form["title"], "description": f"{field.description}{example}"}
    if form["section"] is not Section.WHAT:
        schema["section"] = form["section"].value
    if field.is_required and form["default"] is None:
        return Param(**schema)
    return Param(form["default"], **schema)
