"""The executor on made-up stages: killed, failed or interrupted at every call."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.exceptions import (
    ConnectOffsetsError,
    NotApplied,
    NotRunning,
    StoreError,
)
from airflow_provider_connect_offsets.saga import Executor, Toward
from airflow_provider_connect_offsets.saga.explanation import Explanation
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.record import SagaState
from tests.support.faults.made_up_stages import (
    CELLS,
    OWNER,
    SCRIPTS,
    Killed,
    MadeUpStage,
    World,
    assert_whole,
    attempt,
    made,
    moments,
    settle,
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_everything_is_made_in_order_and_observed_before_the_resume(
    world: World, journal: Journal, script: str
) -> None:
    """Right before the pivot and before the resume, all finished stages are observed once more."""
    settled = attempt(world, journal, script)

    assert_whole(world, script, settled.record.state)
    assert settled.warnings == tuple(f"{title} {subject} was made" for title, subject, *_rest in SCRIPTS[script])
    before = made(script)[: made(script).index("resume x")]
    looks = world.calls[: world.calls.index("capture resume x")]
    assert looks[-len(before) :] == [f"find {name}" for name in before]


@pytest.mark.parametrize(("script", "call"), CELLS)
def test_killed(world: World, tmp_path: Path, script: str, call: str) -> None:
    """Any process may be killed at any call, even one that settles; the process after that ends the saga for good."""
    settling = [f"{kind} {title}" for kind, title in product(("find", "before", "after", "undo"), made(script))]
    ways = list(product(Toward, Toward))
    for number, second in enumerate(["none", *settling]):
        first, last = ways[(number + CELLS.index((script, call))) % len(ways)]
        journal = Journal((tmp_path / str(number)).as_uri(), cluster="c", resource="x")
        world.begin_anew(call)
        with pytest.raises(Killed):
            attempt(world, journal, script)
        world.faults = {second: world.die}
        with suppress(Killed):
            assert_whole(world, script, settle(world, journal, script, first))
        world.faults = {}

        assert_whole(world, script, settle(world, journal, script, last))


@pytest.mark.parametrize(("script", "call"), CELLS)
def test_failed(world: World, journal: Journal, script: str, call: str) -> None:
    """What can be undone is undone; past the pivot or the resume the operation continues, or stays unfinished."""

    def fail() -> None:
        raise StoreError(f"no answer to {call}")

    world.faults[call] = fail
    if call == "after empty topic":
        settled = attempt(world, journal, script)
        assert f"no answer to {call} Nevertheless, this step was completed." in settled.warnings
        assert_whole(world, script, settled.record.state)
        return
    with pytest.raises(ConnectOffsetsError, match=f"no answer to {call}") as raised:
        attempt(world, journal, script)

    calls = moments(script)
    # The last call that can be taken back: to the pivot where there is one, else to the resume.
    last = "before empty topic" if "before empty topic" in calls else "capture resume x"
    if calls.index(call) <= calls.index(last):
        assert raised.type is NotApplied
        assert_whole(world, script, SagaState.UNDONE)
    else:
        assert raised.type is StoreError
        assert str(raised.value) == f"unresumed: no answer to {call}"
        assert_whole(world, script, settle(world, journal, script, Toward.FORWARD))
        assert world.in_effect["resume x"]


@pytest.mark.parametrize(("script", "call"), CELLS)
def test_interrupted(world: World, journal: Journal, script: str, call: str) -> None:
    """Airflow ends tasks so: the saga is undone first, or left to the next process, and the interruption is raised."""

    def interrupt() -> None:
        raise SystemExit(143)

    world.faults[call] = interrupt
    with pytest.raises(SystemExit):
        attempt(world, journal, script)

    assert_whole(world, script, settle(world, journal, script, Toward.FORWARD))


def test_an_error_that_needs_no_explanation_is_not_its_own_cause(world: World, journal: Journal) -> None:
    """A log that follows causes would never come to an end."""

    def fail() -> None:
        raise StoreError("no answer")

    world.faults["after look x"] = fail
    with journal.claim(OWNER) as entry:
        stages = [MadeUpStage(world, *one) for one in SCRIPTS["plain"]]
        entry.begin(OWNER, operation="a change", key="key", stages=stages)
        with pytest.raises(StoreError, match="no answer") as raised:
            Executor(entry, stages, Explanation()).run()

    assert raised.value.__cause__ is None


def test_a_connector_that_does_not_resume_does_not_prevent_others(world: World, journal: Journal) -> None:
    """All was made, so the saga is done; the error names the connector that does not run."""

    def fail() -> None:
        raise NotRunning("x has failed")

    world.faults["after resume x"] = fail
    with pytest.raises(NotRunning, match="x has failed"):
        attempt(world, journal, "two connectors")

    assert world.in_effect["resume y"]
    with journal.claim(OWNER) as entry:
        assert entry.record.state is SagaState.CLAIMED, "nothing is left to be done"
