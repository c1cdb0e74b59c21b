"""The question to the approver of a skip, in Markdown, as Airflow's Required Actions show it."""

from __future__ import annotations

from airflow_provider_connect_offsets.report.poison.page import PoisonedRecords, PoisonLine
from airflow_provider_connect_offsets.report.question import (
    MOST_ROWS,
    markdown,
    markdown_row,
    more,
    plain,
    report_link,
)

_MEANING = (
    "Exactly these records will be skipped: the sink never gets them. They are kept in the run's directory. "
    "Nothing has been skipped yet."
)


def poison_question(records: PoisonedRecords, *, link: str | None = None) -> str:
    """Where the records are, why they fail, and what they hold, shortened and escaped.

    Args:
        records: What was found.
        link: URL of the report for a browser; None if reports are not served.
    """
    rows = [
        "| Topic | Partition | Offset | Why | Key | Value |",
        "|---|--:|--:|---|---|---|",
        *(_row(line) for line in records.lines[:MOST_ROWS]),
    ]
    parts = [
        f"{plain(records.outcome.connector)} has failed on what is listed here. Everything before it is delivered.",
        "\n".join([*rows, *more(len(records.lines), MOST_ROWS, "records")]),
        report_link(records.directory.report, link),
        _MEANING,
    ]
    return markdown(parts)


def _row(line: PoisonLine) -> str:
    why = f"{line.why}: {line.message}" if line.message else line.why
    return markdown_row(line.topic, str(line.partition), f"{line.offset:,}", why, line.key, line.value)
