"""Every ready DAG can be triggered by Airflow's form, which describes each field."""

from __future__ import annotations

import re
import runpy
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Param
from jinja2 import Environment

from airflow_provider_connect_offsets import dags
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.requests.fields import Section
from airflow_provider_connect_offsets.task_groups.form import as_arguments

DAG_FILES = Path(__file__).parents[2] / "dags"
# What nobody but the person who triggers can know.
FILLED_IN = {
    "connector_offsets_change": {"connector"},
    "connector_offsets_copy": {"connector", "new_name"},
    "connector_offsets_poison": {"connector"},
    "connector_offsets_stepwise": {"connector"},
    "connector_offsets_fleet": {"connectors"},
    "group_offsets_change": {"groups"},
    "connector_offsets_restore": {"snapshot_uri"},
    "mirror_reset": {"source_connector"},
    "mirror_failover_restore": {"run_uri"},
}

LONGEST_WORD = 30  # in a description, on a screen of 390 px


def _ready(dag_id: str) -> DAG:
    dag: DAG = getattr(dags, dag_id)()
    return dag


def _params(dag: DAG) -> dict[str, Param]:
    return {name: dag.params.get_param(name) for name in dag.params}


def _is_required(param: Param) -> bool:
    """As Airflow's form has it (``isParamRequired``)."""
    kinds = param.schema["type"]
    return "null" not in ([kinds] if isinstance(kinds, str) else kinds)


@pytest.mark.parametrize("dag_id", dags.__all__)
def test_only_what_has_to_be_filled_in_keeps_the_button_disabled(dag_id: str) -> None:
    """A required Param without a value, or with an empty one, disables the Trigger button."""
    missing = {
        name
        for name, param in _params(_ready(dag_id)).items()
        if _is_required(param) and not (param.has_value and param.value != "")
    }

    assert missing == FILLED_IN.get(dag_id, set())


@pytest.mark.parametrize("dag_id", dags.__all__)
def test_no_choice_is_null(dag_id: str) -> None:
    """Airflow 3.1's page shows nothing but an error then: "[zag-js] No value found for item"."""
    nothing = {name: None for name, param in _params(_ready(dag_id)).items() if not _is_required(param)}
    fixed: DAG = getattr(dags, dag_id)(pinned=nothing)

    choices = [param.schema.get("enum", ()) for dag in (_ready(dag_id), fixed) for param in _params(dag).values()]
    assert choices
    assert not [values for values in choices if None in values]


@pytest.mark.parametrize("dag_id", dags.__all__)
def test_what_has_to_be_filled_in_is_visible_at_once(dag_id: str) -> None:
    """The form opens the Params that have no section, and hides all others in folds."""
    at_once = {name for name, param in _params(_ready(dag_id)).items() if "section" not in param.schema}

    assert at_once >= FILLED_IN.get(dag_id, set())
    assert at_once
    assert at_once >= {"to", "value"}.intersection(_ready(dag_id).params)


@pytest.mark.parametrize("dag_id", dags.__all__)
def test_each_field_has_a_section_a_description_and_an_example(dag_id: str) -> None:
    """Fields are in folds, in the folds' own order; fields for strings and numbers have an example."""
    params = _params(_ready(dag_id))
    sections = [Section(param.schema.get("section", Section.WHAT)) for param in params.values()]

    assert sections == sorted(sections, key=list(Section).index)
    for name, param in params.items():
        assert param.schema["title"], name
        assert param.description, name
        listed = "enum" in param.schema or param.schema["type"] == "boolean"
        assert listed or "Example: " in param.description, name


@pytest.mark.parametrize("dag_id", dags.__all__)
def test_no_description_is_wider_than_a_phone(dag_id: str) -> None:
    """A longer word without a place to break pushes titles and fields off the screen."""
    words = {
        word: name
        for name, param in _params(_ready(dag_id)).items()
        for word in re.split(r"\s|(?<=-)", param.description or "")
    }

    assert {word: name for word, name in words.items() if len(word) > LONGEST_WORD} == {}


@pytest.mark.parametrize("value", ["", None])
def test_null_means_the_same_as_empty(value: Any) -> None:
    """The form gives null for a field that was left empty or cleared."""
    template = as_arguments(["topics"])["topics"]

    assert Environment(autoescape=False).from_string(template).render(params={"topics": value}) == ""  # noqa: S701


@pytest.mark.parametrize("dag_id", dags.__all__)
def test_a_dag_file_of_two_lines_is_enough(dag_id: str) -> None:
    """The folder ``dags`` shows what somebody who installed the package writes."""
    file = DAG_FILES / f"{dag_id}.py"

    assert len([line for line in file.read_text().splitlines() if line]) == 2
    assert runpy.run_path(str(file))["dag"].dag_id == dag_id


def test_a_dag_file_may_give_other_defaults() -> None:
    """Params by name; default_args and tags are added to."""
    dag = dags.connector_offsets_change(
        dag_id="orders", params={"connector": "orders-mirror"}, tags=["orders"], default_args={"retries": 3}
    )

    assert (dag.dag_id, dag.params["connector"]) == ("orders", "orders-mirror")
    assert dag.tags == {"kafka-connect", "offsets", "orders"}
    assert (dag.default_args["retries"], dag.default_args["owner"]) == (3, "connect-offsets")


def test_what_nobody_has_set_up_is_not_scheduled() -> None:
    """It needs a flow's name or a schedule in its file; the other DAGs need no name to be of use."""
    assert dags.mirror_readiness().schedule is None
    assert str(dags.mirror_readiness(params={"source_connector": "mirror"}).schedule) == "*/15 * * * *"
    assert str(dags.mirror_readiness(pinned={"source_connector": "mirror"}).schedule) == "*/15 * * * *"
    assert str(dags.mirror_readiness(schedule="@hourly").schedule) == "@hourly"
    assert str(dags.connector_offsets_snapshot().schedule) == "@daily"


def test_a_default_for_an_unknown_param_is_refused() -> None:
    """A misspelt name would be passed over otherwise."""
    with pytest.raises(InvalidInput, match=r"Unknown Params: 'conector'\. The Params are connector, to,"):
        dags.connector_offsets_change(params={"conector": "orders-mirror"})  # type: ignore[typeddict-unknown-key]


def test_type_checkers_read_the_package_hints() -> None:
    """The package has ``py.typed``, as its classifier says."""
    assert files("airflow_provider_connect_offsets").joinpath("py.typed").is_file()
