"""Leases: neither two machines' clocks nor a process id alone prove that a holder is dead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.clock import Clock
from airflow_provider_connect_offsets.exceptions import JournalLost, Overlap
from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import DEAD_AFTER, SILENT_AFTER, Heartbeat, Lease, Owner
from airflow_provider_connect_offsets.saga.record import SagaRecord, SagaState
from airflow_provider_connect_offsets.workspace import files
from sandbox import wait_until

FIRST = Owner("dag/first", "apply", "another-host", 1)
NEXT = Owner("dag/next", "apply", "this-host", 2)
HOUR = 3600.0


class Holder:
    """Another machine, whose wall clock is ``ahead`` of this one's, as it writes into a connector's journal."""

    def __init__(self, folder: Path, *, ahead: float) -> None:
        self.slept = 0.0
        self.alive = True
        self.ahead = ahead
        clock = Clock(lambda: self.slept, self._sleep)
        self.journal = Journal(folder.as_uri(), cluster="c", resource="x", wall=lambda: 1e9 + self.slept, clock=clock)
        files.create_bytes(self.journal.file(1, "lease"), b"{}")
        self._beat()

    def _sleep(self, seconds: float) -> None:
        self.slept += seconds
        if self.alive:
            self._beat()

    def _beat(self) -> None:
        now = 1e9 + self.slept + self.ahead
        files.write_json(self.journal.file(1, "lease"), asdict(Lease(FIRST, now, now + DEAD_AFTER)))


@pytest.mark.parametrize("ahead", [-HOUR, -DEAD_AFTER, 0, DEAD_AFTER / 2, HOUR])
def test_a_living_holder_is_not_taken_for_dead(tmp_path: Path, ahead: float) -> None:
    """Whatever its clock says."""
    holder = Holder(tmp_path, ahead=ahead)

    with pytest.raises(Overlap, match="'x' is being changed by run 'dag/first'"), holder.journal.claim(NEXT):
        pass


@pytest.mark.parametrize("ahead", [-HOUR, -DEAD_AFTER, 2 * DEAD_AFTER, HOUR])
def test_a_dead_holder_is_found_by_waiting(tmp_path: Path, ahead: float) -> None:
    """No longer than a lease lasts, by this machine's clock."""
    holder = Holder(tmp_path, ahead=ahead)
    holder.alive = False

    with holder.journal.claim(NEXT) as entry:
        assert entry.number == 2
    assert DEAD_AFTER <= holder.slept < DEAD_AFTER + 1


def test_a_process_is_identified_by_more_than_its_number() -> None:
    """Two containers may share a host's name, and a number is reused by later processes."""
    here = Owner.here(run="r", task="t")

    assert not here.is_gone
    assert not replace(here, pid=2**22 + 1, machine="the same boot pid:[1]").is_gone, "it is in another container"
    assert not replace(here, pid=2**22 + 1, machine="").is_gone, "nobody knows where it is"
    assert replace(here, started="1").is_gone, "the number is another process's by now"
    assert replace(here, pid=2**22 + 1).is_gone


def test_a_process_that_nobody_has_waited_for_yet_is_gone() -> None:
    """It is killed, and its parent has not read its exit status."""
    program = (
        "import dataclasses, json, sys; from airflow_provider_connect_offsets.saga.lease import Owner; "
        "print(json.dumps(dataclasses.asdict(Owner.here(run='r', task='t'))), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        owner = Owner(**json.loads(process.stdout.readline()))
        assert not owner.is_gone
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

        assert owner.is_gone


def test_a_renewal_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One failed write does not end the lease."""
    monkeypatch.setattr("airflow_provider_connect_offsets.saga.lease.HEARTBEAT", 0.01)
    monkeypatch.setattr("airflow_provider_connect_offsets.saga.lease._RETRY", 0.01)
    answers: Iterator[bool] = iter([True, False, False, True, True])
    renewed: list[bool] = []

    def renew() -> None:
        renewed.append(next(answers, True))
        if not renewed[-1]:
            raise OSError(30, "Read-only file system")

    with Heartbeat(renew, Clock()):
        wait_until(lambda: len(renewed) > 5, 60, "it was not tried again")


@contextmanager
def _held(folder: Path, clock: list[float]) -> Iterator[JournalEntry]:
    """A connector's lease, by a clock that a test moves."""
    journal = Journal(folder.as_uri(), cluster="c", resource="x", clock=Clock(lambda: clock[0], lambda _seconds: None))
    with journal.claim(NEXT) as entry:
        yield entry


def test_a_holder_that_can_not_renew_its_lease_does_nothing_more(tmp_path: Path) -> None:
    """Others may take it for dead soon; what was done can still be undone, as nobody has yet."""
    clock = [0.0]
    with _held(tmp_path, clock) as entry:
        entry.note(SagaState.FORWARD)
        clock[0] = SILENT_AFTER + 1

        with pytest.raises(JournalLost, match=r"The lease of 'x' could not be renewed for 13 s.*000001\.lease\.json"):
            entry.note(SagaState.FORWARD)
        entry.go_on_in_memory()
        entry.note(SagaState.UNDONE)

        assert entry.record.state is SagaState.UNDONE


def test_what_can_not_be_written_stops_what_goes_forward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The undo continues in memory, unless another run has taken over."""
    clock = [0.0]
    with _held(tmp_path, clock) as entry:
        with monkeypatch.context() as broken:
            broken.setattr(files, "write_json", _read_only)
            with pytest.raises(JournalLost, match=r"The journal of 'x' can't be written: .*000001\.record\.json"):
                entry.note(SagaState.FORWARD)
            assert entry.record == SagaRecord("x", NEXT)
            entry.go_on_in_memory()
            entry.note(SagaState.BACK)
            assert entry.record == SagaRecord("x", NEXT, SagaState.BACK)

        files.create_bytes(entry.file("lease").replace("000001", "000002"), b"{}")
        files.write_json(entry.file("lease").replace("000001", "000002"), asdict(Lease(FIRST, 1, 2)))
        with pytest.raises(Overlap, match="'x' was taken over by run 'dag/first'"):
            entry.note(SagaState.UNDONE)


def _read_only(_uri: str, _value: object) -> None:
    raise OSError(30, "Read-only file system")
