"""Tables for consoles and logs, as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.report import (
    Change,
    as_text,
    offsets_table,
    outcome_line,
    plan_table,
    verdict_table,
)
from airflow_provider_connect_offsets.workspace.outcome import Result
from tests.support.rows.written import begin, finding, mirror_row, moved, request_for, rewound


def test_a_plan(tmp_path: Path) -> None:
    """It has the request, the changes, and how many partitions are left alone."""
    assert as_text(plan_table(Change.read(rewound(tmp_path).run))) == (
        "Plan: Resume `flow` at the first record that is still in each log, in all its partitions.\n"
        "\n"
        "  Partition          Log   Before   After     Records\n"
        " ─────────────────────────────────────────────────────\n"
        "  flights · 0   0 to 600      500     120   380 again\n"
        "\n"
        "1 of 2 partitions to change."
    )


def test_verdicts(tmp_path: Path) -> None:
    """It has severity, rule and message."""
    assert as_text(verdict_table(Change.read(rewound(tmp_path).run))) == (
        "Verdicts\n"
        "\n"
        "  Severity   Rule     Message\n"
        " ────────────────────────────────────────────────────────────────────────────────────────────\n"
        "  WARNING    rewind   `flow`, topic `flights`, partition 0: 380 records are delivered again."
    )


@pytest.mark.parametrize(
    (("stored", "text")), [(120, "as requested"), (500, "as before"), (7, "neither as requested nor as before")]
)
def test_offsets_at_the_end(tmp_path: Path, stored: int, text: str) -> None:
    """The stored offset is shown, whatever it is."""
    written = rewound(tmp_path)
    written.outcome(Result.UNKNOWN, offsets=(moved(written.rows[0], stands=stored),))

    last = as_text(offsets_table(Change.read(written.run))).splitlines()[-1]

    assert last.split(maxsplit=6) == ["flights", "·", "0", "500", "120", str(stored), text]


def test_tables_without_rows_say_why(tmp_path: Path) -> None:
    """A note replaces an empty table."""
    requested = Change.read(begin(tmp_path / "requested").run)
    planned = Change.read(begin(tmp_path / "planned").snapshot({}).plan([mirror_row(0, 5, 5)]).run)
    refused = Change.read(rewound(tmp_path / "refused").outcome(Result.REFUSED).run)

    assert as_text(plan_table(requested)).splitlines()[1:] == ["There is no plan yet."]
    assert as_text(verdict_table(requested)) == "Verdicts\nThere is no plan yet."
    assert as_text(plan_table(planned)).splitlines()[1:] == ["Nothing to change in 1 partition."]
    assert as_text(verdict_table(planned)) == "Verdicts\nNone."
    assert as_text(offsets_table(planned)) == "Offsets\nNo outcome is recorded."
    assert as_text(offsets_table(refused)) == "Offsets\nNothing was read back."


def test_long_tables_say_how_many_more_and_where(tmp_path: Path) -> None:
    """A table has twenty rows, worst first."""
    rows = [mirror_row(number, 500 + number, 100) for number in range(25)]
    found = [finding(Severity.WARNING, f"partition {number}", row) for number, row in enumerate(rows)]
    logs = {("flights", number): (0, 600) for number in range(25)}
    written = begin(tmp_path).snapshot(logs).plan(rows, found)
    written.outcome(Result.APPLIED, offsets=tuple(moved(row, stands=100) for row in rows))
    change, run = Change.read(written.run), written.run

    plan = as_text(plan_table(change), width=400).splitlines()
    assert plan[4].split()[:3] == ["flights", "·", "24"]
    assert plan[-1] == f"25 of 25 partitions to change. 5 more in {run.offset_plan}"
    assert as_text(verdict_table(change), width=400).endswith(f"\n5 more in {run.verdicts}")
    assert as_text(offsets_table(change), width=400).endswith(f"\n5 more in {run.outcome}")


def test_the_line_at_the_end(tmp_path: Path) -> None:
    """It has headline, message, and downtime if known."""
    applied = Change.read(rewound(tmp_path / "a").outcome(Result.APPLIED, "Done.").run)
    stopped = Change.read(rewound(tmp_path / "b").outcome(Result.LEFT_STOPPED, "Why.", downtime_seconds=None).run)

    assert as_text(outcome_line(applied)) == "Applied. Done. Downtime: 1.42 s."
    assert as_text(outcome_line(stopped)) == "LEFT STOPPED: act now. Why."


def test_names_are_no_markup_and_logs_get_no_colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Square brackets are no markup; colours that the environment requests are left out."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "10")
    request = request_for("[red]flow")
    found = [finding(Severity.ERROR, "[bold]no[/bold]", rule="unknown_topic")]
    change = Change.read(begin(tmp_path, request).snapshot({}).plan([], found).run)

    assert as_text(verdict_table(change)).splitlines()[-1] == "  ERROR      unknown_topic   [bold]no[/bold]"
    assert "`[red]flow`" in as_text(plan_table(change))
