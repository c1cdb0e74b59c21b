"""The translation of each group that a failover would make now, of either kind; equal to that of a failover."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.pipeline.failover import translate_job
from airflow_provider_connect_offsets.pipeline.flow import readiness_job
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import GROUP_READINESS, TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.paths import join
from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory
from tests.support.model.mirror_events import history
from tests.support.model.mirror_observations import flow_of, write_failover_observation, write_readiness_observation
from tests.support.model.mirror_rows import NOON
from tests.support.model.mirror_world import Ending, Mapped, Sync, World

pytestmark = pytest.mark.jobs

HISTORIES = 10
NOON_MS = int(NOON.timestamp() * 1000)
_ANSWER = ("downstream", "upper", "missing", "exact", "max_rereads", "method")
_NOTHING = (None, None, None, None, None, None)
Answers = dict[tuple[str, str], tuple[Any, ...]]


def looked(
    spark: SparkSession, path: Path, worlds: list[World], syncs_on: Side
) -> dict[tuple[str, str], dict[str, Any]]:
    """Dataset ``group_readiness`` of a readiness run on the worlds, by group and topic."""
    directory = ReadinessDirectory(join(path.as_uri(), "readiness"))
    write_readiness_observation(directory, worlds, flow_of(syncs_on))
    readiness_job.run(spark, directory)
    return {(row["group"], row["topic"]): row for row in read_dataset(directory.group_readiness, GROUP_READINESS)}


def failed_over(spark: SparkSession, path: Path, worlds: list[World], syncs_on: Side, *, planned: bool) -> Answers:
    """What a failover of the same worlds answers, by group and topic; unplanned by what the readiness run has kept."""
    directory = FailoverDirectory(join(path.as_uri(), f"failover-{planned}"))
    ledger = "" if planned else join(path.as_uri(), "readiness", "_history", "ledger")
    write_failover_observation(directory, worlds, flow_of(syncs_on), planned=planned, ledger=ledger)
    translate_job.run(spark, directory)
    rows = read_dataset(directory.translation, TRANSLATION)
    return {(row["group"], row["source_topic"]): (row["upstream"], *(row[n] for n in _ANSWER)) for row in rows}


def answers_of(rows: dict[tuple[str, str], dict[str, Any]], kind: str, position: str) -> Answers:
    """The answers of one kind, by group and topic; those that are not observed left out."""
    found = {key: (row[position], *(row[f"{kind}_{name}"] for name in _ANSWER)) for key, row in rows.items()}
    return {key: answer for key, answer in found.items() if answer[1:] != _NOTHING}


@pytest.mark.parametrize("syncs_on", Side)
def test_both_answers_are_those_of_a_failover(spark: SparkSession, tmp_path: Path, syncs_on: Side) -> None:
    """Whatever has happened, planned, and unplanned by the ledger that the readiness run itself keeps."""
    random = Random(3)
    worlds = [history(random, ending=Ending.BROKEN) for _ in range(HISTORIES)]

    rows = looked(spark, tmp_path, worlds, syncs_on)

    assert answers_of(rows, "planned", "position") == failed_over(spark, tmp_path, worlds, syncs_on, planned=True)
    unplanned = answers_of(rows, "unplanned", "unplanned_position")
    assert unplanned == failed_over(spark, tmp_path, worlds, syncs_on, planned=False)
    assert len(unplanned) == len(rows)


def test_what_a_failover_makes_of_the_ledger(spark: SparkSession, tmp_path: Path) -> None:
    """Only the ledger is left, and the syncs are gone: offsets are exact, and the summary says how old it is."""
    world = running()
    world.syncs.append(Sync(9, 9, 99))
    looked(spark, tmp_path, [world], Side.SOURCE)
    directory = FailoverDirectory(join(tmp_path.as_uri(), "failover"))
    ledger = join(tmp_path.as_uri(), "readiness", "_history", "ledger")
    write_failover_observation(directory, [world], flow_of(Side.SOURCE), planned=False, ledger=ledger, read=True)

    summary = translate_job.run(spark, directory)

    rows = read_dataset(directory.translation, TRANSLATION)
    found = {row["upstream"]: (row["downstream"], row["missing"], row["exact"], row["position_of"]) for row in rows}
    assert found == {
        **{at: (at, 0, True, "ledger") for at in range(11)},
        **dict.fromkeys((11, 12), (10, None, False, "ledger")),
    }
    assert (summary["by_ledger"], summary["positions_since"], summary["ledger_at"]) == (13, NOON_MS, NOON_MS)


def running() -> World:
    """A flow that runs: 12 records, of which 10 are replicated and 8 of them stored; syncs of 0, 5, and 8."""
    world = World(ending=Ending.BROKEN)
    world.produce(*range(8))
    world.flow.replicate()
    world.flow.restart()
    world.produce(8, 9, 10, 11)
    world.flow.replicate(2)
    world.checkpoints["reader"] = Mapped(7, 6)
    return world


def test_a_flow_that_runs(spark: SparkSession, tmp_path: Path) -> None:
    """By the syncs, up to the last one, behind which it may have been rewound; also by the ledger."""
    rows = looked(spark, tmp_path, [running()], Side.SOURCE)
    found = {int(group.removeprefix("g")): row for (group, _), row in rows.items()}

    planned = {at: tuple(row[f"planned_{name}"] for name in _ANSWER) for at, row in found.items()}
    assert planned == {
        0: (0, 10, None, False, 0, "bracket"),
        **{at: (at, 10, None, False, 1, "bracket") for at in range(1, 9)},
        **dict.fromkeys(range(9, 12), (9, 10, None, False, 1, "sync")),
        12: (9, 10, 0, False, 1, "end"),
    }
    assert {at for at, row in found.items() if row["planned_reason"]} == set()
    unplanned = {at: (row["unplanned_position"], row["unplanned_downstream"]) for at, row in found.items()}
    assert unplanned == {at: (at, min(at, 9)) for at in range(13)}
    assert (found[7]["checkpoint_downstream"], found[7]["checkpoint_rereads"]) == (6, 2)


def test_ready_for_which_failover(spark: SparkSession, tmp_path: Path) -> None:
    """Groups without a checkpoint are ready for the loss of the source too, as the ledger has their positions."""
    directory = ReadinessDirectory(tmp_path.as_uri())
    write_readiness_observation(directory, [running()], flow_of(Side.TARGET), thresholds={"min_coverage": 0.5})

    summary = readiness_job.run(spark, directory)

    counts = {name: summary[f"group_{name}"] for name in ("partitions", "planned", "unplanned", "covered")}
    assert counts == {"partitions": 13, "planned": 13, "unplanned": 13, "covered": 13}
    assert (summary["ready"], summary["ready_for"]) == (True, ["planned", "unplanned"])
    assert summary["rules"] == {"checkpoint_missing": 12}
