"""Runs that concern single records, with the longest names and largest numbers possible: a poison record, a replay."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from airflow_provider_connect_offsets.offsets.requests.replay import ReplayRequest
from airflow_provider_connect_offsets.report import PoisonedRecords, Replay
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.layout import PoisonDirectory, ReplayDirectory
from airflow_provider_connect_offsets.workspace.poison import PoisonOutcome, PoisonResult, SkippedPlace
from airflow_provider_connect_offsets.workspace.replay import DeliveredRange, ReplayOutcome, ReplayResult
from airflow_provider_connect_offsets.workspace.schemas import POISON_RECORDS, REPLAY_PLAN, VERDICTS

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
YESTERDAY = datetime(2026, 1, 30, 12, tzinfo=UTC)


def poison_report(path: Path, *, name: str, number: int) -> str:
    """A record that was skipped, whose key, value and error are one long word each."""
    directory = PoisonDirectory(path.as_uri())
    record = {
        "connector": name,
        "topic": name,
        "kafka_partition": 7,
        "offset": number,
        "written_at": YESTERDAY,
        "position": number,
        "way": "read",
        "why": "VALUE_CONVERTER",
        "message": "org.apache.kafka.connect.errors.DataException:" + "x" * 200,
        "key": b"k" * 300,
        "value": b"v" * 300,
        "headers": "[]",
        "key_size": 300,
        "value_size": 300,
        "headers_count": 0,
        "digest": "d" * 64,
        "kept_at": NOON,
    }
    write_dataset(f"{directory.poison_records}/000001", POISON_RECORDS, [record])
    message = f"Skipped 1 record of `{name}`: topic `{name}`, partition 7, offset {number}."
    skipped = (SkippedPlace(name, 7, number),)
    PoisonOutcome(name, PoisonResult.SKIPPED, message, skipped, NOON).write(directory.outcome)
    return PoisonedRecords.read(directory).write()


def replay_report(path: Path, *, name: str, number: int) -> str:
    """A replay that has delivered a day of a partition, with a verdict."""
    directory = ReplayDirectory(path.as_uri())
    request = ReplayRequest.parse(
        connector=name, run="dag/run", begins=YESTERDAY.isoformat(), ends=NOON.isoformat(), now=NOON
    )
    files.write_json(directory.request, request.as_json())
    counts = {"offsets": number, "partitions": 1, "left_out": 2, "verdicts": {"error": 0, "warning": 1, "info": 0}}
    files.write_json(directory.summary, {**counts, "digest": "d" * 64})
    planned = {
        "connector": name,
        "clone": request.clone,
        "family": "sink",
        "partition": "{}",
        "topic": name,
        "kafka_partition": 0,
        "begins": 0,
        "ends": number,
        "action": "replay",
        "reason": "",
    }
    write_dataset(directory.replay_plan, REPLAY_PLAN, [planned])
    message = f"`{name}`, partition 0: the first {number:,} records of the interval are deleted."
    verdict = {"rule": "expired", "severity": "warning", "connector": name, "partition": None, "message": message}
    write_dataset(directory.verdicts, VERDICTS, [verdict])
    ReplayOutcome(
        connector=name,
        clone=request.clone,
        run="dag/run",
        digest="d" * 64,
        result=ReplayResult.DELIVERED,
        message=f"`{request.clone}` has delivered {number:,} offsets.",
        started_at=YESTERDAY,
        finished_at=NOON,
        ranges=(DeliveredRange(name, 0, 0, number, number, 12),),
    ).write(directory.outcome)
    return Replay.read(directory).write()
