"""Another user changes the same connector: its offsets or state, deletes it, or reads in its group."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer

from sandbox import wait_until
from tests.support.faults.fault_cell import STEPS, Cell, Kind, Scenes, each
from tests.support.faults.fault_flow import AGAIN, RECORDS, FaultFlow
from tests.support.faults.fault_table import Ending, Note
from tests.support.workers.gate import Fate

pytestmark = pytest.mark.faults
WHILE_STOPPED = ["after the journal", "after alter", "during read-back"]


@pytest.mark.parametrize("kind", [Kind.MIRROR, pytest.param(Kind.SINK, marks=pytest.mark.long)])
def test_changed_before_the_offsets_are_read(scenes: Scenes, note: Note, kind: Kind) -> None:
    """Someone else moves a partition that the plan leaves alone: drift, and nothing is written."""
    cell = Cell(scenes.ready(kind), STEPS["after stop"])

    ended = cell.make(lambda _process: _move(cell.flow, 2, 5))

    assert ended.ended == "Drift"
    assert '"partition":2' in ended.message.replace("kafka_", "")
    assert cell.delivered_again() == RECORDS - 5  # theirs
    note("offsets changed by someone else", "after stop", kind, Ending.DRIFT)


@pytest.mark.parametrize(("kind", "step"), each(WHILE_STOPPED))
def test_changed(scenes: Scenes, note: Note, kind: Kind, step: str) -> None:
    """If someone does so later, the connector stays STOPPED; after a repair by hand, the next attempt applies."""
    cell = Cell(scenes.ready(kind), STEPS[step])

    ended = cell.make(lambda _process: _move(cell.flow, 2, 5))

    assert ended.ended == "LeftStopped"
    assert '"partition":2' in ended.message.replace("kafka_", "")
    assert cell.flow.state() == "STOPPED"
    _move(cell.flow, 2, RECORDS)
    assert cell.again().ended == "applied"
    assert cell.delivered_again() == AGAIN
    note("offsets changed by someone else", step, kind, Ending.STOPPED)


@pytest.mark.parametrize(("kind", "step"), each(["after stop", *WHILE_STOPPED, "after read-back"]))
def test_resumed(scenes: Scenes, note: Note, kind: Kind, step: str) -> None:
    """Someone else resumes it: nothing was written, or all was, or it says that the offsets are nobody's."""
    cell = Cell(scenes.ready(kind), STEPS[step], timeout=15)  # it may wait in vain for what nobody requests any more

    def resume(_process: subprocess.Popen[str]) -> Fate:
        cell.flow.sandbox.connect.resume(cell.flow.name)
        return Fate.PASSES

    ended = cell.make(resume)

    again = cell.delivered_again()
    if ended.ended == "applied":
        assert again == AGAIN
    elif ended.ended in {"Interfered", "NotUndone"}:  # the latter if the undo has written nothing
        assert "someone else resumed the connector" in ended.message
        assert again in {0, AGAIN}
    else:
        assert (ended.ended, again) == ("NotApplied", 0), ended
    assert cell.flow.state() == "RUNNING"
    note("resumed by someone else", step, kind, Ending.APPLIED if ended.ended == "applied" else Ending.THEIRS)


@pytest.mark.parametrize(
    ("kind", "step"), each([step for step in STEPS if step not in {"during alter", "while resuming"}])
)
def test_deleted(scenes: Scenes, note: Note, kind: Kind, step: str) -> None:
    """Someone else deletes it: the error names it, and nothing brings it back."""
    cell = Cell(scenes.ready(kind), STEPS[step])

    def delete(_process: subprocess.Popen[str]) -> Fate:
        cell.flow.sandbox.connect.delete(cell.flow.name)
        return Fate.PASSES

    ended = cell.make(delete)

    # Right before the resume the offsets are as planned, and there is nothing left to restore.
    expected = {"NotRunning"} if step == "before resuming" else {"UnknownConnector", "Interfered", "NotApplied"}
    assert ended.ended in expected
    assert cell.flow.name in ended.message
    assert cell.flow.state() == "GONE"
    note("deleted by someone else", step, kind, Ending.THEIRS)


@pytest.mark.parametrize("step", [step for step in STEPS if step not in {"before resuming", "while resuming"}])
def test_zombie(scenes: Scenes, note: Note, step: str) -> None:
    """A task that was given up still reads in the sink's group: it is named, or came too late to matter."""
    cell = Cell(scenes.ready(Kind.SINK), STEPS[step], timeout=5)
    zombie = Zombie(cell.flow)

    with zombie.reading():
        ended = cell.make(lambda _process: zombie.join())

    if ended.ended != "applied":
        assert cell.flow.name in ended.message
    note("zombie task in the group", step, Kind.SINK, cell.settle(ended))


class Zombie:
    """A consumer in the group of a sink, which commits nothing."""

    def __init__(self, flow: FaultFlow) -> None:
        self._flow = flow
        self._wanted, self._over = threading.Event(), threading.Event()
        self._assigned = threading.Event()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Be ready to join; out of the group at the end."""
        thread = threading.Thread(target=self._read)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._wanted.set()
            thread.join()

    def join(self) -> Fate:
        """Join, and go on reading."""
        self._wanted.set()
        wait_until(self._assigned.is_set, 60, "the zombie was given no partition", progress=self._flow.work)
        return Fate.PASSES

    def _read(self) -> None:
        self._wanted.wait()
        if self._over.is_set():
            return
        settings = {
            "group.id": f"connect-{self._flow.name}",
            "enable.auto.commit": False,
            "auto.offset.reset": "latest",
        }
        consumer = Consumer(self._flow.kafka.client_settings() | settings)
        try:
            consumer.subscribe([self._flow.topic], on_assign=lambda *_: self._assigned.set())
            while not self._over.is_set():
                consumer.poll(0.1)
        finally:
            consumer.close()


def _move(flow: FaultFlow, partition: int, position: int) -> Fate:
    flow.move(partition, position)
    return Fate.PASSES
