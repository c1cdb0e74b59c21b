"""Series of kept snapshots: which one is compared with, which ones are removed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.exceptions import DatasetError, InvalidInput
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.series import SnapshotSeries, read_record
from airflow_provider_connect_offsets.workspace.snapshots import (
    FORMAT,
    ComparisonDirectory,
    SnapshotDirectory,
    SnapshotRecord,
    series_root,
)

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


class Daily:
    """A series with a snapshot a day."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.series = SnapshotSeries((path / "series").as_uri())

    def run(self, name: str) -> ComparisonDirectory:
        return ComparisonDirectory((self.path / name).as_uri())

    def take(self, run: str, day: int, *, complete: bool = True, version: int = FORMAT) -> str:
        """Take the snapshot of a day, by a run; returns its URI."""
        kept = self.series.begin(self.run(run), now=NOW + timedelta(days=day))
        files.write_bytes(f"{kept.uri}/connectors/part-00000.parquet", b"")
        if complete:
            record = SnapshotRecord(
                format=version,
                observed_at=NOW,
                connect_cluster="c",
                run=run,
                connectors=0,
                offsets=0,
                unread={},
                logs={},
                unread_logs={},
            )
            files.write_json(SnapshotDirectory(kept.uri).record, record.as_json())
        return kept.uri

    def previous(self, run: str) -> str | None:
        """Which one a run's snapshot is compared with."""
        document = files.read_json(self.run(run).kept)
        return None if document["previous"] is None else str(document["previous"])

    def left(self) -> list[str]:
        return [f"{self.series.uri}/{name}" for name in files.list_names(self.series.uri)]


@pytest.fixture
def daily(tmp_path: Path) -> Daily:
    return Daily(tmp_path)


def test_it_is_compared_with_the_newest_complete_one(daily: Daily) -> None:
    """Neither an incomplete one nor one of another format version is compared with."""
    first = daily.take("one", 0)
    daily.take("two", 1, complete=False)
    daily.take("three", 2, version=FORMAT + 1)

    daily.take("four", 3)

    assert (daily.previous("one"), daily.previous("four")) == (None, first)


def test_a_second_attempt_replaces_the_first(daily: Daily) -> None:
    """Or what changed between the run before and the first attempt would never be reported."""
    before = daily.take("one", 0)
    replaced = daily.take("two", 1)

    again = daily.take("two", 2)

    assert daily.previous("two") == before
    assert daily.left() == [before, again]
    assert replaced not in daily.left()


@pytest.mark.parametrize(("keep", "days", "left"), [(2, None, [3, 4]), (9, 1.5, [3, 4]), (9, 0, [4]), (0, None, [4])])
def test_old_ones_are_removed_by_number_and_age(daily: Daily, keep: int, days: float | None, left: list[int]) -> None:
    """The newest one always stays."""
    taken = [daily.take(str(day), day) for day in range(5)]
    now = NOW + timedelta(days=4)

    removed = daily.series.prune(keep=keep, since=None if days is None else now - timedelta(days=days), now=now)

    assert daily.left() == [taken[day] for day in left]
    assert sorted(removed) == [uri for uri in taken if uri not in daily.left()]


def test_what_a_dead_task_has_left_is_removed_after_a_day(daily: Daily) -> None:
    """It counts for nothing; what is younger may still be written, and what is named otherwise is not ours."""
    complete = daily.take("one", 0)
    daily.take("two", 1, complete=False)
    young = daily.take("three", 3, complete=False)
    files.write_bytes(f"{daily.series.uri}/notes.txt", b"")

    daily.series.prune(keep=1, since=None, now=NOW + timedelta(days=3, hours=1))

    assert daily.left() == [complete, young, f"{daily.series.uri}/notes.txt"]


def test_a_record_that_can_not_be_read_is_an_error(daily: Daily) -> None:
    """Another format version is named; a damaged or missing record is never taken for an empty snapshot."""
    newer = SnapshotDirectory(daily.take("one", 0, version=FORMAT + 1))
    damaged, missing = (
        SnapshotDirectory(daily.take("two", 1)),
        SnapshotDirectory(daily.take("three", 2, complete=False)),
    )
    files.write_json(damaged.record, {"format": FORMAT})

    with pytest.raises(
        InvalidInput, match=rf"of format {FORMAT + 1}, but this version of the provider reads only format"
    ):
        read_record(newer)
    with pytest.raises(DatasetError, match=r"snapshot\.json is damaged"):
        read_record(damaged)
    with pytest.raises(DatasetError, match=r"snapshot\.json does not exist"):
        read_record(missing)


def test_series_of_other_connectors_or_clusters_are_apart() -> None:
    """All connectors of a cluster have a plain name; each pattern and each connection a series of its own."""
    roots = {
        series_root("/w", dag_id="d", cluster=cluster, connect_conn_id=conn_id, connectors=pattern)
        for cluster in ("k1", "k2")
        for conn_id in ("a", "b")
        for pattern in (".*", "orders-.*")
    }

    assert len(roots) == 8
    assert "/w/d/_snapshots/k1-a" in roots
