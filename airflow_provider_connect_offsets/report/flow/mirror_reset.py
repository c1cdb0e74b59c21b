"""The reset of a MirrorMaker 2 flow: its report, a table for logs, and the question to the approver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from rich.console import Group

from airflow_provider_connect_offsets.masking import mask_text
from airflow_provider_connect_offsets.offsets.requests.flow_reset import Belongs, FlowReset
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.change import Change, Listing
from airflow_provider_connect_offsets.report.change_report import write_change_report
from airflow_provider_connect_offsets.report.question import MOST_ROWS, Rows, markdown, question
from airflow_provider_connect_offsets.report.standing import Pending
from airflow_provider_connect_offsets.report.tables import row_table
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import RESET_TOPICS
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory

_IN_THE_REPORT = 200
_HEADINGS = ("Topic", "Effect", "Replicated again", "Duplicates", "Deleted syncs", "Newest sync")
_NUMBERS = frozenset({2, 3, 4})
_BELONGS = {
    Belongs.RESET: "reset",
    Belongs.KEPT: "left alone",
    Belongs.FOREIGN: "not of this flow",
}
_MEANING = (
    "A record that is replicated again is appended to the remote topic. It is a duplicate if the remote topic still "
    "has its first copy. Both numbers count offsets. If the log has gaps (compaction, transactions), there are fewer "
    "records."
)


@dataclass(frozen=True, slots=True)
class TopicLine:
    """A row of the tables: a topic."""

    topic: str
    belongs: Belongs
    records_again: int
    duplicates: int
    syncs: int
    newest_sync: datetime | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> TopicLine:
        """Make the line from a row of dataset ``reset_topics``."""
        belongs = Belongs(row["belongs"])
        numbers = (row["records_again"], row["duplicates"], row["syncs"])
        return cls(row["topic"], belongs, *numbers, row["newest_sync"])

    @property
    def cells(self) -> tuple[str, ...]:
        """Texts of the row."""
        newest = "" if self.newest_sync is None else words.moment(self.newest_sync)
        numbers = (f"{number:,}" for number in (self.records_again, self.duplicates, self.syncs))
        return (self.topic, _BELONGS[self.belongs], *numbers, newest)


@dataclass(frozen=True)
class Reset:
    """The reset of a flow, at any stage.

    Attributes:
        change: the change of the MirrorSource's offsets
        run: the run's directory
        reset: the request
        summary: summary of the job; None before the plan
        lines: a row for each topic
    """

    change: Change
    run: ResetDirectory
    reset: FlowReset
    summary: Mapping[str, Any] | None
    lines: tuple[TopicLine, ...]

    @classmethod
    def read(cls, run: ResetDirectory, *, pending: Pending | None = None) -> Reset:
        """Read what ``run`` contains so far; raises :class:`DatasetError` if the request is missing."""
        summary = files.read_json_if_any(run.summary)
        rows = [] if summary is None else read_dataset(run.reset_topics, RESET_TOPICS)
        reset = FlowReset.from_json(files.read_json(run.flow))
        return cls(
            change=Change.read(run, pending=pending, title=f"Reset of the flow of {reset.source_connector}"),
            run=run,
            reset=reset,
            summary=summary,
            lines=tuple(sorted(map(TopicLine.of, rows), key=_worst_first)),
        )

    @cached_property
    def facts(self) -> dict[str, str]:
        """Facts on the flow, by label."""
        reset = self.reset
        facts = {
            "Flow": f"`{reset.flow.source_alias}` to `{reset.flow.target_alias}`",
            "Offset syncs": f"`{reset.syncs.topic}` on the {reset.syncs.side}, emptied",
            "Checkpoints": f"`{reset.checkpoints_topic.topic}` on the target, "
            + ("emptied" if reset.checkpoints else "left as they are"),
            "MirrorCheckpoint": "none is stopped"
            if reset.checkpoint_connector is None
            else f"`{reset.checkpoint_connector}`, stopped during the reset",
        }
        if self.summary is not None:
            facts["Deleted syncs"] = quantify(self.summary["syncs"], "record")
            facts["Duplicates on the target"] = f"{self.summary['duplicates']:,} predicted"
            if reset.checkpoints:
                facts["Deleted checkpoints"] = f"{self.summary['checkpoints']:,}"
        kept = {"Prior syncs": self.run.sync_records, "Prior checkpoints": self.run.checkpoint_records}
        if self.change.outcome is not None:
            kept["Prior positions on both clusters"] = self.run.rewinds
        return {**facts, **{name: f"`{uri}`" for name, uri in words.uris(kept).items()}}

    @cached_property
    def summary_rows(self) -> Rows:
        """The topics for a log and an approver."""
        rows = [line.cells for line in self.lines]
        return Rows("topics", _HEADINGS, rows, _NUMBERS, self.run.reset_topics)

    @cached_property
    def listing(self) -> Listing:
        """The table of topics."""
        rows = tuple(line.cells for line in self.lines[:_IN_THE_REPORT])
        left = len(self.lines) - len(rows)
        hidden = f" {quantify(left, 'more topic')} in `{mask_text(self.run.reset_topics)}`." if left else ""
        return Listing("Topic by topic", _HEADINGS, rows, _NUMBERS, f"{_MEANING}{hidden}")

    def table(self, *, limit: int = MOST_ROWS) -> Group:
        """Return a table of the effects on each topic, topics of other flows first."""
        return row_table(self.change.title, self.summary_rows, limit=limit)

    @property
    def subject(self) -> str:
        """The question to the approver, in one line."""
        return f"Reset the flow of {self.reset.source_connector}?"

    def question(self, *, link: str | None = None) -> str:
        """Return the question to the approver: effects on offsets, syncs and topics; ``link``: see ``question``."""
        if self.summary is None:
            return question(self.change, link=link)
        request, summary = self.reset, self.summary
        emptied = " and ".join(f"`{where.topic}` on the {where.side}" for where in request.emptied_topics)
        connectors = (request.source_connector, request.checkpoint_connector)
        stopped = " and ".join(f"`{name}`" for name in connectors if name)
        checkpoints = f" and {quantify(summary['checkpoints'], 'checkpoint')}" if request.checkpoints else ""
        effects = (
            f"**{summary['duplicates']:,}** records would be duplicated on the target. {stopped} would be stopped, and "
            f"{emptied} emptied: **{quantify(summary['syncs'], 'sync')}**{checkpoints} would be deleted and can't "
            "be restored."
        )
        return markdown([effects, self.summary_rows.markdown(), question(self.change, link=link)])

    def write(self) -> str:
        """Write the report of a reset as its ``report.html``, and return its URI."""
        listings = (self.listing,) if self.lines else ()
        return write_change_report(replace(self.change, facts=self.facts, listings=listings))


def _worst_first(line: TopicLine) -> tuple[int, int, str]:
    order = (Belongs.FOREIGN, Belongs.RESET, Belongs.KEPT)
    return order.index(line.belongs), -line.duplicates, line.topic
