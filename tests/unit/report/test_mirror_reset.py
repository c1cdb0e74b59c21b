"""The report of a flow's reset: its question, and what it shows besides offsets."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.report import Pending, Reset, as_text
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from airflow_provider_connect_offsets.workspace.outcome import Result
from tests.support.rows.written import begin
from tests.support.rows.written_reports import planned_reset

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def run(tmp_path: Path) -> ResetDirectory:
    """A planned reset of topic ``flights``, with a topic of another flow in the syncs."""
    return planned_reset(tmp_path)


def page_of(run: ResetDirectory, pending: Pending | None = None) -> str:
    return Path(Reset.read(run, pending=pending).write().removeprefix("file://")).read_text()


def test_the_question(run: ResetDirectory) -> None:
    """Duplicates and deletions come first; then the topics, then the offsets."""
    markdown = Reset.read(run).question()

    assert markdown.startswith(
        "**300** records would be duplicated on the target. `flow` and `check` would be stopped,"
    )
    assert (
        "`mm2-offset-syncs.target.internal` on the source and `source.checkpoints.internal` on the target emptied: "
        "**12 syncs** and 4 checkpoints would be deleted and can't be restored." in markdown
    )
    assert "| flights | reset | 380 | 300 | 11 | 2026-01-31 12:00:00 UTC |" in markdown
    assert markdown.index("not of this flow") < markdown.index("| flights")
    assert r"| \<b\>\* | not of this flow |" in markdown
    assert "| flights · 0 | 0 to 600 | 500 | 120 | 380 again |" in markdown
    assert "Nothing has been stopped yet." in markdown


def test_the_page(run: ResetDirectory) -> None:
    """It has the offsets, the facts of the flow, and escaped names."""
    page = page_of(run, Pending.APPROVAL)

    for shown in ("Waiting for approval", "Topic by topic", "300 predicted", "&lt;b&gt;*", "12 records"):
        assert shown in page
    assert "<code>check</code>, stopped during the reset" in page
    assert "<code>mm2-offset-syncs.target.internal</code> on the source, emptied" in page
    assert "Prior positions on both clusters" not in page
    written = begin(Path(run.uri.removeprefix("file://")))
    files.read_json(run.summary)
    written.outcome(Result.APPLIED, digest=files.read_json(run.summary)["digest"])
    assert "Prior positions on both clusters" in page_of(run)


def test_the_table(run: ResetDirectory) -> None:
    """A shortened table says how many rows it leaves out."""
    text = as_text(Reset.read(run).table(limit=1))

    assert "Reset of the flow of flow" in text
    assert "not of this flow" in text
    assert "flights" not in text.replace("flights-", "")
    assert "1 more in" in text
