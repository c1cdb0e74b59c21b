"""The report of a failover: its question, its progress, and the result of each group."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.report import Failover, Pending, as_text
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset, write_newest
from airflow_provider_connect_offsets.workspace.flow_schemas import TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import PRIOR_GROUP_OFFSETS
from tests.support.rows.unfolded import unfolded
from tests.support.rows.written_reports import failover_row as row
from tests.support.rows.written_reports import write_failover

STAYS = "it has members on the target: stop them first"
DIGEST = "d" * 64


ROWS = [
    row("exact"),
    row("<b>coarse</b>", exact=False, max_rereads=1_234, method="sync", checkpoint=None, checkpoint_rereads=None),
    row("busy", action="skip", covered=False, reason=STAYS),
]


@pytest.fixture
def directory(tmp_path: Path) -> FailoverDirectory:
    made = FailoverDirectory(tmp_path.as_uri())
    write_failover(made, ROWS)
    return made


def page_of(directory: FailoverDirectory, pending: Pending | None = None) -> str:
    return Path(Failover.read(directory, pending=pending).write().removeprefix("file://")).read_text()


def test_the_question(directory: FailoverDirectory) -> None:
    """It has the groups, the stops, escaped names, and says that nothing has happened yet."""
    markdown = Failover.read(directory).question()

    assert "**3 groups** with 3 partitions would move from `eu` to `us`." in markdown
    assert "The run waits for replication, stops `eu->us`, translates all positions again" in markdown
    assert "| \\<b\\>coarse\\</b\\> | 1 | 0 | 1,234 | 0 | 0, 1 missing |" in markdown
    assert "Nothing has been stopped or moved yet." in markdown


def test_partitions_beyond_the_limit_are_named(directory: FailoverDirectory) -> None:
    """The approver learns how many records are not read."""
    first = [{"topic": "<orders>", "kafka_partition": 3, "left_out": 12_345}]
    write_failover(directory, ROWS, beyond_limit={"partitions": 2, "records": 23_456, "first": first})
    sentence = (
        "In 2 partitions, too few records will be read to prove every translated offset: 23,456 more records of both "
        "logs would exceed compared_total"
    )

    assert sentence in Failover.read(directory).question()
    page = page_of(directory)
    assert sentence in page
    assert "&lt;orders&gt;" in page
    assert "12,345" in page
    assert "Partitions with the most such records are shown" in page
    write_failover(directory, ROWS, beyond_limit={"partitions": 0, "records": 0, "too_far": 2, "first": []})
    assert Failover.read(directory).beyond_limit == (
        "In 2 partitions, a group has more records left to read than compared (100,000) allows. They are not read to "
        "prove where the group resumes."
    )
    write_failover(directory, ROWS, beyond_limit={"partitions": 0, "records": 0, "first": []})
    assert "Too few records" not in Failover.read(directory).question()
    assert "Records that will not be read" not in page_of(directory)


def test_groups_that_no_failover_moves_are_named(directory: FailoverDirectory) -> None:
    """The approver and the report name them, as nothing else would show that they exist."""
    write_failover(directory, ROWS, unmovable={"<clicks>": "a share group"})

    sentence = "Left alone, because only consumer groups can be moved: '<clicks>' is a share group."
    assert sentence in Failover.read(directory).unmovable
    assert "only consumer groups can be moved" in Failover.read(directory).question()
    assert "&#39;&lt;clicks&gt;&#39; is a share group" in page_of(directory)


def test_partitions_that_only_records_tell_are_counted(directory: FailoverDirectory) -> None:
    """The approver learns how many records may be read again, and when nothing is committed."""
    write_failover(directory, ROWS, to_be_found={"partitions": 2, "max_rereads": 1_234})
    sentence = (
        "In 2 partitions, offset syncs alone do not tell where the group resumes or whether it is already there. While "
        "the flow is stopped, records will be compared to find out. At most 1,234 records are read again there. "
        "Nothing is committed if less than 100% of all partitions are translated."
    )

    assert sentence in Failover.read(directory).question()
    assert sentence in page_of(directory)
    write_failover(directory, ROWS)
    assert "offset syncs alone" not in Failover.read(directory).question()
    assert "offset syncs alone" not in page_of(directory)


def test_unplanned_without_a_ledger_says_how_to_get_one(directory: FailoverDirectory) -> None:
    """It says what a ledger would improve, how old the positions are, and what is read again."""
    write_failover(directory, ROWS, planned=False, ledger_at=None, by_ledger=0, positions_since=1_769_860_800_000)

    markdown = Failover.read(directory).question()

    assert (
        "positions are from MirrorMaker 2's last checkpoints. The oldest position is from 2026-01-31 12:00:00"
        in markdown
    )
    assert "With a ledger, groups without a checkpoint would be moved too" in markdown
    assert "schedule mirror_readiness for the flow while its source is running" in markdown
    assert "Groups read again the records that they have read since then" in markdown


def test_what_rests_on_checkpoints_alone_is_said(directory: FailoverDirectory) -> None:
    """The approver learns that checkpoints may skip records, and how to leave these groups alone."""
    write_failover(directory, ROWS, planned=False, ledger_at=None, by_ledger=0, positions_since=None, by_checkpoint=2)

    markdown = Failover.read(directory).question()

    assert "In 2 partitions, only MirrorMaker 2's own checkpoint translates the groups' positions" in markdown
    assert "The checkpoint may lie beyond unread records" in markdown
    assert "own checkpoint translates the groups" in page_of(directory)
    write_failover(directory, ROWS, planned=False, ledger_at=None, by_ledger=0, positions_since=None)
    assert "own checkpoint translates the groups" not in Failover.read(directory).question()


def test_unplanned_with_a_ledger_says_how_old_it_is(directory: FailoverDirectory) -> None:
    """It says how many positions are from the ledger."""
    write_failover(directory, ROWS, planned=False, ledger_at=1_769_860_800_000, by_ledger=2, positions_since=None)

    markdown = Failover.read(directory).question()

    assert "the ledger that mirror_readiness wrote at 2026-01-31 12:00:00 UTC, whichever is later." in markdown
    assert "Positions from the ledger: 2." in markdown
    assert "There is no ledger" not in markdown


def test_the_table_for_the_log(directory: FailoverDirectory) -> None:
    """Groups left alone come first; a shortened table says where the rest is."""
    text = as_text(Failover.read(directory).table(limit=1))

    assert "Consumer groups from eu to us: 3 groups" in text
    assert ("busy" in text, "coarse" in text) == (True, False)
    assert f"2 more in {directory.table}" in text


@pytest.mark.parametrize(
    ("pending", "headline"),
    [
        (None, "Translated, not committed"),
        (Pending.APPROVAL, "Waiting for approval"),
        (Pending.DRY_RUN, "Dry run: no group was moved"),
        (Pending.REJECTED, "Rejected: no group was moved"),
    ],
)
def test_a_page_before_the_commit(directory: FailoverDirectory, pending: Pending | None, headline: str) -> None:
    """It has the banner and escaped names."""
    page = page_of(directory, pending)

    assert f'<p class="headline">{headline}</p>' in page
    assert "&lt;b&gt;coarse&lt;/b&gt;" in page
    assert "50.0%" in page
    assert "Topics without a remote topic, whose offsets are left alone: payments" in page
    assert page.index(STAYS) < page.index(">with re-reads<") < page.index(">exact<")


def test_unread_records_without_a_copy_are_counted(tmp_path: Path) -> None:
    """They are in the figures and in the group's row."""
    directory = FailoverDirectory(tmp_path.as_uri())
    write_failover(directory, [row("behind", exact=False, missing=5_678)])

    page = Path(Failover.read(directory).write().removeprefix("file://")).read_text()

    [line] = Failover.read(directory).groups
    assert (line.missing, line.standing) == (5_678, "without a copy")
    assert page.count("5,678") == 2


