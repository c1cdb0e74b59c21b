"""Steps and faults: whatever breaks and whenever, a change ends applied or restored, or says what stands there."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from fault_flow import AGAIN, RECORDS, FaultFlow, Told, told
from flows import Changer
from gate import Fate, Gate, Point, Side, open_gate
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from sandbox import Sandbox

STEPS = {
    "before stop": Point("PUT", "/stop", Side.BEFORE),
    "while stopping": Point("PUT", "/stop", Side.AFTER),
    "after stop": Point("GET", "/offsets", Side.BEFORE, since="/stop"),
    "after the journal": Point("PATCH", "/offsets", Side.BEFORE),
    "after alter": Point("PATCH", "/offsets", Side.AFTER),
    "before read-back": Point("GET", "/offsets", Side.BEFORE, since="PATCH"),
    "after read-back": Point("GET", "/offsets", Side.AFTER, since="PATCH"),
    "before resuming": Point("PUT", "/resume", Side.BEFORE),
    "while resuming": Point("PUT", "/resume", Side.AFTER),
}


@dataclass(frozen=True)
class Scene:
    """A sink, a plan for it, and who changes it."""

    flow: FaultFlow
    changer: Changer
    run: RunDirectory


@pytest.fixture(scope="module")
def scene(sandbox: Sandbox, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One sink and one plan for all cells: each begins where the one before has caught up."""
    folder = tmp_path_factory.mktemp("faults")
    flow = FaultFlow.start(sandbox)
    changer = Changer(spark, folder.as_uri(), sandbox.connect.url, sandbox.target)
    yield Scene(flow, changer, flow.plan(changer, folder))
    sandbox.connect.delete(flow.name)


class Cell:
    """One step and one fault: makes the change, and looks at what has come of it."""

    def __init__(self, scene: Scene, step: str) -> None:
        self.scene, self.step = scene, step
        self.name = f"faults/{uuid4().hex}"
        scene.flow.wait_until_caught_up()
        self._written = scene.flow.written()

    def make(self, fault: Callable[[subprocess.Popen[str]], Fate]) -> Told:
        """Make the change with ``fault`` at the step."""
        started: list[subprocess.Popen[str]] = []
        gate = Gate(self.scene.flow.sandbox.connect.url, STEPS[self.step], lambda: fault(started[0]))
        with (
            open_gate(gate) as url,
            self.scene.flow.changing(self.scene.changer, self.scene.run, name=self.name, url=url) as process,
        ):
            started.append(process)
            ended = told(process)
        assert gate.reached.is_set(), "the fault never happened"
        return ended

    def again(self) -> Told:
        """Run the same task once more, with nothing in its way."""
        return self.scene.flow.change(self.scene.changer, self.scene.run, name=self.name)

    def delivered_again(self) -> int:
        """Wait until the sink has caught up, and count what it has written since the cell began."""
        self.scene.flow.wait_until_caught_up()
        return self.scene.flow.written() - self._written

    def is_in_order(self, ended: Told) -> None:
        """Applied means all of the plan, restored none of it; the connector runs either way."""
        again = self.delivered_again()
        if ended.ended == "applied":
            assert again == AGAIN
        else:
            assert ended.ended == "NotApplied", ended
            assert "prior offsets were put back" in ended.message
            assert again == 0


@pytest.mark.parametrize("step", STEPS)
def test_killed(scene: Scene, step: str) -> None:
    """SIGKILL of the process: the next attempt of the task ends in the plan applied, once."""
    cell = Cell(scene, step)

    def kill(process: subprocess.Popen[str]) -> Fate:
        process.kill()
        process.wait()
        return Fate.IS_LOST if STEPS[step].side is Side.BEFORE else Fate.PASSES

    assert cell.make(kill) == Told()

    assert cell.again().ended == "applied"
    assert cell.delivered_again() == AGAIN


@pytest.mark.faults
@pytest.mark.parametrize("step", STEPS)
def test_cleared(scene: Scene, step: str) -> None:
    """SIGTERM, as for a task that is cleared: it puts everything back, or had applied; the next attempt applies."""
    cell = Cell(scene, step)

    def end(process: subprocess.Popen[str]) -> Fate:
        process.terminate()
        return Fate.PASSES

    assert cell.make(end) == Told()

    assert cell.delivered_again() in {0, AGAIN}
    assert cell.again().ended == "applied"
    assert cell.delivered_again() == AGAIN


