"""``control``: a Param of every DAG that has a Connect cluster, which reaches each task, or is refused there."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, TaskDeferred
from airflow.sdk import DAG
from airflow.sdk.bases.operator import ExecutorSafeguard

from airflow_provider_connect_offsets import dags
from airflow_provider_connect_offsets.connect.protocols import ConnectorStatus, State
from airflow_provider_connect_offsets.connect.strimzi import client as strimzi_client
from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi
from airflow_provider_connect_offsets.offsets.requests.fields import fields_of
from airflow_provider_connect_offsets.operators.connector import StopConnectorOperator
from airflow_provider_connect_offsets.operators.failover import SnapshotFailoverOperator
from airflow_provider_connect_offsets.operators.orphans import SnapshotStoredOffsetsOperator
from airflow_provider_connect_offsets.operators.poison import FindPoisonRecordOperator
from airflow_provider_connect_offsets.operators.replay.planned import SnapshotReplayOperator
from airflow_provider_connect_offsets.parameters.tasks import WaitingParams
from airflow_provider_connect_offsets.sensors.connector import ConnectorPositionSensor, ConnectorStateSensor
from airflow_provider_connect_offsets.sensors.mirror import MirrorLagSensor
from airflow_provider_connect_offsets.triggers.waiting import StateChangeTrigger, WaitingTrigger

#: They change committed offsets of consumer groups, which are in no Connect cluster.
_OF_GROUPS = {"group_offsets_change", "mirror_failover_restore"}
_ALL = ["rest", "storage", "strimzi", "strimzi+rest"]
_OTHERS = {
    "connector_offsets_orphans": ["rest", "strimzi+rest"],
    "mirror_failback": ["rest", "strimzi", "strimzi+rest"],
    "mirror_failover": ["rest", "strimzi", "strimzi+rest"],
}


@cache
def _ready(dag_id: str) -> DAG:
    dag: DAG = getattr(dags, dag_id)()
    return dag


@pytest.mark.parametrize("dag_id", sorted(set(dags.__all__) - _OF_GROUPS))
def test_each_dag_offers_the_controls_that_it_can_use(dag_id: str) -> None:
    """``rest`` is the default; the Kubernetes connection is named too where it is used."""
    dag = _ready(dag_id)
    param = dag.params.get_param("control")

    assert param.schema["enum"] == _OTHERS.get(dag_id, _ALL)
    assert param.value == "rest"
    if dag_id != "connector_offsets_orphans":
        assert dag.params["kubernetes_conn_id"] == "kubernetes_default"


@pytest.mark.parametrize("dag_id", sorted(set(dags.__all__) - _OF_GROUPS))
@pytest.mark.parametrize("name", ["connect_conn_id", "control", "kubernetes_conn_id"])
def test_each_task_gets_what_the_form_says(dag_id: str, name: str) -> None:
    """A task that were left out would use the default, another cluster maybe."""
    dag = _ready(dag_id)
    left_out = [
        task.task_id
        for task in dag.tasks
        if name in task.template_fields and f"params.{name}" not in str(getattr(task, name))
    ]

    assert left_out == []


@pytest.fixture
def context(workspace: str) -> dict[str, Any]:
    """Of a task that has a workspace, and no connection at all: opening anything would fail otherwise."""
    del workspace
    instance = SimpleNamespace(dag_id="d", run_id="r", task_id="t", map_index=-1, try_number=1)
    return {"ti": instance}


_INTERVAL = {"begins": "2026-01-01T00:00:00+00:00", "ends": "2026-01-02T00:00:00+00:00"}
REFUSED: dict[str, tuple[type[Any], dict[str, Any], str]] = {
    "poison-storage": (
        FindPoisonRecordOperator,
        {"connector": "c"},
        "control must be rest or strimzi[+]rest, not storage",
    ),
    "poison-strimzi": (FindPoisonRecordOperator, {"connector": "c"}, "after the operator's next reconciliation"),
    "poison-groups": (FindPoisonRecordOperator, {"connector": "c"}, "not groups"),
    "replay-storage": (
        SnapshotReplayOperator,
        {"connector": "c", **_INTERVAL},
        "rest, strimzi or strimzi[+]rest, not storage",
    ),
    "failover-storage": (
        SnapshotFailoverOperator,
        {"source_connector": "c"},
        "only the REST API and Strimzi can do that",
    ),
    "orphans-storage": (SnapshotStoredOffsetsOperator, {"offsets_topic": "o"}, "use connect-offsets orphans"),
    "orphans-strimzi": (SnapshotStoredOffsetsOperator, {"offsets_topic": "o"}, "rest or strimzi[+]rest, not strimzi"),
    "state-groups": (ConnectorStateSensor, {"connector": "c"}, "control=groups"),
    "step-groups": (StopConnectorOperator, {"connector": "c"}, "control=groups"),
    "lag-kubernetes": (MirrorLagSensor, {"connector": "c"}, "control must be one of rest, storage"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_a_control_that_can_not_do_it_is_refused_before_anything_is_opened(
    case: str, context: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task is not tried again, as the next attempt would end the same way."""
    operator, arguments, text = REFUSED[case]
    monkeypatch.setattr(ExecutorSafeguard, "test_mode", True)
    task = operator(task_id="t", control=case.partition("-")[2], **arguments)

    with pytest.raises(AirflowFailException, match=text):
        task.execute(context)


