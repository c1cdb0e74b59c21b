"""The report: what comes first, what is left out, and that no name becomes HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.report import Change, Pending, render, write_report
from airflow_provider_connect_offsets.workspace.files import read_bytes
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Result
from tests.support.rows.written import begin, finding, mirror_row, moved, request_for, rewound


class ShownReport(HTMLParser):
    """The text of a report, its banners, and every tag with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._inside: list[str] = []
        self.feed(html)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect a tag."""
        self.tags.append((tag, dict(attrs)))
        self._inside.append(tag)

    def handle_data(self, data: str) -> None:
        """Collect text that a reader sees."""
        if self._inside and self._inside[-1] != "style":
            self.text += f" {data}"

    def handle_endtag(self, tag: str) -> None:
        """End a tag."""
        if tag in self._inside:
            while self._inside.pop() != tag:
                pass

    @property
    def banners(self) -> list[str | None]:
        """Classes of the banners."""
        return [fields["class"] for _, fields in self.tags if fields.get("role") == "status"]


def shown_report(run: RunDirectory, **pending: Pending) -> ShownReport:
    """Write the report of a run, and parse it."""
    content = read_bytes(write_report(run, **pending))
    assert content is not None
    return ShownReport(content.decode())


def test_an_applied_change(tmp_path: Path) -> None:
    """It has the banner, the request, the figures, the verdict, the picture, the table and the datasets."""
    written = rewound(tmp_path)
    written.outcome(Result.APPLIED, "Done.", offsets=(moved(written.rows[0], stands=120),), warnings=("Look out.",))
    page = shown_report(written.run)

    assert page.banners == ["banner good"]
    for text in (
        "Applied Done. Look out.",
        "Resume flow at the first record that is still in each log, in all its partitions. to=earliest",
        "partitions changed 1 of 2 records delivered again 380 records never delivered 0",
        "downtime 1.42 s RUNNING → RUNNING",
        "warning flow , topic flights , partition 0: 380 records are delivered again. Rule: Moving back delivers",
        "Positions before and after",
        "before 500 after 120",
        "Partition Before After Read back Log Records",
        'flights · 0 500 {"offset":499} 120 {"offset":119} 120 as requested 0 to 600 380 again',
        f"Digest of the plan {written.digest}",
        "Changed by run dag/run",
        f"Plan {written.run.offset_plan}",
        f"Outcome {written.run.outcome}",
    ):
        assert text in page.text
    assert "Not applied" not in page.text


@pytest.mark.parametrize(
    ("result", "banner", "headline", "caption"),
    [
        (Result.RESTORED, "banner bad", "Restored: the change was not applied", "Not applied."),
        (Result.REFUSED, "banner bad", "Refused: nothing was changed", "Not applied."),
        (Result.LEFT_STOPPED, "banner alarm", "LEFT STOPPED: act now", "Not known to be applied."),
        (Result.UNKNOWN, "banner alarm", "UNKNOWN: check now", "Not known to be applied."),
    ],
)
def test_what_was_not_applied_never_looks_like_success(
    tmp_path: Path, result: Result, banner: str, headline: str, caption: str
) -> None:
    """Neither banner nor figures nor picture nor table look applied."""
    page = shown_report(rewound(tmp_path).outcome(result, downtime_seconds=None).run)

    assert page.banners == [banner]
    assert f"{headline} What happened." in page.text
    assert f"{caption} A position is" in page.text
    assert "partitions to change 1 of 2 records delivered again 380 if applied" in page.text
    assert "before 500 requested 120" in page.text
    assert "Before Requested Log Records, if applied" in page.text
    assert "good" not in {name for _, fields in page.tags for name in (fields.get("class") or "").split()}
    assert "Applied " not in page.text


@pytest.mark.parametrize(
    ("pending", "headline", "downtime"),
    [
        (None, "Planned, not applied", ""),
        (Pending.APPROVAL, "Waiting for approval", "downtime none nothing was stopped"),
        (Pending.DRY_RUN, "Dry run: nothing was changed", "downtime none nothing was stopped"),
    ],
)
def test_a_plan(tmp_path: Path, pending: Pending | None, headline: str, downtime: str) -> None:
    """The banner says why the plan is not applied; the downtime is only known if nothing was stopped."""
    arguments = {} if pending is None else {"pending": pending}
    page = shown_report(rewound(tmp_path).run, **arguments)

    assert page.banners == ["banner calm"]
    for text in (headline, downtime, "Not applied. A position is", "now 500 requested 120"):
        assert text in page.text
    assert ("downtime" in page.text) == bool(downtime)


def test_a_typo_is_refused(tmp_path: Path) -> None:
    """A plan with errors has only the error."""
    error = finding(Severity.ERROR, "no topic `flihgts`. Did you mean `flights`?", rule="unknown_topic")
    written = begin(tmp_path, request_for(topics="flihgts")).snapshot({}).plan([mirror_row(0, 5, 5)], [error])
    page = shown_report(written.run)

    assert page.banners == ["banner bad"]
    assert "Refused: nothing was changed The plan has 1 error, so nothing was stopped." in page.text
    assert "error no topic flihgts . Did you mean flights ? Rule: The topic exists" in page.text
    assert "svg" not in {tag for tag, _ in page.tags}


def test_a_request_alone(tmp_path: Path) -> None:
    """Without a plan there are no figures."""
    page = shown_report(begin(tmp_path).run)

    assert "Not planned yet Nothing has been read, stopped or changed." in page.text
    assert "downtime" not in page.text


def test_how_an_earlier_plan_ended_is_shown_separately(tmp_path: Path) -> None:
    """The outcome of an earlier plan is shown."""
    written = rewound(tmp_path).outcome(Result.LEFT_STOPPED, "It stays `STOPPED`.")
    page = shown_report(written.plan([mirror_row(0, 500, 121)]).run)

    assert page.banners == ["banner calm"]
    assert (
        "An earlier plan of this run ended on 2026-01-31 12:05:00 UTC as left stopped : It stays STOPPED ." in page.text
    )


# Without a slash: no connector's name has one.
NASTY = '<script>alert(1)<b x="y" z=\'&'


def test_names_and_texts_are_never_code(tmp_path: Path) -> None:
    """Names and messages are escaped."""
    row = mirror_row(0, 500, 120, connector=NASTY, reason=NASTY)
    unplaced = mirror_row(1, 7, 3, connector=NASTY, topic=NASTY)
    found = [finding(Severity.ERROR, f"`{NASTY}` and {NASTY}", row, rule=NASTY)]
    written = (
        begin(tmp_path, request_for(NASTY, topics=NASTY))
        .snapshot({("flights", 0): (0, 600)})
        .plan([row, unplaced], found)
    )
    written.outcome(Result.RESTORED, NASTY, warnings=(NASTY,))
    html = render([Change.read(written.run, title=NASTY, facts={NASTY: NASTY})] * 2, title=NASTY, notes=[NASTY])
    page = ShownReport(html)

    assert {"script", "b"}.isdisjoint(tag for tag, _ in page.tags)
    assert page.text.count(NASTY) > 20
    assert not [fields for _, fields in page.tags if any(name.startswith("on") for name in fields)]


def test_a_report_needs_no_other_file(tmp_path: Path) -> None:
    """It has no script and fetches nothing; its policy forbids both."""
    run = rewound(tmp_path).run
    write_report(run)
    html = (read_bytes(run.report) or b"").decode()
    page = ShownReport(html)

    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "link", "img", "iframe", "object"})
    assert not [value for _, fields in page.tags for name, value in fields.items() if name in {"src", "srcset"}]
    assert all((fields.get("href") or "#").startswith("#") for _, fields in page.tags)
    assert "@import" not in html
    assert set(re.findall(r"url\((.)", html)) <= {"#"}
    assert "default-src 'none'; style-src 'unsafe-inline'" in html


def test_credentials_are_not_in_the_report(tmp_path: Path) -> None:
    """Credentials of requests and messages are removed."""
    secret = "s3://key:hunter2@bucket/offsets.json"
    written = begin(tmp_path, request_for(to="file", value=secret)).snapshot({})
    written.plan([], [finding(Severity.ERROR, f"{secret} can't be read", rule="unreadable")])
    write_report(written.run)

    assert b"hunter2" not in (read_bytes(written.run.report) or b"")


def test_large_plans_show_the_worst_and_say_how_many_more(tmp_path: Path) -> None:
    """At most 200 rows, 40 bands and five verdicts of a rule are shown."""
    rows = [mirror_row(number, 500 + number, 100) for number in range(230)]
    found = [finding(Severity.WARNING, f"partition {number}", row) for number, row in enumerate(rows)]
    logs = {("flights", number): (0, 1000) for number in range(230)}
    page = shown_report(begin(tmp_path).snapshot(logs).plan(rows, found).run)

    assert sum(tag == "tr" for tag, _ in page.tags) == 1 + 200
    assert page.text.count("requested 100") == 40
    assert "flights · 229" in page.text
    assert "flights · 29 " not in page.text
    assert "The 200 worst are shown; 30 more in the plan." in page.text
    assert "The 40 worst partitions are drawn, 190 more not." in page.text
    assert "partition 4 … and 225 more of this kind, in the dataset verdicts." in page.text


def test_a_log_without_records_is_shown(tmp_path: Path) -> None:
    """Retention may have deleted all records of a log, which still has its offsets."""
    written = begin(tmp_path).snapshot({("flights", 0): (7, 7)}).plan([mirror_row(0, 9, 7)])

    assert 'flights · 0 9 {"offset":8} 7 {"offset":6} 7 to 7' in shown_report(written.run).text


def test_one_report_on_several_changes(tmp_path: Path) -> None:
    """It begins with the banner of each change, and has the caller's notes and facts."""
    applied = rewound(tmp_path / "one").outcome(Result.APPLIED)
    failed = rewound(tmp_path / "two").outcome(Result.RESTORED)
    changes = [
        Change.read(applied.run, title="Rewind", facts={"Counted on the target": "380 of 380"}),
        Change.read(failed.run, title="Again"),
    ]
    html = render(changes, title="Two changes", notes=["On `real` parts."])
    page = ShownReport(html)

    assert "Two changes" in page.text
    assert "On real parts." in page.text
    assert "Rewind Applied Again Restored: the change was not applied Rewind Applied What happened." in page.text
    assert "Counted on the target 380 of 380" in page.text
    assert page.banners == ["banner good", "banner bad"]
    names = [fields["id"] for _, fields in page.tags if "id" in fields]
    assert len(names) == len(set(names))
