"""Which directories are snapshots that can be restored: anything else is refused in a sentence."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.operations.snapshot_restore import StoredSnapshot, read_snapshot
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.schemas import CONNECTOR_OFFSETS, CONNECTORS
from airflow_provider_connect_offsets.workspace.snapshots import (
    FORMAT,
    ComparisonDirectory,
    KeptSnapshot,
    SnapshotDirectory,
    SnapshotRecord,
)

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
COMMON = {"connect_cluster": "c", "connector": "a", "connector_type": "sink", "family": "sink", "observed_at": NOW}


@pytest.fixture
def snapshot(tmp_path: Path) -> SnapshotDirectory:
    """A kept snapshot of one connector with two partitions, one without an offset."""
    directory = SnapshotDirectory((tmp_path / "kept").as_uri())
    connector = {**COMMON, "connector_class": "S", "state": "RUNNING", "tasks": "[]", "config": "{}"}
    write_dataset(directory.connectors, CONNECTORS, [connector])
    rows = [{**COMMON, "partition": name, "origin": "rest", "offset": at} for name, at in (("p", "o"), ("q", None))]
    write_dataset(directory.connector_offsets, CONNECTOR_OFFSETS, rows)
    record = SnapshotRecord(
        format=FORMAT,
        observed_at=NOW,
        connect_cluster="c",
        run="dag/run",
        connectors=1,
        offsets=2,
        unread={"b": "why"},
        logs={},
        unread_logs={},
    )
    files.write_json(directory.record, record.as_json())
    return directory


def read(uri: str) -> StoredSnapshot:
    found = read_snapshot(uri)
    assert (found.cluster, list(found.connectors), found.offsets) == ("c", ["a"], {"a": {"p": "o"}})
    return found


def test_a_kept_snapshot_its_run_and_a_run_of_a_change(snapshot: SnapshotDirectory, tmp_path: Path) -> None:
    """Each of them has the offsets of its connectors, and of those alone."""
    run = ComparisonDirectory((tmp_path / "run").as_uri())
    files.write_json(run.kept, KeptSnapshot("series", snapshot.uri, None).as_json())

    assert read(f"{snapshot.uri}/") == read(run.uri)
    assert read(snapshot.uri).unread == ("b",)

    files.remove_tree(snapshot.record)
    files.write_json(snapshot.request, {})  # as the run of a change has one

    assert read(snapshot.uri).unread == ()

    files.remove_tree(snapshot.request)
    FleetDirectory(snapshot.uri).publish(["a"])  # as the run of a fleet has one

    assert read(snapshot.uri).unread == ()


def incomplete(snapshot: SnapshotDirectory) -> None:
    files.remove_tree(snapshot.record)


def of_another_format(snapshot: SnapshotDirectory) -> None:
    files.write_json(snapshot.record, {"format": 0})


def without_a_dataset(snapshot: SnapshotDirectory) -> None:
    files.remove_tree(snapshot.connector_offsets)


def without_a_part(snapshot: SnapshotDirectory) -> None:
    files.remove_tree(f"{snapshot.connector_offsets}/part-00000.parquet")


def cut_off(snapshot: SnapshotDirectory) -> None:
    files.write_bytes(f"{snapshot.connectors}/part-00000.parquet", b"PAR1")


def gone(snapshot: SnapshotDirectory) -> None:
    files.remove_tree(snapshot.uri)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (incomplete, "has no complete snapshot"),
        (of_another_format, f"is a snapshot of format 0, but this version of the provider reads only format {FORMAT}"),
        (without_a_dataset, "the dataset connector_offsets at .* does not exist"),
        (without_a_part, "is damaged. It has 0 offsets of 1 connector, but was written with 2 of 1"),
        (cut_off, "is not a valid file of a dataset connectors"),
        (gone, "has no complete snapshot"),
    ],
)
def test_anything_else_is_refused(snapshot: SnapshotDirectory, harm: object, message: str) -> None:
    """A part of a snapshot never passes for all of it: what it lacks would look as if it had had no offset."""
    assert callable(harm)
    harm(snapshot)

    with pytest.raises(ConnectOffsetsError, match=message):
        read_snapshot(snapshot.uri)
