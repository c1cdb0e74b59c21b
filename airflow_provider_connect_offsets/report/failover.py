"""A failover of consumer groups for people: a page and a CSV, a table for the log, and what an approver is asked."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

from rich.console import Group

from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, Method, Mode
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.failover_groups import GroupLine
from airflow_provider_connect_offsets.report.page import environment
from airflow_provider_connect_offsets.report.question import MOST_ROWS, more, plain, report_link
from airflow_provider_connect_offsets.report.standing import Pending, Standing, Tone
from airflow_provider_connect_offsets.report.tables import cells, new_table, titled
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

MOST_GROUPS = 500
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What a spreadsheet takes for the beginning of a formula (OWASP, CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


_WAITS = {
    Pending.APPROVAL: ("Waiting for approval", "Nothing has been stopped, and no group has been moved."),
    Pending.DRY_RUN: ("Dry run: no group was moved", "Nothing was stopped either."),
    Pending.REJECTED: ("Rejected: no group was moved", "Someone said no, or nobody answered in time."),
    None: (
        "Translated, not committed",
        "No outcome is recorded here. Where the run went on, its final translation lies in `final` beside this page.",
    ),
}


_UNPLANNED = (
    "What a group has read since it reads again. Exact says that from its position on nothing which was replicated is "
    "skipped or read again; what the source had beyond its last replicated record nobody knows."
)
_TRUSTED = (
    "MirrorMaker 2's own checkpoint is all that tells where {} go on. It may lie behind records that are not read yet, "
    "if the flow was being set back when the source was lost, or the topic had been created anew: with the Param "
    "trust_checkpoints off, these are left alone."
)
_WITHOUT_LEDGER = (
    "There is no ledger of this flow. With one, groups without a checkpoint would be moved as well, offset syncs that "
    "went with the source would still count, and most places would be exact. To have one the next time, schedule "
    "mirror_readiness for the flow while its source is alive."
)


@dataclass(frozen=True, slots=True)
class Failover:
    """A translation, and what became of it."""

    directory: FailoverDirectory
    request: FailoverRequest
    summary: Mapping[str, Any]
    groups: Sequence[GroupLine]
    outcome: Mapping[str, Any] | None
    pending: Pending | None = None

    @classmethod
    def read(cls, directory: FailoverDirectory, *, pending: Pending | None = None) -> Failover:
        """Read what the run's directory holds; raises :class:`DatasetError` where nothing was translated yet."""
        summary, outcome = files.read_json(directory.summary), files.read_json_if_any(directory.outcome)
        if outcome is not None and outcome["digest"] != summary["digest"]:
            outcome = None  # of an earlier translation in the same directory
        groups: dict[str, GroupLine] = {}
        for row in iterate_dataset(directory.translation, TRANSLATION):
            groups.setdefault(row["group"], GroupLine(row["group"])).add(row)
        if outcome is not None:
            for name, reason in outcome["left"].items():
                groups.setdefault(name, GroupLine(name)).reason = reason
        order = {Tone.BAD: 0, Tone.CALM: 1, Tone.GOOD: 2}
        lines = sorted(groups.values(), key=lambda one: (order[one.tone], -one.max_rereads, one.group))
        request = FailoverRequest.from_json(summary["request"])
        return cls(directory, request, summary, lines, outcome, pending)

    @property
    def title(self) -> str:
        """From where to where."""
        flow = self.request.flow
        return f"Consumer groups from {flow.source_alias} to {flow.target_alias}"

    @property
    def kind(self) -> str:
        """Planned or not, and what that means for the figures."""
        if self.request.forward is not None:
            return (
                f"Failback: positions are those that the groups have committed on {self.request.flow.source_alias}. "
                "What they have read of a remote topic is placed in the topic that it was made from."
            )
        if self.request.mode is Mode.PLANNED:
            return "Planned: positions are those that the groups have committed on the source."
        trusted = f" {_trusted(count)}" if (count := self.summary[f"by_{Method.CHECKPOINT}"]) else ""
        return f"{self._positions} {_UNPLANNED}{trusted}"

    @property
    def _positions(self) -> str:
        """What tells where the groups were, and how old that is."""
        since, at = (_moment(self.summary.get(name)) for name in ("positions_since", "ledger_at"))
        oldest = f" The oldest is of {since}." if since else ""
        if at is None:
            return f"Unplanned: positions are those of MirrorMaker 2's last checkpoints.{oldest} {_WITHOUT_LEDGER}"
        return (
            f"Unplanned: positions are the later ones of MirrorMaker 2's last checkpoints and of the ledger that "
            f"mirror_readiness kept at {at}, which tells {self.summary['by_ledger']:,} of them.{oldest}"
        )

    @property
    def beyond_limit(self) -> str:
        """Of how many partitions too few records will be read to prove all of it; empty where there is none."""
        told = self.summary.get("beyond_limit") or {"partitions": 0}
        if not told["partitions"]:
            return ""
        return (
            f"Of {words.count(told['partitions'], 'partition')} fewer records will be read than are needed to prove "
            f"every offset in them: {told['records']:,} of both logs are beyond compared_total "
            f"({self.request.compared_total:,}). Set it higher, or let these groups read some records again."
        )

    @property
    def to_be_found(self) -> str:
        """Of how many partitions the place is looked for in the records, while the flow is stopped; empty: of none."""
        told = self.summary.get("to_be_found") or {"partitions": 0}
        if not told["partitions"]:
            return ""
        share = f"{self.request.min_coverage:.0%}"
        return (
            f"No offset sync tells the place of {words.count(told['partitions'], 'partition')} yet. It is looked for "
            f"in the records, once the flow is stopped: at most {words.count(told['max_rereads'], 'record')} are read "
            f"again there. Nothing is committed if less than {share} of all partitions is found."
        )

    @property
    def exact_share(self) -> str:
        """How many of the partitions that are translated are exact."""
        covered = self.summary["covered"]
        return f"{self.summary['exact'] / covered:.1%}" if covered else "none"

    @property
    def standing(self) -> Standing:
        """How far it has come, said first."""
        if self.summary["errors"]:
            return Standing("Refused: no group was moved", Tone.BAD, " ".join(self.summary["errors"]))
        if self.outcome is None:
            headline, sentence = _WAITS[self.pending]
            return Standing(headline, Tone.CALM, sentence)
        moved = f"{words.count(self.outcome['groups'], 'group')} stand where they were to, read back and proved."
        if self.outcome["left"]:
            left = words.count(len(self.outcome["left"]), "group")
            return Standing(f"Not moved: {left}", Tone.BAD, f"{moved} The others are named below.")
        if late := self.outcome.get("late"):
            meanwhile = f"While they were committed, {late}. These records are not on the target."
            return Standing("Moved, but records came late", Tone.BAD, f"{moved} {meanwhile}", applied=True)
        return Standing("Moved", Tone.GOOD, moved, applied=True)


