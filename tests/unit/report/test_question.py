"""The question to an approver."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.report import Change, question
from airflow_provider_connect_offsets.report.question import escape_line, prose_line
from tests.support.rows.written import begin, finding, mirror_row, rewound


def test_it_shows_what_would_change_worst_first(tmp_path: Path) -> None:
    """It has the numbers, a table, the report, and the plan's digest."""
    written = rewound(tmp_path)

    markdown = question(Change.read(written.run)).split("\n\n")

    assert markdown[1].startswith("Records delivered again: **")
    table = markdown[2].splitlines()
    assert table[0] == "| Partition | Log | Before | After | Records |"
    assert all(row.count("|") == 6 for row in table)
    assert markdown[-2] == f"The full report: `{written.run.report}`"
    assert markdown[-1].startswith(f"Exactly the plan with digest `{written.digest[:12]}` will be applied.")
    assert markdown[-1].endswith("Nothing has been stopped yet.")


def test_it_links_to_the_report_where_that_is_served(tmp_path: Path) -> None:
    """Browsers can open http(s) links and paths, but not the workspace's URIs."""
    markdown = question(Change.read(rewound(tmp_path).run), link="/connect-offsets/report/dag/run/report.html")

    assert "[The full report](</connect-offsets/report/dag/run/report.html>)" in markdown
    assert "file://" not in markdown


def test_names_are_no_markdown(tmp_path: Path) -> None:
    """A topic's name can't make a link, a heading or another cell."""
    written = (
        begin(tmp_path)
        .snapshot({})
        .plan(
            [mirror_row(0, 100, 60, topic="a_b*[c](d)|e")],
            [finding(Severity.WARNING, "`flow`, topic `a_b`: <b>bold</b>.")],
        )
    )

    markdown = question(Change.read(written.run))

    assert r"a\_b\*\[c\](d)\|e" in markdown
    assert r"- **warning**: `flow`, topic `a_b`: \<b\>bold\</b\>." in markdown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("![a](http://attacker/x.png)", "`![a](http://attacker/x.png)`"),
        ("see www.attacker.example for *more*", r"see `www.attacker.example` for \*more\*"),
        ("me@attacker.example", "`me@attacker.example`"),
        ("a\n| b\u2028c", r"a \| b c"),
        ("![a](x)", r"\!\[a\](x)"),
        ("https://x|y`z", r"`https://x\|y'z`"),
        ("&lt; $x$", r"\&lt; \$x\$"),
    ],
)
def test_what_a_stranger_has_named_is_text(name: str, shown: str) -> None:
    """No image is fetched, no address becomes a link, no row of a table ends."""
    assert escape_line(name) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("`flow` to those in s3://a/b.json, in all", "`flow` to those in `s3://a/b.json,` in all"),
        ("`flow`https://a/b", "`flow` `https://a/b`"),
        ("https://a/b`flow`", "`https://a/b` `flow`"),
        ("``", ""),
    ],
)
def test_a_link_beside_code_is_code_of_its_own(text: str, shown: str) -> None:
    """Otherwise one would go on in the other, and what is between them would be code, too."""
    assert prose_line(text) == shown


def test_a_backtick_that_is_left_alone_opens_nothing(tmp_path: Path) -> None:
    """A name in a message of a rule may have one."""
    message = "topic `a` and `![b](c): it is deleted."
    written = begin(tmp_path).snapshot({}).plan([mirror_row(0, 100, 60)], [finding(Severity.WARNING, message)])

    assert r"topic `a` and '\!\[b\](c): it is deleted." in question(Change.read(written.run))


def test_a_long_plan_is_cut_and_says_so(tmp_path: Path) -> None:
    """A shortened table says how many rows it leaves out."""
    rows = [mirror_row(number, 100, 60) for number in range(25)]

    markdown = question(Change.read(begin(tmp_path).snapshot({}).plan(rows).run))

    assert "… and 5 more partitions in the report." in markdown
    assert markdown.count("\n| ") == 21


def test_there_may_be_no_plan(tmp_path: Path) -> None:
    """Without a plan there is nothing to approve."""
    assert question(Change.read(begin(tmp_path).run)).startswith("There is no plan in ")