def test_a_closed_gate(directory: FailoverDirectory) -> None:
    """The banner has the reason, whatever the caller passes."""
    write_failover(directory, ROWS, errors=["Too few."])

    page = page_of(directory, Pending.APPROVAL)

    assert ("Refused: no group was moved" in page, "Too few." in page) == (True, True)


def test_a_page_after_the_commit(directory: FailoverDirectory) -> None:
    """Groups left alone are named; the outcome of another translation is ignored."""
    outcome = {"digest": DIGEST, "groups": 2, "partitions": 2, "left": {}, "finished_at": "2026-01-31T12:01:00+00:00"}
    files.write_json(directory.outcome, outcome)
    assert '<p class="headline">Moved</p>' in page_of(directory)

    files.write_json(directory.outcome, {**outcome, "groups": 1, "left": {"exact": "it has gone on"}})
    page = page_of(directory)

    assert "Not moved: 1 group" in page
    assert "it has gone on" in page
    files.write_json(directory.outcome, {**outcome, "digest": "0" * 64})
    assert "Translated, not committed" in page_of(directory)


def test_where_the_prior_offsets_are(directory: FailoverDirectory) -> None:
    """It is linked after a commit has kept prior offsets."""
    assert "Prior offsets on the target" not in page_of(directory)

    write_newest(directory.before, PRIOR_GROUP_OFFSETS, [])

    assert f"<dt>Prior offsets on the target</dt><dd><code>{directory.before}</code></dd>" in page_of(directory)


