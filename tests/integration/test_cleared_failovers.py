"""Real consumer groups of a failover whose run is cleared and run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_connect_offsets.kafka.groups import Committed
from sandbox import Sandbox
from tests.support.flows.made_up_failover import MadeUpFailover


@pytest.fixture
def made_up(sandbox: Sandbox, tmp_path: Path) -> MadeUpFailover:
    return MadeUpFailover.start(sandbox, tmp_path)


def test_a_run_that_is_cleared_is_restored_to_before_its_first_commit(made_up: MadeUpFailover) -> None:
    """A group that has read on between the commits is restored to where it had read to."""
    still, reading, settled = made_up.group("still"), made_up.group("reading"), made_up.group("settled")
    prior = {name: {made_up.at(0): Committed(3, "prior")} for name in (still, reading, settled)}
    made_up.commit_on_target(prior)
    made_up.commit(made_up.translate({name: {0: 30, 1: 10} for name in prior}))
    made_up.commit_on_target({reading: {made_up.at(0): Committed(35, "read on")}})

    made_up.commit(made_up.translate({still: {0: 40}, reading: {0: 40}}))
    made_up.restore()

    assert made_up.on_target(*prior) == {**prior, reading: {made_up.at(0): Committed(35, "read on")}}


def test_a_run_that_is_cleared_after_its_restore_starts_anew(made_up: MadeUpFailover) -> None:
    """What a group has read between the two counts as what stood there before, wherever that is."""
    name = made_up.group("again")
    made_up.commit(made_up.translate({name: {0: 30}}))
    made_up.restore()
    made_up.commit_on_target({name: {made_up.at(0): Committed(30, "read so far")}})

    made_up.commit(made_up.translate({name: {0: 45}}))
    made_up.restore()

    assert made_up.on_target(name) == {name: {made_up.at(0): Committed(30, "read so far")}}
