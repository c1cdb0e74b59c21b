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
from tests.support.rows.written import asking, begin, finding, mirror_row, rewound


@pytest.fixture
def fleet(tmp_path: Path) -> FleetDirectory:
    """Three connectors: one was applied, one put back, of one nothing is known but the plan."""
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
    """Of all the plans; another plan makes another digest."""
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


def test_the_page_is_worst_first_and_links_to_each(fleet: FleetDirectory) -> None:
    """What was not begun never looks like success."""
    uri = write_fleet_report(fleet, pending=Pending.NOT_BEGUN)

    page = Path(uri.removeprefix("file://")).read_text()
    places = [page.index(f'href="connectors/{name}/report.html"') for name in ("restored", "waiting", "applied")]
    assert places == sorted(places)
    assert '<div class="banner bad"' in page
    for text in ("1 connector: Applied", "1 connector: Not begun", "1 connector: Restored", "What became of restored."):
        assert text in page


def test_an_approver_sees_every_connector(fleet: FleetDirectory) -> None:
    """Its numbers, the page, and which plans they are."""
    asked = fleet_question(FleetChange.read(fleet))

    assert asked.startswith("Offsets of **3 connectors**: 3 of 6 partitions would be changed.")
    assert "| applied | 1 | 380 | 0 | 1 |" in asked
    assert f"The full report: `{fleet.report}`" in asked
    assert "Nothing has been stopped yet." in asked


def test_the_log_has_a_table(fleet: FleetDirectory) -> None:
    """Cut where there are many, and it says where the rest is."""
    text = as_text(fleet_table(FleetChange.read(fleet), limit=2))

    assert text.splitlines()[0] == "3 connectors"
    assert "restored" in text
    assert f"1 more in {fleet.report}" in text


def test_errors_are_told_by_connector(tmp_path: Path) -> None:
    """The first one of each, and where there is no plan at all."""
    fleet = FleetDirectory(tmp_path.as_uri())
    begin(folder(fleet, "bare"), asking("bare"))
    row = mirror_row(0, 100, 60)
    begin(folder(fleet, "wrong")).snapshot({}).plan([row], [finding(Severity.ERROR, "`flow`: no.", row)])
    fleet.publish(["bare", "wrong"])

    assert FleetChange.read(fleet).errors() == {"bare": "'bare' has no plan.", "wrong": "`flow`: no."}
