"""The reset of a MirrorMaker 2 flow for people: the page of its change, and topic by topic what goes and what comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from rich.console import Group

from airflow_provider_connect_offsets.offsets.requests.flow_reset import Belongs, FlowReset
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.change import Change, Listing
from airflow_provider_connect_offsets.report.page import render
from airflow_provider_connect_offsets.report.question import MOST_ROWS, more, plain, question
from airflow_provider_connect_offsets.report.standing import Pending
from airflow_provider_connect_offsets.report.tables import cells, new_table, titled
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import RESET_TOPICS
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory

_ON_THE_PAGE = 200
_HEADINGS = ("Topic", "It is", "Replicated again", "Duplicates", "Syncs that go", "Newest sync")
_NUMBERS = frozenset({2, 3, 4})
_BELONGS = {
    Belongs.RESET: "reset",
    Belongs.KEPT: "left where it is",
    Belongs.FOREIGN: "not of this flow",
}
_MEANING = (
    "A record that is replicated again is appended to the remote topic; a duplicate is one of which it "
    "holds a copy already. Both are counted in offsets: where the log has gaps (compaction, transactions), there are "
    "fewer."
)


@dataclass(frozen=True, slots=True)
class TopicLine:
    """One topic, as the page and the tables show it."""

    topic: str
    belongs: Belongs
    records_again: int
    duplicates: int
    syncs: int
    newest_sync: datetime | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> TopicLine:
        """Make it of a row of dataset ``reset_topics``."""
        return cls(
            topic=row["topic"],
            belongs=Belongs(row["belongs"]),
            records_again=row["records_again"],
            duplicates=row["duplicates"],
            syncs=row["syncs"],
            newest_sync=row["newest_sync"],
        )

    @property
    def cells(self) -> tuple[str, ...]:
        """What stands in its row."""
        newest = "" if self.newest_sync is None else words.moment(self.newest_sync)
        numbers = (f"{number:,}" for number in (self.records_again, self.duplicates, self.syncs))
        return (self.topic, _BELONGS[self.belongs], *numbers, newest)


@dataclass(frozen=True)
class Reset:
    """The reset of a flow, at whatever stage: the change of its MirrorSource's offsets, and what goes beside them."""

    change: Change
    run: ResetDirectory
    reset: FlowReset
    summary: Mapping[str, Any] | None
    lines: tuple[TopicLine, ...]

    @classmethod
    def read(cls, run: ResetDirectory, *, pending: Pending | None = None) -> Reset:
        """Read what ``run`` holds so far; raises :class:`DatasetError` where even the request is missing."""
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
        """What the page says of the flow beside its offsets."""
        reset = self.reset
        found = {
            "Flow": f"`{reset.flow.source_alias}` to `{reset.flow.target_alias}`",
            "Offset syncs": f"`{reset.syncs.topic}` on the {reset.syncs.side}, emptied",
            "Checkpoints": f"`{reset.stored_checkpoints.topic}` on the target, "
            + ("emptied" if reset.checkpoints else "left as they are"),
            "MirrorCheckpoint": "none is stopped"
            if reset.checkpoint_connector is None
            else f"`{reset.checkpoint_connector}`, stopped meanwhile",
        }
        if self.summary is not None:
            found["Syncs that go"] = words.count(self.summary["syncs"], "record")
            found["Duplicates on the target"] = f"{self.summary['duplicates']:,} predicted"
            if reset.checkpoints:
                found["Checkpoints that go"] = f"{self.summary['checkpoints']:,}"
        kept = [
            ("Syncs as they were", self.run.sync_records),
            ("Checkpoints as they were", self.run.checkpoint_records),
        ]
        if self.change.outcome is not None:
            kept.append(("Where it stood on both clusters", self.run.rewinds))
        return {**found, **{name: f"`{words.without_credentials(uri)}`" for name, uri in kept}}

    @cached_property
    def listing(self) -> Listing:
        """Topic by topic."""
        rows = tuple(line.cells for line in self.lines[:_ON_THE_PAGE])
        left = len(self.lines) - len(rows)
        hidden = f" {left:,} more topics are in `{words.without_credentials(self.run.reset_topics)}`." if left else ""
        return Listing("Topic by topic", _HEADINGS, rows, _NUMBERS, f"{_MEANING}{hidden}")


def reset_table(found: Reset, *, limit: int = MOST_ROWS) -> Group:
    """What becomes of each topic: first those whose syncs go with others' reset."""
    table = new_table(*_HEADINGS)
    for line in found.lines[:limit]:
        table.add_row(*cells(*line.cells))
    left = len(found.lines) - limit
    note = f"{left:,} more in {words.without_credentials(found.run.reset_topics)}" if left > 0 else ""
    return titled(f"Reset of the flow of {found.reset.source_connector}", table, note)


def reset_question(found: Reset, *, limit: int = MOST_ROWS, link: str | None = None) -> str:
    """Tell in Markdown what a reset would do to offsets, syncs and remote topics, and that nothing has happened yet."""
    if found.summary is None:
        return question(found.change, link=link)
    reset, summary = found.reset, found.summary
    emptied = " and ".join(f"`{where.topic}` on the {where.side}" for where in reset.emptied)
    cp = f"`{reset.source_connector}`" + (f" and `{reset.checkpoint_connector}`" if reset.checkpoint_connector else "")
    checkpoints = f" and {words.count(summary['checkpoints'], 'checkpoint')}" if reset.checkpoints else ""
    rows = [
        f"| {' | '.join(_HEADINGS)} |",
        "|---|---|--:|--:|--:|---|",
        *(f"| {' | '.join(map(plain, line.cells))} |" for line in found.lines[:limit]),
    ]
    first = (
        f"**{summary['duplicates']:,}** records would be duplicated on the target. While {cp} stand still, {emptied} "
        f"would be emptied: **{words.count(summary['syncs'], 'sync')}**{checkpoints} would go, and can't be put back."
    )
    parts = [
        first,
        "\n".join([*rows, *more(len(found.lines), limit, "topics")]) if found.lines else "",
        question(found.change, link=link),
    ]
    return "\n\n".join(part for part in parts if part)


def write_reset_page(run: ResetDirectory, *, pending: Pending | None = None) -> str:
    """Publish the page of a reset as its ``report.html``, and return where it lies."""
    found = Reset.read(run, pending=pending)
    change = replace(found.change, facts=found.facts, listings=(found.listing,) if found.lines else ())
    files.write_bytes(run.report, render([change], title=change.title).encode())
    return run.report


def _worst_first(line: TopicLine) -> tuple[int, int, str]:
    order = (Belongs.FOREIGN, Belongs.RESET, Belongs.KEPT)
    return order.index(line.belongs), -line.duplicates, line.topic
