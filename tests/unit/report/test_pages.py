"""What pages show of flows and of connectors in snapshots."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

from airflow_provider_connect_offsets.report.charts.trend import PositionPoint, draw_positions
from airflow_provider_connect_offsets.report.pages.flows import flows_in, observes_flows
from airflow_provider_connect_offsets.report.pages.history import read_history
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import run_directory
from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory, history_root
from airflow_provider_connect_offsets.workspace.series import SnapshotSeries
from tests.support.rows.snapshots import NOW, At, Taken, keep_snapshot
from tests.support.rows.written_reports import readiness_summary


def test_the_newest_readiness_of_each_flow(tmp_path: Path) -> None:
    """Runs that have observed none, or have not come so far, are passed over."""
    workspace = tmp_path.as_uri()
    files.write_bytes(f"{history_root(workspace, dag_id='dag', flow='c-eu')}/1.parquet", b"")
    found = {"newest": ("eu->us", False), "broken": None, "else": ("ap->us", True), "earlier": ("eu->us", True)}
    for run_id, one in found.items():
        directory = ReadinessDirectory(run_directory(workspace, dag_id="dag", run_id=run_id).uri)
        if one is None:
            files.write_bytes(directory.summary, b"{")
            continue
        connector, ready = one
        summary = readiness_summary()
        summary["request"]["source_connector"], summary["ready"] = connector, ready
        files.write_json(directory.summary, summary)

    flows = flows_in(workspace, "dag", [*found, "not begun"], lambda run_id: f"/{run_id}")

    shown = [(one.connector, [(run.standing.headline, run.report) for run in one.runs]) for one in flows]
    assert shown == [
        ("eu->us", [("Not ready: 1 error", "/newest"), ("Ready", "/earlier")]),
        ("ap->us", [("Ready", "/else")]),
    ]
    assert [observes_flows(workspace, dag_id) for dag_id in ("dag", "another")] == [True, False]


def test_a_connector_that_came_and_went(tmp_path: Path) -> None:
    """In the snapshots that do not have it, it is not there; its partitions may differ from one to the next."""
    workspace = tmp_path.as_uri()
    taken = [
        Taken([], states={}),
        Taken([At(0, 10)], ends=(100,)),
        Taken([At(0, 15), At(1, 90)], ends=(100,)),
        Taken([], states={}),
    ]
    for day, one in enumerate(taken, 1):
        uri = keep_snapshot(workspace, "dag", one, at=f"2026-01-{day:02}T120000.000000Z")

    history = read_history(SnapshotSeries(uri.rpartition("/")[0]), "sink", most=30)

    assert [one.state for one in history.seen] == [None, "RUNNING", "RUNNING", None]
    assert [one.left for one in history.seen] == [None, 85, 90, None]
    assert history.moved() == [None, 5, None, None]
    assert history.is_known
    assert "orders 1" in (history.draw() or "")
    assert len(read_history(SnapshotSeries(uri.rpartition("/")[0]), "sink", most=2).seen) == 2


def test_positions_are_drawn_from_the_lowest() -> None:
    """Otherwise a move of a hundred at a position of a billion would be a flat line."""
    far = 1_000_000_000
    points = [PositionPoint(NOW + timedelta(hours=n), far + 100 * n, None) for n in range(3)]

    drawn = ET.fromstring(draw_positions({"orders 0": points}, name="p") or "")  # noqa: S314 - our own

    lines = [one.get("points", "").split() for one in drawn.iter("{http://www.w3.org/2000/svg}polyline")]
    [line] = (line for line in lines if len(line) == 3)
    heights = [float(point.split(",")[1]) for point in line]
    assert heights[0] - heights[2] > 30
    assert heights[1] == (heights[0] + heights[2]) / 2
    assert drawn.get("aria-label") == "Positions over time. orders 0: 1,000,000,200."
