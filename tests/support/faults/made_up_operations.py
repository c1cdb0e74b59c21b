"""Operations of a made-up world, as the door takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from airflow_provider_connect_offsets.exceptions import Drift
from airflow_provider_connect_offsets.saga import Explanation, Operation, Registry, Stage, operate
from airflow_provider_connect_offsets.saga.explanation import Settled
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Lease, Owner
from airflow_provider_connect_offsets.saga.record import SagaRecord
from airflow_provider_connect_offsets.saga.stage import Found, JsonMap, StageState
from airflow_provider_connect_offsets.workspace import files
from tests.support.faults.made_up_stages import (
    ALTER,
    LOOK,
    RESUME,
    STOP,
    Killed,
    MadeUpStage,
    PlainExplanation,
    World,
)

MINE, OTHER = Owner.here(run="dag/mine", task="apply"), Owner.here(run="dag/other", task="apply")
SCRIPT = (STOP, ALTER, RESUME, LOOK)


class Standing(MadeUpStage):
    """A stage whose result a test takes back."""

    def stands(self, captured: JsonMap) -> StageState:
        del captured
        if self.world.in_effect.get(self.name):
            return StageState(Found.DONE)
        return StageState(Found.FOREIGN, Drift(f"{self.name} was taken back."))


@dataclass
class MadeUpRegistry(Registry):
    """Rebuilds stages of the made-up world."""

    world: World

    def build(self, record: SagaRecord) -> list[Stage]:
        known = {one[0]: one for one in SCRIPT}
        if unknown := [one.title for one in record.stages if one.title not in known]:
            raise record.unknown(f"the stage {unknown[0]!r}")
        return [Standing(self.world, *known[one.title]) for one in record.stages]

    def refuse_protected(self, stages: Sequence[Stage]) -> None:
        del stages

    def explanation(self, record: SagaRecord) -> Explanation:
        del record
        return PlainExplanation()

    def describe(self, settled: Settled) -> str:
        return f"{settled.record.operation} was settled: {settled.record.state}"


def operation(world: World, journal: Journal, *, key: str = "key", stages: Any = None) -> Operation:
    script: list[Stage] = [Standing(world, *one) for one in SCRIPT]
    return Operation(
        journal,
        "a change",
        stages or (lambda _left: script),
        PlainExplanation(),
        MadeUpRegistry(world),
        key=key,
        stops=["stop x"],
    )


def die(world: World, journal: Journal, call: str, owner: Owner = MINE) -> None:
    """Let a run die at a call; its lease is over, as its process is gone."""
    world.begin_anew(call)
    with pytest.raises(Killed):
        operate(operation(world, journal), owner)
    world.dead, world.calls = False, []
    number = journal.newest_generation()
    files.write_json(journal.file(number, "lease"), Lease(owner, 1, 0).as_json())
