"""Trigger forms propose the connectors that snapshots have found, once that is switched on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from airflow.sdk import DAG, Param, Variable
from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.sdk.execution_time.comms import ErrorResponse

from airflow_provider_connect_offsets import dags
from airflow_provider_connect_offsets.operators.snapshots.suggestions import VARIABLE, note_connectors
from sandbox import Sandbox
from tests.support.airflow.dag_runs import Ran
from tests.support.flows.flows import SinkFlow

NOTED = {
    "c-kafka_connect_default": {"orders": "sink", "mirror": "mirror_source", "checkpoints": "mirror_checkpoint"},
    "c-another": {"orders": "sink", "files": "file_stream_source"},
}


@pytest.fixture(autouse=True)
def _switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__SUGGEST_CONNECTORS", "True")
    monkeypatch.setenv(f"AIRFLOW_VAR_{VARIABLE.upper()}", json.dumps(NOTED))


def proposed(dag: DAG) -> dict[str, list[str]]:
    """What the form of a DAG proposes, by Param."""
    schemas = {name: dag.params.get_param(name).schema for name in dag.params}
    return {name: schema["examples"] for name, schema in schemas.items() if "examples" in schema}


def test_each_field_proposes_connectors_that_fit() -> None:
    """Those of the family that it must be of, from all series, in order."""
    assert proposed(dags.connector_offsets_change()) == {"connector": ["checkpoints", "files", "mirror", "orders"]}
    assert proposed(dags.mirror_failover()) == {"source_connector": ["mirror"], "checkpoint_connector": ["checkpoints"]}
    assert proposed(dags.group_offsets_change()) == {}


def test_another_name_can_be_typed() -> None:
    """What is proposed is not checked."""
    param = dags.connector_offsets_change().params.get_param("connector")
    param.value = "typed"
    assert param.resolve() == "typed"


def test_the_author_may_propose_others_and_fix_one() -> None:
    """By a Param in the DAG file; a fixed name needs no proposals."""
    chosen = dags.connector_offsets_change(params={"connector": Param(examples=["mine"])})
    fixed = dags.connector_offsets_change(pinned={"connector": "orders"})

    assert proposed(chosen) == {"connector": ["mine"]}
    assert proposed(fixed) == {}


@pytest.mark.parametrize("value", ["{", "[]", '{"c": 1}', "{}"])
def test_what_is_no_list_proposes_nothing(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """DAGs are parsed all the same."""
    monkeypatch.setenv(f"AIRFLOW_VAR_{VARIABLE.upper()}", value)
    assert proposed(dags.connector_offsets_change()) == {}


@pytest.mark.parametrize("refusal", [AirflowRuntimeError(ErrorResponse()), PermissionError("no rights")])
def test_airflow_refuses_the_variable(
    refusal: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither a form nor a snapshot fails for that."""

    def refuse(*_arguments: object, **_more: object) -> None:
        raise refusal

    for name in ("get", "set"):
        monkeypatch.setattr(Variable, name, refuse)

    note_connectors("c-one", {"orders": "sink"})

    assert proposed(dags.connector_offsets_change()) == {}
    assert "can't be set" in caplog.text
    assert "can't be read" in caplog.text


def test_a_form_asks_for_the_names_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many of its fields propose names, and not at all if none does."""
    asked = []

    def get(name: str, **_more: object) -> object:
        asked.append(name)
        return NOTED

    monkeypatch.setattr(Variable, "get", get)

    dags.mirror_failover()
    dags.group_offsets_change()

    assert asked == [VARIABLE]


def test_it_is_off_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then no Variable is read."""
    monkeypatch.delenv("AIRFLOW__CONNECT_OFFSETS__SUGGEST_CONNECTORS")
    assert proposed(dags.connector_offsets_change()) == {}


@pytest.fixture
def sinks(sandbox: Sandbox) -> Iterator[tuple[SinkFlow, SinkFlow]]:
    """Two sinks; the second one may be deleted."""
    made = SinkFlow.start(sandbox), SinkFlow.start(sandbox)
    yield made
    for one in made:
        if one.name in sandbox.connect.connectors():
            sandbox.connect.delete(one.name)


def test_a_snapshot_notes_what_it_has_found(
    sandbox: Sandbox, sinks: tuple[SinkFlow, SinkFlow], run_dag: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one of the same series replaces that, and leaves other series alone."""
    monkeypatch.delenv(f"AIRFLOW_VAR_{VARIABLE.upper()}")
    kept, deleted = (sink.name for sink in sinks)
    both = f"{kept}|{deleted}"

    def snapshot(connectors: str) -> set[str]:
        ran = run_dag("connector_offsets_snapshot", connectors=connectors, kafka_conn_id="kafka_target", fail_on="")
        assert ran.state == "success"
        with monkeypatch.context() as patch:
            patch.setenv("_AIRFLOW_PROCESS_CONTEXT", "server")  # a DAG processor asks the server in its parent's stead
            return set(proposed(dags.connector_offsets_change())["connector"])

    assert snapshot(both) >= {kept, deleted}
    assert snapshot(kept) >= {kept, deleted}
    sandbox.connect.delete(deleted)
    assert {kept, deleted} & snapshot(both) == {kept}