def failover_table(found: Failover, *, limit: int = MOST_ROWS) -> Group:
    """A line for each group, those that are left alone first."""
    table = new_table("Group", "Standing")
    for heading in ("Partitions", "Exact", "Re-read at most", "Without a copy", "By MirrorMaker 2"):
        table.add_column(heading, justify="right")
    table.add_column("Why", overflow="fold")
    for line in found.groups[:limit]:
        table.add_row(*cells(line.group, line.standing, *_numbers(line), line.reason))
    left = len(found.groups) - limit
    note = f"{left:,} more in {words.without_credentials(found.directory.table)}" if left > 0 else ""
    return titled(f"{found.title}: {words.count(len(found.groups), 'group')}", table, note)


def failover_question(found: Failover, *, limit: int = MOST_ROWS, link: str | None = None) -> str:
    """Tell in Markdown which groups would be moved, and what happens to the flow; nothing has happened yet."""
    summary, request = found.summary, found.request
    planned = request.mode is Mode.PLANNED
    connectors = (request.source_connector, request.forward_connector)
    named = " and ".join(f"`{plain(name)}`" for name in connectors if name)
    stopping = (
        f"Replication is waited for, then {named} will stand still, all is translated once more from what stands then, "
        f"checked, and committed. {_limits(request)}"
        if planned
        else found.kind
    )
    rows = [
        "| Group | Partitions | Exact | Re-read at most | Without a copy | By MirrorMaker 2 |",
        "|---|--:|--:|--:|--:|--:|",
        *(_row(line) for line in found.groups[:limit]),
    ]
    count = f"**{words.count(summary['groups'], 'group')}** with {words.count(summary['partitions'], 'partition')}"
    parts = [
        f"{count} would go from `{plain(request.flow.source_alias)}` to `{plain(request.flow.target_alias)}`.",
        stopping,
        "\n".join([*rows, *more(len(found.groups), limit, "groups")]),
        found.to_be_found,
        found.beyond_limit,
        report_link(found.directory.report, link),
        "Nothing has been stopped or moved yet.",
    ]
    return "\n\n".join(part for part in parts if part)


