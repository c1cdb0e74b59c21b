"""A change through Strimzi's resources is broken at calls of the API server; the next attempt ends what was begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from sandbox.kubernetes import Release
from tests.support.faults.faulty_clients import Fault, Faults, Killed
from tests.support.strimzi.changes import SHARE, assert_changed, change, new_workspace, ready
from tests.support.strimzi.managed import Managed
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import plain

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]
FAULTS = [Fault.KILLED, Fault.INTERRUPTED, Fault.LOST, Fault.JOURNAL, Fault.ZOMBIE]


@pytest.mark.parametrize("fault", FAULTS)
def test_broken_at_calls_of_the_api_server(
    strimzi: Strimzi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    """Afterwards the offsets are the plan's, the connector runs, and nothing of ours is left on the resource."""
    with plain(strimzi) as made:
        before = made.read()
        counted = Faults()
        ready(made)
        change(made, new_workspace(tmp_path), counted, monkeypatch)
        assert counted.calls
        moments = [(at, after) for at in range(len(counted.calls)) for after in (False, True)]
        for at, after in moments[FAULTS.index(fault) :: SHARE]:
            faults, workspace = Faults(fault, at, after), new_workspace(tmp_path)
            ready(made)
            with faults.naming("change", "retry"), faults.files(monkeypatch):
                _broken(made, workspace, faults, monkeypatch)
                faults.mend()
                change(made, workspace, Faults(), monkeypatch)
                assert_changed(made, before)


def _broken(made: Managed, workspace: str, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        change(made, workspace, faults, monkeypatch)
    except (Killed, SystemExit, ConnectOffsetsError):
        assert faults.happened