@pytest.mark.faults
@pytest.mark.parametrize("step", STEPS)
def test_lost(scene: Scene, step: str) -> None:
    """A request, or its answer, is lost: what stands is read back, and decides."""
    cell = Cell(scene, step)

    ended = cell.make(lambda _process: Fate.IS_LOST)

    cell.is_in_order(ended)


@pytest.mark.faults
@pytest.mark.parametrize(
    "step", [step for step, point in STEPS.items() if point.side is Side.BEFORE and point.method != "GET"]
)
def test_late(scene: Scene, step: str) -> None:
    """Connect says that the request timed out, and carries it out later."""
    cell = Cell(scene, step)

    ended = cell.make(lambda _process: Fate.COMES_LATE)

    cell.is_in_order(ended)


STILL = ["after the journal", "after alter", "before read-back"]


@pytest.mark.faults
def test_changed_before_the_offsets_are_read(scene: Scene) -> None:
    """Someone else moves a partition that the plan leaves alone: drift, and nothing is written."""
    cell = Cell(scene, "after stop")

    ended = cell.make(lambda _process: _move(scene.flow, 2, 5))

    assert ended.ended == "Drift"
    assert '"kafka_partition":2' in ended.message
    assert cell.delivered_again() == RECORDS - 5  # theirs


@pytest.mark.faults
@pytest.mark.parametrize("step", STILL)
def test_changed(scene: Scene, step: str) -> None:
    """The same later on: it stays STOPPED and names the partition; put right by hand, the next attempt applies."""
    cell = Cell(scene, step)

    ended = cell.make(lambda _process: _move(scene.flow, 2, 5))

    assert ended.ended == "LeftStopped"
    assert '"kafka_partition":2' in ended.message
    assert scene.flow.state() == "STOPPED"
    _move(scene.flow, 2, RECORDS)
    assert cell.again().ended == "applied"
    assert cell.delivered_again() == AGAIN


@pytest.mark.faults
@pytest.mark.parametrize("step", ["after stop", *STILL, "after read-back"])
def test_resumed(scene: Scene, step: str) -> None:
    """Someone else resumes it in the midst: either nothing was written, or it says that the offsets are nobody's."""
    cell = Cell(scene, step)

    def resume(_process: subprocess.Popen[str]) -> Fate:
        scene.flow.sandbox.connect.resume(scene.flow.name)
        return Fate.PASSES

    ended = cell.make(resume)

    again = cell.delivered_again()
    if ended.ended == "applied":
        assert again == AGAIN
    elif ended.ended == "Interfered":
        assert "someone else resumed the connector" in ended.message
        assert again in {0, AGAIN}
    else:
        assert (ended.ended, again) == ("NotApplied", 0), ended
    assert scene.flow.state() == "RUNNING"


@pytest.mark.faults
@pytest.mark.parametrize("step", [step for step in STEPS if step != "while resuming"])
def test_deleted(scene: Scene, sandbox: Sandbox, tmp_path: Path, step: str) -> None:
    """Someone else deletes it: the error names it, and nothing brings it back."""
    flow = FaultFlow.start(sandbox)
    own = Scene(flow, scene.changer, flow.plan(scene.changer, tmp_path))
    cell = Cell(own, step)

    def delete(_process: subprocess.Popen[str]) -> Fate:
        sandbox.connect.delete(flow.name)
        return Fate.PASSES

    ended = cell.make(delete)

    assert ended.ended in {"UnknownConnector", "LeftStopped", "NotApplied"}
    assert flow.name in ended.message
    assert flow.name not in sandbox.connect.connectors()


def _move(flow: FaultFlow, partition: int, position: int) -> Fate:
    where = {"kafka_topic": flow.topic, "kafka_partition": partition}
    flow.sandbox.connect.alter(flow.name, [{"partition": where, "offset": {"kafka_offset": position}}])
    return Fate.PASSES
