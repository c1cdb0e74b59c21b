"""Where things lie in a workspace."""

from __future__ import annotations

import pytest

from airflow_provider_connect_offsets.workspace.layout import join, journal_root, path_segment, run_directory


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("plain-1.x_y=z", "plain-1.x_y=z"),
        ("manual__2026-01-31T12:00:00+00:00", "manual__2026-01-31T12_00_00_00_00"),
        ("a/b\\c d", "a_b_c_d"),
        ("ä→\n", "___"),
    ],
)
def test_path_segments(name: str, segment: str) -> None:
    """Every name becomes one segment that all file systems take."""
    assert path_segment(name) == segment


def test_join() -> None:
    """One slash between segments, whatever was there."""
    assert join("s3://bucket/", "/a/", "b") == "s3://bucket/a/b"


def test_run_directory() -> None:
    """A run's datasets lie under the DAG and the run; parts of one run are kept apart."""
    run = run_directory("s3://bucket/offsets/", dag_id="change", run_id="manual__1:2")
    part = run_directory("s3://bucket/offsets", dag_id="change", run_id="manual__1:2", part="flow a")

    assert run.offset_plan == "s3://bucket/offsets/change/manual__1_2/offset_plan"
    assert part.uri == "s3://bucket/offsets/change/manual__1_2/flow_a"
    places = [getattr(run, name) for name in dir(type(run)) if isinstance(getattr(type(run), name), property)]
    assert len(set(places)) == len(places)
    assert all(place.startswith(run.uri + "/") for place in places)
    assert journal_root("s3://bucket/offsets") == "s3://bucket/offsets/_journal"