@pytest.mark.parametrize(
    ("sensor", "more"),
    [
        (ConnectorStateSensor, {"state": "STOPPED"}),
        (ConnectorPositionSensor, {"position": 3}),
        (MirrorLagSensor, {"max_lag_records": 3}),
    ],
)
def test_a_sensor_hands_its_control_to_the_triggerer(sensor: type[Any], more: dict[str, Any]) -> None:
    """All that a triggerer needs is in the arguments, as values of JSON."""
    reached = {"control": "strimzi", "connect_conn_id": "orders", "kubernetes_conn_id": "cluster"}
    trigger = sensor(task_id="t", connector="c", **reached, **more).trigger()

    arguments = _as_rebuilt(trigger).serialize()[1]

    assert reached.items() <= arguments.items()


def _as_rebuilt(trigger: WaitingTrigger) -> WaitingTrigger:
    """Return the trigger that a triggerer makes of its class's path and its arguments."""
    path, arguments = trigger.serialize()
    module, _, name = path.rpartition(".")
    rebuilt: WaitingTrigger = getattr(import_module(module), name)(**json.loads(json.dumps(arguments)))
    return rebuilt


class Stopping(ConnectStrimzi):
    """Accepts a stop, and is STOPPED at the second request; needs no API server."""

    looks = 0
    opened: list[str]

    def __init__(self, api: Any, **how: Any) -> None:
        super().__init__(api, **how)
        self.opened.append(how["cluster"])

    def cluster_names(self) -> tuple[str, str]:
        """As if the API server had allowed it."""
        return "scripted", ""

    def stop(self, connector: str) -> None:
        """Accept."""

    def status(self, connector: str) -> ConnectorStatus:
        """Return RUNNING first."""
        del connector
        type(self).looks += 1
        return ConnectorStatus(State.RUNNING if type(self).looks == 1 else State.STOPPED, "")


def test_a_deferred_step_waits_at_the_same_resource(
    connection: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits as long as Strimzi's operator may take."""
    kubeconfig = {
        "clusters": [{"name": "here", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "here", "context": {"cluster": "here"}}],
        "current-context": "here",
    }
    connection("cluster", conn_type="kubernetes", extra={"kube_config": kubeconfig})
    connection("orders", extra={"strimzi_cluster": "orders"})
    monkeypatch.setattr(ExecutorSafeguard, "test_mode", True)
    monkeypatch.setattr(Stopping, "opened", [], raising=False)
    monkeypatch.setattr(strimzi_client, "ConnectStrimzi", Stopping)
    task = StopConnectorOperator(
        task_id="t",
        connector="c",
        control="strimzi",
        connect_conn_id="orders",
        kubernetes_conn_id="cluster",
        deferrable=True,
    )

    with pytest.raises(TaskDeferred) as deferred:
        task.execute({"ti": SimpleNamespace(dag_id="d", run_id=uuid4().hex, task_id="t", map_index=-1)})  # type: ignore[typeddict-item]
    trigger = deferred.value.trigger
    assert isinstance(trigger, StateChangeTrigger)
    observed = _as_rebuilt(trigger).observe()

    assert trigger.awaited.timeout == 300.0
    assert observed.reached
    assert Stopping.opened == ["orders", "orders"]


def test_the_timeout_of_strimzi_is_described() -> None:
    """Where anybody reads what the default is."""
    description = fields_of(WaitingParams)["timeout"].description

    assert description is not None
    assert "None: 120, or 300 with control strimzi and strimzi+rest" in description
