"""The report of a fleet: sums, question, and the text in the log."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import fsspec
import pytest

from airflow_provider_connect_offsets.offsets.plan import plan_digest
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Severity, Verdict
from airflow_provider_connect_offsets.report import (
    FleetChange,
    Pending,
    as_text,
)
from airflow_provider_connect_offsets.report.question import prose_line
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.outcome import Result
from airflow_provider_connect_offsets.workspace.schemas import VERDICTS
from tests.support.rows.written import rewound_fleet

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def fleet(tmp_path: Path) -> FleetDirectory:
    """Three connectors: one applied, one restored, one only planned."""
    members = rewound_fleet(tmp_path, ["waiting", "restored", "applied"])
    for name, result in (("applied", Result.APPLIED), ("restored", Result.RESTORED)):
        members[name].outcome(result, f"What became of {name}.")
    return FleetDirectory(tmp_path.as_uri())


def test_what_is_read_grows_by_three_small_files_a_connector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Datasets have the rows of all connectors, and are read once."""
    locate, seen = files.locate, Counter[str]()

    def counted(uri: str) -> tuple[fsspec.AbstractFileSystem, str]:
        seen[uri] += 1
        return locate(uri)

    monkeypatch.setattr(files, "locate", counted)
    numbers = {}
    for count in (2, 12):
        rewound_fleet(tmp_path / str(count), [f"connector-{number}" for number in range(count)])
        seen.clear()
        FleetChange.read(FleetDirectory((tmp_path / str(count)).as_uri()))
        numbers[count] = seen.total()

    assert numbers[12] - numbers[2] == 10 * 3  # request, summary and outcome


def test_it_sums_up_and_has_one_digest(fleet: FleetDirectory) -> None:
    """The digest covers all plans."""
    change = FleetChange.read(fleet)

    assert change.sums() == {
        "connectors": 3,
        "partitions": 6,
        "changed": 3,
        "records_again": 1140,
        "records_skipped": 0,
        "warnings": 3,
    }
    digests = [one.summary.digest for one in change.members.values() if one.summary]
    assert change.digest == plan_digest(reversed(digests))
    assert change.errors() == {}


def test_the_report_is_worst_first_and_links_to_each(fleet: FleetDirectory) -> None:
    """A change that was not begun never looks like success."""
    uri = FleetChange.read(fleet, pending=Pending.NOT_BEGUN).write()

    html = Path(uri.removeprefix("file://")).read_text()
    positions = [html.index(f'href="by_connector/{name}/report.html"') for name in ("restored", "waiting", "applied")]
    assert positions == sorted(positions)
    assert '<div class="banner bad"' in html
    for text in ("1 connector: Applied", "1 connector: Not begun", "1 connector: Restored", "What became of restored."):
        assert text in html


def test_an_approver_sees_every_connector(fleet: FleetDirectory) -> None:
    """It has the sums, the report, and the plans' digest."""
    markdown = FleetChange.read(fleet).question()

    assert markdown.startswith("Offsets of **3 connectors**: 3 of 6 partitions would be changed.")
    assert "| applied | 1 | 380 | 0 | 1 |" in markdown
    assert f"The full report: `{fleet.report}`" in markdown
    assert "Nothing has been stopped yet." in markdown


def test_what_was_requested_is_said_once_if_it_is_the_same(fleet: FleetDirectory) -> None:
    """Else the commonest requests are counted, in the question and in the report."""
    change = FleetChange.read(fleet)
    [requested] = change.requests
    assert "each connector" in requested
    assert prose_line(requested) in change.question()
    change.write()
    assert '<p class="request">' in (files.read_bytes(fleet.report) or b"").decode()

    others = [Request.parse(connector=str(number), to="shift", value=str(number), now=NOON) for number in range(1, 8)]
    members = {one.connector: replace(change.members["waiting"], request=one) for one in others}
    [first, *_, last] = FleetChange(fleet, {**change.members, **members}).requests
    assert first == f"3 connectors: {requested}"
    assert last == "3 connectors: other requests."


def test_the_log_has_a_table(fleet: FleetDirectory) -> None:
    """A shortened table says where the rest is."""
    text = as_text(FleetChange.read(fleet).table(limit=2))

    assert text.splitlines()[0] == "3 connectors"
    assert "restored" in text
    assert f"1 more in {fleet.report}" in text


def test_errors_are_listed_by_connector(tmp_path: Path) -> None:
    """The first error of each connector, or that it has no plan."""
    fleet = FleetDirectory(tmp_path.as_uri())
    members = rewound_fleet(tmp_path, ["bare", "wrong", "sound"])
    error = Verdict("rewind", Severity.ERROR, "wrong", None, "`wrong`: no.")
    write_dataset(fleet.verdicts, VERDICTS, [asdict(error)])
    files.remove_tree(members["bare"].run.summary)

    assert FleetChange.read(fleet).errors() == {"bare": "'bare' has no plan.", "wrong": "`wrong`: no."}


def test_notes_are_in_question_and_report(fleet: FleetDirectory) -> None:
    """What is true of the fleet as a whole is said to who approves it and to who reads the report."""
    note = "1 connector no longer exists: `old`."
    fleet.publish(["applied", "restored", "waiting"], notes=[note])

    question = FleetChange.read(fleet).question()
    html = Path(FleetChange.read(fleet).write().removeprefix("file://")).read_text()

    assert "**Note**: 1 connector no longer exists: \\`old\\`." in question
    assert "1 connector no longer exists: <code>old</code>." in html
