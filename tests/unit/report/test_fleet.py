"""The report of a fleet: sums, question, and the text in the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_connect_offsets.offsets.plan import plan_digest
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.report import (
    FleetChange,
    Pending,
    as_text,
    fleet_question,
    fleet_table,
    write_fleet_report,
)
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.outcome import Result
from tests.support.rows.written import begin, finding, mirror_row, request_for, rewound


@pytest.fixture
def fleet(tmp_path: Path) -> FleetDirectory:
    """Three connectors: one applied, one restored, one only planned."""
    directory = FleetDirectory(tmp_path.as_uri())
    for name, result in (("applied", Result.APPLIED), ("restored", Result.RESTORED), ("waiting", None)):
        written = rewound(folder(directory, name))
        if result is not None:
            written.outcome(result, f"What became of {name}.")
    directory.publish(["waiting", "restored", "applied"])
    return directory


def folder(fleet: FleetDirectory, name: str) -> Path:
    return Path(fleet.member(name).uri.removeprefix("file://"))


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
    uri = write_fleet_report(fleet, pending=Pending.NOT_BEGUN)

    html = Path(uri.removeprefix("file://")).read_text()
    positions = [html.index(f'href="connectors/{name}/report.html"') for name in ("restored", "waiting", "applied")]
    assert positions == sorted(positions)
    assert '<div class="banner bad"' in html
    for text in ("1 connector: Applied", "1 connector: Not begun", "1 connector: Restored", "What became of restored."):
        assert text in html


def test_an_approver_sees_every_connector(fleet: FleetDirectory) -> None:
    """It has the sums, the report, and the plans' digest."""
    markdown = fleet_question(FleetChange.read(fleet))

    assert markdown.startswith("Offsets of **3 connectors**: 3 of 6 partitions would be changed.")
    assert "| applied | 1 | 380 | 0 | 1 |" in markdown
    assert f"The full report: `{fleet.report}`" in markdown
    assert "Nothing has been stopped yet." in markdown


def test_the_log_has_a_table(fleet: FleetDirectory) -> None:
    """A shortened table says where the rest is."""
    text = as_text(fleet_table(FleetChange.read(fleet), limit=2))

    assert text.splitlines()[0] == "3 connectors"
    assert "restored" in text
    assert f"1 more in {fleet.report}" in text


def test_errors_are_listed_by_connector(tmp_path: Path) -> None:
    """The first error of each connector, or that it has no plan."""
    fleet = FleetDirectory(tmp_path.as_uri())
    begin(folder(fleet, "bare"), request_for("bare"))
    row = mirror_row(0, 100, 60)
    begin(folder(fleet, "wrong")).snapshot({}).plan([row], [finding(Severity.ERROR, "`flow`: no.", row)])
    fleet.publish(["bare", "wrong"])

    assert FleetChange.read(fleet).errors() == {"bare": "'bare' has no plan.", "wrong": "`flow`: no."}


def test_notes_are_in_question_and_report(fleet: FleetDirectory) -> None:
    """What is true of the fleet as a whole is said to who approves it and to who reads the report."""
    note = "1 connector no longer exists: `old`."
    fleet.publish(["applied", "restored", "waiting"], notes=[note])

    question = fleet_question(FleetChange.read(fleet))
    html = Path(write_fleet_report(fleet).removeprefix("file://")).read_text()

    assert "**Note**: 1 connector no longer exists: \\`old\\`." in question
    assert "1 connector no longer exists: <code>old</code>." in html
