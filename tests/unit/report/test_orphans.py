"""The report of orphaned offsets: what was found, its question, and what was removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_connect_offsets.report import Orphans, Pending, as_text
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory
from tests.support.rows.unfolded import unfolded
from tests.support.rows.written import orphaned

BACK = "it exists again"


@pytest.fixture
def directory(tmp_path: Path) -> OrphansDirectory:
    return orphaned(tmp_path)


def page_of(directory: OrphansDirectory, pending: Pending | None = None) -> str:
    return Path(Orphans.read(directory, pending=pending).write().removeprefix("file://")).read_text()


def test_the_question(directory: OrphansDirectory) -> None:
    """It has a row for each connector, escaped names, the effect, and says that nothing has happened yet."""
    markdown = Orphans.read(directory).question()

    assert "Topic connect-offsets has **4 offsets** (2.1 KiB) of **2 deleted connectors**." in markdown
    example = "/data/in.txt"
    assert (
        f'| files-old | 3 | 2025-11-02 08:00:00 UTC | 2.0 KiB | \\{{"filename":"{example}"\\}} → \\{{"position":8\\}} |'
    ) in markdown
    assert "größe \\<b\\>\\|x" in markdown
    assert "9" * 101 not in markdown
    assert "starts from the beginning" in markdown
    assert "Nothing has been removed yet." in markdown
    assert "Check this first" not in markdown


def test_a_topic_that_may_be_of_another_cluster(tmp_path: Path) -> None:
    """If no connector of the cluster has an offset in the topic, report, table and question warn."""
    directory = orphaned(tmp_path, existing=0)

    for text in (
        Orphans.read(directory).question(),
        as_text(Orphans.read(directory).table()),
        page_of(directory),
    ):
        assert "No connector of this Connect cluster has an offset in" in text


def test_the_table_for_the_log(directory: OrphansDirectory) -> None:
    """A shortened table says where the rest is."""
    text = as_text(Orphans.read(directory).table(limit=1))

    assert "Offsets of 2 deleted connectors in connect-offsets" in text
    assert "files-old" in text
    assert f"1 more in {directory.orphans}" in text


@pytest.mark.parametrize(
    ("pending", "headline"),
    [
        (None, "Found, not removed"),
        (Pending.DRY_RUN, "Found, not removed"),
        (Pending.APPROVAL, "Waiting for approval"),
        (Pending.REJECTED, "Rejected: nothing was removed"),
    ],
)
def test_a_page_before_the_removal(directory: OrphansDirectory, pending: Pending | None, headline: str) -> None:
    """It has the banner and escaped names."""
    page = page_of(directory, pending)

    assert f'<p class="headline">{headline}</p>' in page
    assert "größe &lt;b&gt;|x" in page
    assert ("90 days ago" in page, "40 minutes ago" in page) == (True, True)


def test_a_page_after_the_removal(directory: OrphansDirectory) -> None:
    """Connectors left alone come first, with the reason."""
    digest = files.read_json(directory.summary)["digest"]
    outcome = {
        "digest": digest,
        "removed": ["files-old"],
        "partitions": 3,
        "left": {},
        "finished_at": "2026-01-31T12:01:00+00:00",
    }
    files.write_json(directory.outcome, outcome)
    assert '<p class="headline">Removed</p>' in page_of(directory)

    files.write_json(directory.outcome, {**outcome, "left": {"größe <b>|x": BACK}})
    page = page_of(directory)

    assert "Not removed: offsets of 1 connector" in page
    files.write_json(directory.outcome, {**outcome, "digest": "of an earlier search"})
    assert "Found, not removed" in page_of(directory)
    assert page.index(BACK) < page.index(">removed<")


def test_how_to_undo_is_seen_without_a_click(directory: OrphansDirectory) -> None:
    """The report has the URI that the form of a change asks for, unless nothing was removed."""
    digest = files.read_json(directory.summary)["digest"]
    outcome = {"digest": digest, "partitions": 3, "left": {}, "finished_at": "2026-01-31T12:01:00+00:00"}

    files.write_json(directory.outcome, {**outcome, "removed": ["files-old"]})
    assert f"<code>value</code>: <code>{directory.removed}</code>" in unfolded(page_of(directory))
    files.write_json(directory.outcome, {**outcome, "removed": [], "left": {"files-old": BACK}})
    assert "To undo it" not in page_of(directory)


def test_nothing_found(directory: OrphansDirectory) -> None:
    """A search without a result is a good one."""
    files.write_json(
        directory.summary,
        {**files.read_json(directory.summary), "orphaned": 0, "partitions": 0, "existing": 0, "connectors": []},
    )

    assert "Nothing is orphaned" in page_of(directory)