def test_its_undo_is_seen_without_a_click(directory: FailoverDirectory) -> None:
    """The report of a commit has the command; that of an earlier version, whose outcome lacks it, has none."""
    outcome = {"digest": DIGEST, "groups": 2, "partitions": 2, "left": {}, "finished_at": "2026-01-31T12:01:00+00:00"}
    files.write_json(directory.outcome, outcome)
    assert "To undo it" not in page_of(directory)

    files.write_json(directory.outcome, {**outcome, "undo": "airflow dags trigger mirror_failover_restore"})

    assert "<dt>To undo it</dt><dd><code>airflow dags trigger mirror_failover_restore</code></dd>" in unfolded(
        page_of(directory)
    )


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_name_is_a_formula_in_the_csv(directory: FailoverDirectory, sign: str) -> None:
    """A group's name may look like a formula: it is quoted; numbers stay numbers."""
    formula = f'{sign}HYPERLINK("http://evil","x")'
    names = {"source_topic": formula, "target_topic": formula, "reason": formula}
    write_dataset(directory.translation, TRANSLATION, [row(formula, checkpoint=-1, **names)])
    page_of(directory)

    with Path(directory.table.removeprefix("file://")).open(newline="") as table:
        [listed] = csv.DictReader(table)
    assert {listed[name] for name in ("group", *names)} == {f"'{formula}"}
    assert listed["checkpoint"] == "-1"


def test_all_rows_are_in_the_csv(directory: FailoverDirectory) -> None:
    """The CSV has the columns of dataset ``translation``."""
    page_of(directory)

    table = Path(directory.table.removeprefix("file://")).read_text()
    listed = list(csv.DictReader(StringIO(table)))
    assert [one["group"] for one in listed] == ["exact", "<b>coarse</b>", "busy"]
    assert (listed[0]["downstream"], listed[1]["max_rereads"], listed[2]["reason"]) == ("70", "1234", STAYS)


def test_topics_without_a_remote_topic_do_not_count(tmp_path: Path) -> None:
    """A group that also reads such a topic is as exact as it is in the others."""
    outside = {"source_topic": "local", "target_topic": "", "covered": None, "exact": False, "checkpoint": None}
    directory = FailoverDirectory(tmp_path.as_uri())
    write_failover(directory, [row("both"), row("both", action="skip", method="none", **outside)])

    [line] = Failover.read(directory).groups

    assert (line.standing, line.numbers) == ("exact", ("1", "1", "0", "0", "20"))
