"""The question to an approver."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.report import Change, question
from tests.support.rows.written import begin, finding, mirror_row, rewound


def test_it_shows_what_would_change_worst_first(tmp_path: Path) -> None:
    """As a table, with the numbers that matter, where the page is, and which plan it is."""
    written = rewound(tmp_path)

    asked = question(Change.read(written.run)).split("\n\n")

    assert asked[1].startswith("Records delivered again: **")
    table = asked[2].splitlines()
    assert table[0] == "| Partition | Log | Before | After | Records |"
    assert all(row.count("|") == 6 for row in table)
    assert asked[-2] == f"The full report: `{written.run.report}`"
    assert asked[-1].startswith(f"Exactly plan `{written.digest[:12]}` will be applied.")
    assert asked[-1].endswith("Nothing has been stopped yet.")


def test_it_links_to_the_report_where_that_is_served(tmp_path: Path) -> None:
    """Airflow's page follows links to http(s) and paths, not to a file on some worker."""
    asked = question(Change.read(rewound(tmp_path).run), link="/connect-offsets/report/dag/run/report.html")

    assert "[The full report](</connect-offsets/report/dag/run/report.html>)" in asked
    assert "file://" not in asked


def test_names_are_no_markdown(tmp_path: Path) -> None:
    """A topic's name can't make a link, a heading or another cell of it."""
    written = (
        begin(tmp_path)
        .snapshot({})
        .plan(
            [mirror_row(0, 100, 60, topic="a_b*[c](d)|e")],
            [finding(Severity.WARNING, "`flow`, topic `a_b`: <b>bold</b>.")],
        )
    )

    asked = question(Change.read(written.run))

    assert r"a\_b\*\[c\](d)\|e" in asked
    assert r"- **warning**: `flow`, topic `a_b`: \<b\>bold\</b\>." in asked


def test_a_long_plan_is_cut_and_says_so(tmp_path: Path) -> None:
    """An approver is not shown a thousand rows, and learns that there are more."""
    rows = [mirror_row(number, 100, 60) for number in range(25)]

    asked = question(Change.read(begin(tmp_path).snapshot({}).plan(rows).run))

    assert "… and 5 more partitions in the report." in asked
    assert asked.count("\n| ") == 21


def test_there_may_be_no_plan(tmp_path: Path) -> None:
    """Then there is nothing to approve."""
    assert question(Change.read(begin(tmp_path).run)).startswith("There is no plan in ")
