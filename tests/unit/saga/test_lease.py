"""Leases: neither two machines' clocks nor a process id alone prove that a holder is dead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.clock import Clock
from airflow_provider_connect_offsets.exceptions import JournalLost, Overlap
from airflow_provider_connect_offsets.saga import lease
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
    """Another machine as it writes into a connector's journal, whose store says ``age`` of each file."""

    def __init__(self, folder: Path, *, age: float | None, ahead: float = 0, pid: int = 1) -> None:
        self.slept = 0.0
        self.alive = True
        self.ahead = ahead
        self.owner = replace(FIRST, pid=pid)
        clock = Clock(lambda: self.slept, self._sleep)
        self.journal = Journal(folder.as_uri(), cluster="c", resource="x", age=lambda _uri: age, clock=clock)
        files.create_bytes(self.journal.file(1, "lease"), b"{}")
        self._beat()

    def _sleep(self, seconds: float) -> None:
        self.slept += seconds
        if self.alive:
            self._beat()

    def _beat(self) -> None:
        now = time.time() + self.slept + self.ahead
        files.write_json(self.journal.file(1, "lease"), asdict(Lease(self.owner, now, DEAD_AFTER)))


@pytest.mark.parametrize("ahead", [-HOUR, 0, HOUR])
@pytest.mark.parametrize("age", [0.0, DEAD_AFTER + 1, None])
def test_a_living_holder_is_not_taken_for_dead(tmp_path: Path, age: float | None, ahead: float) -> None:
    """No matter what its clock says, and though its store says too much, or nothing."""
    holder = Holder(tmp_path, age=age, ahead=ahead)

    with pytest.raises(Overlap, match="'x' is being changed by run 'dag/first'"), holder.journal.claim(NEXT):
        pass


@pytest.mark.parametrize("ahead", [-HOUR, 0, HOUR])
@pytest.mark.parametrize("age", [DEAD_AFTER + 1, None])
def test_a_dead_holder_is_found_by_waiting(tmp_path: Path, age: float | None, ahead: float) -> None:
    """The wait takes no longer than a lease lasts, by this machine's clock."""
    holder = Holder(tmp_path, age=age, ahead=ahead)
    holder.alive = False

    with holder.journal.claim(NEXT) as entry:
        assert entry.number == 2
    assert DEAD_AFTER <= holder.slept < DEAD_AFTER + 1


def test_a_lease_between_two_tasks_is_not_judged_without_a_clock(tmp_path: Path) -> None:
    """Nobody renews it then, so a store that does not say how old it is proves nothing."""
    holder = Holder(tmp_path, age=None, pid=0)
    holder.alive = False

    with pytest.raises(Overlap, match="'x' is being changed by run 'dag/first'"), holder.journal.claim(NEXT):
        pass


def test_a_store_says_by_its_own_clock_how_old_a_file_is(tmp_path: Path) -> None:
    """The test uses a real file system."""
    file = tmp_path / "lease.json"
    file.write_text("{}")
    os.utime(file, (time.time() - HOUR, time.time() - HOUR))

    assert lease.age(file.as_uri()) == pytest.approx(HOUR, abs=60)
    assert lease.age((tmp_path / "missing").as_uri()) is None
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(("error", "is_gone"), [(PermissionError, False), (ProcessLookupError, True)])
def test_a_process_that_can_not_be_seen_is_not_gone(
    monkeypatch: pytest.MonkeyPatch, error: type[OSError], *, is_gone: bool
) -> None:
    """With hidepid, /proc shows no processes of other users; a signal tells a hidden one from none (kill(2))."""
    here = Owner.here(run="r", task="t")
    monkeypatch.setattr(lease, "_start_time", lambda _pid: "")

    def kill(_pid: int, _signal: int) -> None:
        raise error

    monkeypatch.setattr(os, "kill", kill)

    assert here.is_gone is is_gone


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

    def renew() -> bool:
        renewed.append(next(answers, True))
        if not renewed[-1]:
            raise OSError(30, "Read-only file system")
        return True

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
        files.write_json(entry.file("lease").replace("000001", "000002"), asdict(Lease(FIRST, 1, 1)))
        with pytest.raises(Overlap, match="'x' was taken over by run 'dag/first'"):
            entry.note(SagaState.UNDONE)


def _read_only(_uri: str, _value: object) -> None:
    raise OSError(30, "Read-only file system")
