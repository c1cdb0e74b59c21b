"""A change through Strimzi's resources is broken at calls of the API server; the next attempt ends what was begun."""

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
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.document import Entry
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
from airflow_provider_connect_offsets.operations.registry import reached
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import RestRefusal, wait_until
from sandbox.kubernetes import Release
from tests.support.faults.faulty_clients import Fault, Faults, Killed
from tests.support.strimzi.managed import Managed
from tests.support.strimzi.resources import annotations_of
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import opened, plain

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]
FAULTS = [Fault.KILLED, Fault.INTERRUPTED, Fault.LOST, Fault.JOURNAL, Fault.ZOMBIE]
BEFORE, AFTER = 41, 7
# Of all calls one in so many; STRIMZI_FAULTS=1 breaks each.
SHARE = int(os.environ.get("STRIMZI_FAULTS", "24"))


@pytest.mark.parametrize("fault", FAULTS)
def test_broken_at_calls_of_the_api_server(
    strimzi: Strimzi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    """Afterwards the offsets are the plan's, the connector runs, and nothing of ours is left on the resource."""
    with plain(strimzi) as made:
        before = made.read()
        counted = Faults()
        _ready(made)
        _change(strimzi, made, _workspace(tmp_path), counted, monkeypatch)
        assert counted.calls
        moments = [(at, after) for at in range(len(counted.calls)) for after in (False, True)]
        for at, after in moments[FAULTS.index(fault) :: SHARE]:
            faults, workspace = Faults(fault, at, after), _workspace(tmp_path)
            _ready(made)
            with faults.naming("change", "retry"), faults.files(monkeypatch):
                _broken(strimzi, made, workspace, faults, monkeypatch)
                faults.mend()
                _change(strimzi, made, workspace, Faults(), monkeypatch)
                made.in_state("RUNNING")
                assert made.read()["spec"] == before["spec"]
                assert not annotations_of(made.read())
                assert strimzi.resources.config_map(f"{made.name}-connect-offsets") is None
                assert strimzi.connect is not None
                assert strimzi.connect.offsets(made.connector) == [made.offset(AFTER)]


def _ready(made: Managed) -> None:
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


def _workspace(folder: Path) -> str:
    return (folder / uuid4().hex).as_uri()


def _broken(strimzi: Strimzi, made: Managed, workspace: str, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        _change(strimzi, made, workspace, faults, monkeypatch)
    except (Killed, SystemExit, ConnectOffsetsError):
        assert faults.happened


def _change(strimzi: Strimzi, made: Managed, workspace: str, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    with _clients(strimzi, made, faults, monkeypatch) as clients:
        stored = clients.offsets.read_offsets(made.connector).stored()
        apply_plan(_plan(made, stored), replace(clients, workspace=workspace), Owner.here(run="test/run", task="apply"))


@contextmanager
def _clients(strimzi: Strimzi, made: Managed, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    """Clients whose calls of the API server are counted, and one of them broken; after a kill nothing is cleaned up."""

    def broken(api: object, namespace: str) -> KubernetesApi:
        return faults.around(KubernetesApi(api, namespace))

    with opened(strimzi, made, timeout=5) as other, monkeypatch.context() as patched:
        faults.registry = reached(Clients(other, other, origin=Origin.STRIMZI, timeout=20, cluster="strimzi"))
        patched.setattr(strimzi_control, "KubernetesApi", broken)
        with opened(strimzi, made, timeout=5) as client:
            yield Clients(client, client, origin=Origin.STRIMZI, timeout=20, cluster="strimzi")


def _plan(made: Managed, stored: dict[str, str]) -> OffsetPlan:
    """The plan to resume after the record AFTER, made from what is stored."""
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
