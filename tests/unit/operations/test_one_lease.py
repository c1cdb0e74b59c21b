"""A connector of Strimzi's has one lease, whether it is changed over REST, by resources, or by both."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.connect.protocols import ConnectorStatus, State
from airflow_provider_connect_offsets.connect.strimzi.resources import CustomResource, ResourceKind, workers_of
from airflow_provider_connect_offsets.exceptions import Overlap
from airflow_provider_connect_offsets.observe.clients import NO_CONNECT, Clients
from airflow_provider_connect_offsets.operations.registry import (
    journal_of,
    make_registry,
    operation_on_connector,
    settle_of,
)
from airflow_provider_connect_offsets.operations.stages.connector_stages import StopConnector
from airflow_provider_connect_offsets.saga import Executor, Explanation, Owner, operate

RESOURCE = CustomResource(ResourceKind.CONNECT, {"metadata": {"name": "my-connect", "namespace": "kafka"}})
WORKER = "my-connect-connect-0.my-connect-connect.kafka.svc:8083"
LABEL = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)
KINDS = (ResourceKind.CONNECT, ResourceKind.MIRROR_MAKER)


class Control:
    """What tells a cluster: the addresses of a connector's workers, and whether resources request states."""

    def __init__(self, *addresses: str, by_resource: bool = False) -> None:
        self.by_resource = by_resource
        self._addresses = frozenset(addresses)

    def addresses(self, connector: str) -> frozenset[str]:
        del connector
        return self._addresses

    def await_status(self, _connector: str, _until: object, **_how: object) -> ConnectorStatus:
        return ConnectorStatus(State.RUNNING, "worker")


def clients(tmp_path: Path, control: Any, cluster: str, also: str = "") -> Clients:
    return Clients(control, control, cluster=cluster, also=also, workspace=tmp_path.as_uri())


def ways(tmp_path: Path) -> dict[str, Clients]:
    by_resource = Control(by_resource=True)
    return {
        "rest": clients(tmp_path, Control("http://connect.example.com", WORKER), "kafka-id"),
        "strimzi": clients(tmp_path, by_resource, "my-connect.kafka.1a2b3c4d", RESOURCE.workers),
        "strimzi+rest": clients(tmp_path, Control(by_resource=True), "kafka-id", "my-connect.kafka.1a2b3c4d"),
    }


@pytest.mark.parametrize(("first", "second"), [*permutations(["rest", "strimzi", "strimzi+rest"], 2)])
def test_one_lease_excludes_any_other_way(tmp_path: Path, first: str, second: str) -> None:
    there = ways(tmp_path)
    with journal_of(there[first], "orders").claim(Owner.here(run="dag/first", task="apply")):
        other = journal_of(there[second], "orders").claim(Owner.here(run="dag/second", task="apply"))
        with pytest.raises(Overlap, match="dag/first"), other:
            pytest.fail("both have the lease")
    with journal_of(there[second], "orders").claim(Owner.here(run="dag/second", task="apply")):
        pass


def test_another_cluster_has_another_lease(tmp_path: Path) -> None:
    """Both Connect clusters may use the same Kafka cluster, or not."""
    there = ways(tmp_path)["strimzi"]
    elsewhere = clients(tmp_path, Control(WORKER.replace("kafka", "other")), "another-id")
    with (
        journal_of(there, "orders").claim(Owner.here(run="dag/first", task="apply")),
        journal_of(elsewhere, "orders").claim(Owner.here(run="dag/second", task="apply")),
    ):
        pass


@given(LABEL, LABEL, st.sampled_from(KINDS), st.integers(0, 99))
def test_a_worker_tells_the_name_that_its_resource_has(name: str, namespace: str, kind: ResourceKind, pod: int) -> None:
    resource = CustomResource(kind, {"metadata": {"name": name, "namespace": namespace}})
    service = resource.workers.split(".")[0]
    assert workers_of([f"{service}-{pod}.{resource.workers}:8083", "http://10.0.0.1:8083"]) == resource.workers
    assert workers_of([f"{service}-{pod}.{resource.workers}.cluster.local"]) == resource.workers


@pytest.mark.parametrize("address", ["10.1.2.3:8083", "http://localhost:8083", "connect-0.other.kafka.svc:8083", ""])
def test_other_addresses_tell_nothing(address: str) -> None:
    assert workers_of([address]) == ""


@pytest.mark.parametrize("name", ["strimzi+rest", "no Connect"])
def test_what_another_control_has_left_is_named_with_its_connections(tmp_path: Path, name: str) -> None:
    """An unplanned failover has no Connect, which it can't ask."""
    there = {**ways(tmp_path), "no Connect": clients(tmp_path, NO_CONNECT, "")}
    named = {"connect_conn_id": "c", "kubernetes_conn_id": "k"}
    dead = Owner.here(run="dag/dead", task="apply")
    stage = StopConnector("orders", replace(there["strimzi"], connections=named))
    with journal_of(there["strimzi"], "orders").claim(dead) as entry:
        entry.begin(dead, operation="the change", key="", stages=[stage])

    with pytest.raises(
        Overlap, match=r"Strimzi's operator runs 'orders'.* Run that operation again .* kubernetes_conn_id=k\)"
    ) as said:
        make_registry(there[name]).build(entry.record)

    assert ("set over REST" in str(said.value)) is (name == "no Connect")


@pytest.mark.parametrize("left_by", ["strimzi", "strimzi+rest"])
def test_what_was_left_by_resources_is_not_settled_over_rest(tmp_path: Path, left_by: str) -> None:
    """The operator would set the state back: a teardown and another change say so, and touch nothing."""
    there = ways(tmp_path)
    named = {"connect_conn_id": "c", "kubernetes_conn_id": "k"}
    stage = StopConnector("orders", replace(there[left_by], connections=named))
    dead, here = Owner.here(run="dag/dead", task="apply"), Owner.here(run="dag/now", task="apply")
    with journal_of(there[left_by], "orders").claim(dead) as entry:
        entry.begin(dead, operation="the change", key="", stages=[stage])
        Executor(entry, [stage], Explanation()).announce(stage)
    said = r"Strimzi's operator runs 'orders', .* over REST. Run that operation again .* kubernetes_conn_id=k\)"

    with pytest.raises(Overlap, match=said):
        settle_of(there["rest"], "orders", here)
    with pytest.raises(Overlap, match=said):
        operate(operation_on_connector(there["rest"], "orders", "a change", lambda _left: [stage]), here)

    assert make_registry(there[left_by]).build(entry.record)