def _limits(request: FailoverRequest) -> str:
    """What the final figures may be."""
    rereads = (
        "of each partition no more is read again than the preview says"
        if request.max_rereads is None
        else f"at most {request.max_rereads:,} records are read again"
    )
    return (
        f"Nothing is committed unless then too at least {request.min_coverage:.0%} of the partitions can be moved, "
        f"{rereads}, and no group is among them that is not listed here."
    )


def write_failover_page(directory: FailoverDirectory, *, pending: Pending | None = None) -> str:
    """Publish the page as ``report.html`` and all rows as ``translation.csv``, and return where the page lies."""
    found = Failover.read(directory, pending=pending)
    named = (
        ("Request", directory.request),
        ("Translation", directory.translation),
        ("Translation as CSV", directory.table),
        *((("What stood there before", directory.before),) if files.list_names(directory.before) else ()),
    )
    page = (
        environment()
        .get_template("failover.html.j2")
        .render(
            title=found.title,
            written_at=words.moment(datetime.now(tz=UTC)),
            found=found,
            groups=found.groups[:MOST_GROUPS],
            by_checkpoints=_by_checkpoints,
            datasets={name: words.without_credentials(uri) for name, uri in named},
            links={"Translation as CSV": directory.table.rpartition("/")[2]},
        )
    )
    files.write_bytes(directory.table, _csv(iterate_dataset(directory.translation, TRANSLATION)).encode())
    files.write_bytes(directory.report, page.encode())
    return directory.report


def _moment(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else words.moment(_EPOCH + timedelta(milliseconds=milliseconds))


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    buffer = StringIO()
    writer = csv.DictWriter(buffer, TRANSLATION.names)
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return buffer.getvalue()


def _cell(value: object) -> object:
    """Keep a name from being a formula to whoever opens the file: anyone may name a group ``=HYPERLINK(…)``."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _trusted(count: int) -> str:
    return _TRUSTED.format(f"the groups in {words.count(count, 'partition')}")


def _by_checkpoints(line: GroupLine) -> str:
    """What MirrorMaker 2's own checkpoints would have cost."""
    missing = line.partitions - line.checkpoints
    told = f"{line.checkpoint_rereads:,}"
    return f"{told}, {missing:,} missing" if missing else told


def _row(line: GroupLine) -> str:
    return f"| {' | '.join(plain(cell) for cell in (line.group, *_numbers(line)))} |"


def _numbers(line: GroupLine) -> tuple[str, ...]:
    """What a line says in figures: partitions, exact ones, records read again and without a copy, by checkpoints."""
    counted = (line.partitions, line.exact, line.max_rereads, line.missing)
    return (*(f"{count:,}" for count in counted), _by_checkpoints(line))
