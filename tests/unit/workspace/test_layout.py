"""Directories of a workspace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from posixpath import normpath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import (
    MemberPath,
    RunDirectory,
    SharedPath,
    journal_root,
    rewinds_root,
    run_directory,
)
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment
from airflow_provider_connect_offsets.workspace.readiness import history_root

NAMES = st.text(min_size=1) | st.text("./_-ab", min_size=1) | st.text("a", min_size=190, max_size=300)


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("plain-1.x_y=z", "plain-1.x_y=z"),
        ("manual__2026-01-31T12:00:00+00:00", "manual__2026-01-31T12_00_00_00_00-cce451e44932"),
        ("a/b\\c d", "a_b_c_d-d43012b60446"),
        ("ä→\n", "___-18267194a60a"),
        ("..", "..-5ec1f7e700f3"),
    ],
)
def test_segments_can_be_read(name: str, segment: str) -> None:
    """A plain name is its own segment; any other is cleaned and followed by a hash."""
    assert unique_segment(name) == segment


@given(first=NAMES, second=NAMES)
@example(first="a:b", second="a+b")
@example(first="a:b", second=unique_segment("a:b"))
@example(first="x" * 300, second="x" * 301)
@example(first="\ud800", second="\udfff")
def test_distinct_names_get_distinct_segments(first: str, second: str) -> None:
    """No two names share a segment, even if one is spelled like the other's segment."""
    assert (unique_segment(first) == unique_segment(second)) == (first == second)


@given(dag_id=NAMES, run_id=NAMES, part=NAMES)
@example(dag_id="..", run_id="..", part="..")
@example(dag_id=".", run_id="..", part="/")
@example(dag_id="_journal", run_id="_history", part="connectors")
def test_every_directory_lies_inside_of_its_workspace(dag_id: str, run_id: str, part: str) -> None:
    """With any name of a run, its directory is below the workspace and none of the fixed ones."""
    path = run_directory("/workspace", dag_id=dag_id, run_id=run_id, part=part).uri

    assert normpath(path) == path
    assert len(path.split("/")) == len(["", "workspace", "dag", "run", "part"])
    assert all(len(segment) <= 200 for segment in path.split("/"))
    assert not path.startswith((f"{journal_root('/workspace')}/", "/workspace/_mirror/"))
    assert not path.startswith(history_root("/workspace", dag_id=dag_id, flow=""))


@given(cluster=NAMES, connector=NAMES)
@example(cluster="..", connector="..")
def test_what_is_kept_of_a_connector_lies_inside_of_the_workspace(cluster: str, connector: str) -> None:
    """No connector's name leads out of the common directory."""
    path = rewinds_root("/workspace", cluster=cluster, connector=connector)

    assert normpath(path) == path
    assert len(path.split("/")) == len(["", "workspace", "_mirror", "cluster", "connector", "rewinds"])


def test_a_name_longer_than_a_file_name_can_be_written(tmp_path: Path) -> None:
    """Connect and Airflow allow names that are too long for files."""
    name = "c" * 300
    uri = join(tmp_path.as_uri(), unique_segment(name), f"{unique_segment(name)}.json")

    files.write_json(uri, {"name": name})

    assert files.read_json(uri) == {"name": name}


def test_join() -> None:
    """There is one slash between segments, however many there were."""
    assert join("s3://bucket/", "/a/", "b") == "s3://bucket/a/b"


def test_run_directory() -> None:
    """A run's datasets are below the DAG and the run; parts of one run have own directories."""
    run = run_directory("s3://bucket/offsets/", dag_id="change", run_id="manual__1:2")
    part = run_directory("s3://bucket/offsets", dag_id="change", run_id="manual__1:2", part="flow a")

    segment = unique_segment("manual__1:2")
    assert run.offset_plan == f"s3://bucket/offsets/change/{segment}/offset_plan"
    assert part.uri == f"s3://bucket/offsets/change/{segment}/{unique_segment('flow a')}"
    attributes = {name: value for kind in RunDirectory.__mro__ for name, value in vars(kind).items()}
    uris = [getattr(run, name) for name, value in attributes.items() if isinstance(value, MemberPath | SharedPath)]
    assert len(set(uris)) == len(uris) == 13
    assert all(uri.startswith(run.uri + "/") for uri in uris)
    shared = [getattr(replace(run, shared="s3://fleet"), n) for n, v in attributes.items() if isinstance(v, SharedPath)]
    assert all(uri.startswith("s3://fleet/") for uri in shared)
    assert run.of("orders") == {}
    assert replace(run, shared="s3://fleet").of("orders") == {"connector": ("orders",)}
    assert journal_root("s3://bucket/offsets") == "s3://bucket/offsets/_journal"
