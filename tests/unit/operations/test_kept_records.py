"""The content of records on which sinks have failed: kept before they are skipped, and not for ever."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.kafka.topic_reader import FullRecord
from airflow_provider_connect_offsets.observe.failed_records import FailedRecord, Way
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.poison.kept_records import KeptRecords, forget_content
from airflow_provider_connect_offsets.workspace.layout import PoisonDirectory


@dataclass
class Runs:
    """The runs of one DAG."""

    folder: Path

    def keep(self, run: str, *offsets: int) -> KeptRecords:
        """Keep records of a run, one after the other."""
        kept = KeptRecords(PoisonDirectory((self.folder / run).as_uri()), "sink")
        for offset in offsets:
            record = FullRecord(TopicPartition("t", 0), offset, 0, b"ada", b"of personal interest")
            kept.add([FailedRecord(record, offset, passed=0, way=Way.READ, why="VALUE_CONVERTER", message="at ada")])
        return kept

    def holds(self, text: str) -> bool:
        """Whether a file holds it; Parquet's of a few rows are not compressed beyond recognition."""
        return any(text.encode() in path.read_bytes() for path in self.folder.rglob("*.parquet"))


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def forget(runs: Runs, *, after: timedelta) -> list[str]:
    """Forget what was kept so long ago."""
    forgotten = forget_content(runs.folder.as_uri(), before=datetime.now(tz=UTC) - after)
    return [one.uri.removeprefix(runs.folder.as_uri()) for one in forgotten]


def test_content_is_forgotten_and_what_proves_the_skip_stays(runs: Runs) -> None:
    """All datasets of a run and of its parts are covered; each is forgotten once."""
    kept, part = runs.keep("run-1", 3, 5), runs.keep("run-2/part", 8)
    assert runs.holds("of personal interest")

    assert forget(runs, after=timedelta(0)) == ["/run-1", "/run-2/part"]

    assert not runs.holds("of personal interest")
    assert not runs.holds("ada")
    assert [(row["offset"], row["value_size"], row["value"], row["message"]) for row in kept.rows()] == [
        (3, 20, None, None),
        (5, 20, None, None),
    ]
    assert [len(row["digest"]) > 0 for row in part.rows()] == [True]
    assert kept.read_found() == kept.read_found()
    assert forget(runs, after=timedelta(0)) == []


def test_what_a_dead_process_left_is_forgotten_by_the_next(runs: Runs) -> None:
    """It had cleared the newest dataset; earlier ones, and the report, still had the content."""
    runs.keep("run-1", 3, 5)
    next(forget_content(runs.folder.as_uri(), before=datetime.now(tz=UTC)))
    assert runs.holds("of personal interest")

    assert forget(runs, after=timedelta(0)) == ["/run-1"]
    assert not runs.holds("of personal interest")


def test_content_is_kept_for_its_time(runs: Runs) -> None:
    """What a run kept an hour ago stays for a day."""
    runs.keep("run-1", 3)

    assert forget(runs, after=timedelta(days=1)) == []
    assert runs.holds("of personal interest")


def test_a_dag_without_runs_has_nothing_to_forget(runs: Runs) -> None:
    """The same holds if its runs have kept nothing."""
    (runs.folder / "run-1" / "other").mkdir(parents=True)

    assert forget(runs, after=timedelta(0)) == []
