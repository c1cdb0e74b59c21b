"""A change of a connector through Strimzi's resources, as a task makes it; its calls of the API server are counted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.connect.strimzi import control as strimzi_control
from airflow_provider_connect_offsets.connect.strimzi.kubernetes_api import KubernetesApi
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.document import Entry
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
from airflow_provider_connect_offsets.operations.registry import make_registry
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import RestRefusal, wait_until
from tests.support.faults.faulty_clients import Faults
from tests.support.strimzi.managed import Managed
from tests.support.strimzi.resources import Resource, annotations_of
from tests.support.strimzi.strimzi_clients import opened

BEFORE, AFTER = 41, 7
#: Of all calls one in so many is broken; STRIMZI_FAULTS=1 breaks each.
SHARE = int(os.environ.get("STRIMZI_FAULTS", "24"))


def new_workspace(folder: Path) -> str:
    """Return the URI of a workspace without journals."""
    return (folder / uuid4().hex).as_uri()


def ready(made: Managed) -> None:
    """Give it the prior offset while it is STOPPED, then let it run as its resource was made."""
    connect = made.strimzi.connect
    assert connect is not None
    made.to_state("stopped")

    def is_altered() -> bool:
        # A pass over an earlier version of the resource may have resumed it for a moment.
        try:
            connect.alter(made.connector, [made.offset(BEFORE)])
        except RestRefusal:
            return False
        return True

    wait_until(is_altered, 30, f"{made.connector} did not stay STOPPED")
    made.change({"state": None})
    connect.wait_state(made.connector, "RUNNING")
    made.in_state("RUNNING")


def change(made: Managed, workspace: str, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    """Resume after the record AFTER."""
    with _clients(made, faults, monkeypatch) as clients:
        stored = clients.offsets.read_offsets(made.connector).by_partition()
        apply_plan(_plan(made, stored), replace(clients, workspace=workspace), Owner.here(run="test/run", task="apply"))


@contextmanager
def _clients(made: Managed, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    """Clients whose calls of the API server are counted, and one of them broken; after a kill nothing is cleaned up."""

    def broken(api: object, namespace: str) -> KubernetesApi:
        return faults.around(KubernetesApi(api, namespace))

    with opened(made.strimzi, made, timeout=5) as other, monkeypatch.context() as patched:
        faults.registry = make_registry(Clients(other, other, origin=Origin.STRIMZI, timeout=20, cluster="strimzi"))
        patched.setattr(strimzi_control, "KubernetesApi", broken)
        with opened(made.strimzi, made, timeout=5) as client:
            yield Clients(client, client, origin=Origin.STRIMZI, timeout=20, cluster="strimzi")


def _plan(made: Managed, stored: dict[str, str]) -> OffsetPlan:
    """The plan to resume after record ``AFTER``, based on the stored offsets."""
    before, after = made.offset(BEFORE), made.offset(AFTER)
    entry = Entry.of(after["partition"], after["offset"])
    now = stored.get(entry.partition)
    action = Action.KEEP if now == entry.offset else Action.SET
    row = PlanRow(
        made.connector,
        "mirror_source",
        entry.partition,
        "orders",
        0,
        now,
        before["offset"]["offset"] + 1,
        entry.offset,
        AFTER + 1,
        action,
        "asked for",
    )
    request = Request.parse(connector=made.connector, to="offset", value=str(AFTER + 1), now=datetime.now(tz=UTC))
    return OffsetPlan.of(request, [row], was_running=True)


def assert_changed(made: Managed, before: Resource) -> None:
    """The offsets are the plan's, the connector runs, and nothing of ours is left on the resource."""
    made.in_state("RUNNING")
    assert made.read()["spec"] == before["spec"]
    assert not annotations_of(made.read())
    assert made.resources.config_map(f"{made.name}-connect-offsets") is None
    assert made.strimzi.connect is not None
    assert made.strimzi.connect.offsets(made.connector) == [made.offset(AFTER)]
