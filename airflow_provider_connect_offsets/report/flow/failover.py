"""A failover of consumer groups: its report and CSV, a table for logs, and the question to the approver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Group

from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, Method, Mode
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.flow.failover_groups import NUMBERS, GroupLine, as_csv
from airflow_provider_connect_offsets.report.html import Figure, publish
from airflow_provider_connect_offsets.report.question import MOST_ROWS, Rows, code, markdown, report_link
from airflow_provider_connect_offsets.report.standing import Pending, Standing, Tone
from airflow_provider_connect_offsets.report.tables import row_table
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

MOST_GROUPS = 500
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_WAITS = {
    Pending.APPROVAL: ("Waiting for approval", "Nothing has been stopped, and no group has been moved."),
    Pending.DRY_RUN: ("Dry run: no group was moved", "Nothing was stopped."),
    Pending.REJECTED: ("Rejected: no group was moved", "The approver rejected it, or nobody answered in time."),
    None: (
        "Translated, not committed",
        "No outcome is recorded here. If the run continued, its final translation is in `final` next to this report.",
    ),
}

_UNPLANNED = (
    "Groups read again the records that they have read since then. Exact means that no replicated record from the "
    "group's position on is skipped or read again. Records of the source that were not replicated are unknown."
)
_TRUSTED = (
    "In {}, only MirrorMaker 2's own checkpoint translates the groups' positions. The checkpoint may lie beyond "
    "unread records if the flow was being reset when the source was lost, or if the topic was created again. Without "
    "the Param trust_checkpoints, these groups are left alone."
)
_WITHOUT_LEDGER = (
    "There is no ledger of this flow. With a ledger, groups without a checkpoint would be moved too, offset syncs that "
    "were lost with the source could still be used, and most translated offsets would be exact. For the next failover, "
    "schedule mirror_readiness for the flow while its source is running."
)


@dataclass(frozen=True, slots=True)
class Failover:
    """A translation and its outcome.

    Attributes:
        directory: the run
        request: the request
        summary: summary of the job
        groups: a row for each group, those left alone first
        outcome: outcome of the commits; None before a commit
        pending: why the groups are not moved yet; None if unknown
    """

    directory: FailoverDirectory
    request: FailoverRequest
    summary: Mapping[str, Any]
    groups: Sequence[GroupLine]
    outcome: Mapping[str, Any] | None
    pending: Pending | None = None

    @classmethod
    def read(cls, directory: FailoverDirectory, *, pending: Pending | None = None) -> Failover:
        """Read the run's directory; raises :class:`DatasetError` if the job has not run yet."""
        summary, outcome = files.read_json(directory.summary), files.read_json_if_any(directory.outcome)
        if outcome is not None and outcome["digest"] != summary["digest"]:
            outcome = None  # of an earlier translation in the same directory
        groups: dict[str, GroupLine] = {}
        for row in iterate_dataset(directory.translation, TRANSLATION):
            if row["covered"] is not None:  # else its topic has no remote topic; the report lists those topics
                groups.setdefault(row["group"], GroupLine(row["group"])).add(row)
        if outcome is not None:
            for name, reason in outcome["left"].items():
                groups.setdefault(name, GroupLine(name)).reason = reason
        order = {Tone.BAD: 0, Tone.CALM: 1, Tone.GOOD: 2}
        lines = sorted(groups.values(), key=lambda line: (order[line.tone], -line.max_rereads, line.group))
        request = FailoverRequest.from_json(summary["request"])
        return cls(directory, request, summary, lines, outcome, pending)

    @property
    def title(self) -> str:
        """Heading of the report."""
        flow = self.request.flow
        return f"Consumer groups from {flow.source_alias} to {flow.target_alias}"

    @property
    def kind(self) -> str:
        """Kind of failover, and where its positions come from."""
        if self.request.forward is not None:
            return (
                "Failback: the positions are the offsets that the groups committed on "
                f"{self.request.flow.source_alias}. Positions in remote topics are translated to the source topics of "
                "their records."
            )
        if self.request.mode is Mode.PLANNED:
            return "Planned: the positions are the offsets that the groups committed on the source."
        count = self.summary[f"by_{Method.CHECKPOINT}"]
        trusted = f" {_TRUSTED.format(quantify(count, 'partition'))}" if count else ""
        return f"{self._positions} {_UNPLANNED}{trusted}"

    @property
    def _positions(self) -> str:
        """Source and age of the positions of an unplanned failover."""
        since, at = (_moment(self.summary.get(name)) for name in ("positions_since", "ledger_at"))
        oldest = f" The oldest position is from {since}." if since else ""
        if at is None:
            return f"Unplanned: the positions are from MirrorMaker 2's last checkpoints.{oldest} {_WITHOUT_LEDGER}"
        return (
            "Unplanned: each position is from MirrorMaker 2's last checkpoint or from the ledger that mirror_readiness "
            f"wrote at {at}, whichever is later. Positions from the ledger: {self.summary['by_ledger']:,}.{oldest}"
        )

    @property
    def beyond_limit(self) -> str:
        """Sentences on partitions whose offsets can't all be proved, as too few records will be read; may be empty."""
        beyond, request = self.summary.get("beyond_limit"), self.request
        sentences = []
        if beyond and beyond["partitions"]:
            sentences.append(
                f"In {quantify(beyond['partitions'], 'partition')}, too few records will be read to prove every "
                f"translated offset: {beyond['records']:,} more records of both logs would exceed compared_total "
                f"({request.compared_total:,}). Raise compared_total, which stops the flow longer, or accept that "
                "these groups read some records again."
            )
        if beyond and beyond.get("too_far"):  # an earlier version did not count them
            sentences.append(
                f"In {quantify(beyond['too_far'], 'partition')}, a group has more records left to read than compared "
                f"({request.compared:,}) allows. They are not read to prove where the group resumes."
            )
        return " ".join(sentences)

    @property
    def unmovable(self) -> str:
        """A sentence on groups of the source that aren't consumer groups; empty if there are none."""
        kinds = self.summary.get("unmovable") or {}
        named = "; ".join(f"{name!r} is {kind}" for name, kind in kinds.items())
        return f"Left alone, because only consumer groups can be moved: {named}." if kinds else ""

    @property
    def to_be_found(self) -> str:
        """Sentences on partitions that records will translate while the flow is stopped; empty if there are none."""
        pending = self.summary.get("to_be_found") or {"partitions": 0}
        if not pending["partitions"]:
            return ""
        share = f"{self.request.min_coverage:.0%}"
        return (
            f"In {quantify(pending['partitions'], 'partition')}, offset syncs alone do not tell where the group "
            "resumes or whether it is already there. While the flow is stopped, records will be compared to find out. "
            f"At most {quantify(pending['max_rereads'], 'record')} are read again there. Nothing is committed if less "
            f"than {share} of all partitions are translated."
        )

    @property
    def exact_share(self) -> str:
        """Share of translated partitions that are exact."""
        covered = self.summary["covered"]
        return f"{self.summary['exact'] / covered:.1%}" if covered else "none"

    @property
    def summary_rows(self) -> Rows:
        """The groups for a log and an approver."""
        headings = ("Group", *NUMBERS, "Standing", "Reason")
        rows = [(line.group, *line.numbers, line.standing, line.reason) for line in self.groups]
        return Rows("groups", headings, rows, range(1, 1 + len(NUMBERS)), self.directory.table)

    @property
    def standing(self) -> Standing:
        """The banner."""
        if self.summary["errors"]:
            return Standing("Refused: no group was moved", Tone.BAD, " ".join(self.summary["errors"]))
        if self.outcome is None:
            headline, sentence = _WAITS[self.pending]
            return Standing(headline, Tone.CALM, sentence)
        moved = f"The offsets of {quantify(self.outcome['groups'], 'group')} were committed and read back."
        if self.outcome["left"]:
            left = quantify(len(self.outcome["left"]), "group")
            return Standing(f"Not moved: {left}", Tone.BAD, f"{moved} The groups that were not moved are listed below.")
        if late := self.outcome.get("late"):
            meanwhile = f"During the commits, {late}. These records are not on the target."
            return Standing(
                "Moved, but records are missing on the target", Tone.BAD, f"{moved} {meanwhile}", applied=True
            )
        return Standing("Moved", Tone.GOOD, moved, applied=True)

    def table(self, *, limit: int = MOST_ROWS) -> Group:
        """Return a table with a row for each group, groups left alone first."""
        title = f"{self.title}: {quantify(len(self.groups), 'group')}"
        return row_table(title, self.summary_rows, limit=limit)

    @property
    def subject(self) -> str:
        """The question to the approver, in one line."""
        return f"Move {self.title[0].lower()}{self.title[1:]}?"

    def question(self, *, link: str | None = None) -> str:
        """Return the question to the approver: which groups would be moved; ``link``: see ``question.question``."""
        summary, request = self.summary, self.request
        connectors = (request.source_connector, request.forward_connector)
        stopped = " and ".join(code(name) for name in connectors if name)
        procedure = (
            f"The run waits for replication, stops {stopped}, translates all positions again, checks them, and "
            f"commits them. {_limits(request)}"
            if request.mode is Mode.PLANNED
            else self.kind
        )
        count = f"**{quantify(summary['groups'], 'group')}** with {quantify(summary['partitions'], 'partition')}"
        parts = [
            f"{count} would move from {code(request.flow.source_alias)} to {code(request.flow.target_alias)}.",
            procedure,
            self.summary_rows.markdown(),
            self.unmovable,
            self.to_be_found,
            self.beyond_limit,
            report_link(self.directory.report, link),
            "Nothing has been stopped or moved yet.",
        ]
        return markdown(parts)

    def write(self) -> str:
        """Write the report as ``report.html`` and all rows as ``translation.csv``, and return the report's URI."""
        directory = self.directory
        uris = {
            "Request": directory.request,
            "Translation": directory.translation,
            "Translation as CSV": directory.table,
        }
        if files.list_names(directory.before):
            uris["Prior offsets on the target"] = directory.before
        files.write_bytes(directory.table, as_csv(iterate_dataset(directory.translation, TRANSLATION)).encode())
        return publish(
            directory.report,
            "failover.html.j2",
            title=self.title,
            failover=self,
            figures=_figures(self),
            headings=NUMBERS,
            groups=[(line, line.numbers) for line in self.groups[:MOST_GROUPS]],
            datasets=words.uris(uris),
            links={"Translation as CSV": directory.table.rpartition("/")[2]},
        )


def _limits(request: FailoverRequest) -> str:
    """Return a sentence on the conditions of the commits."""
    rereads = (
        "no partition has more re-reads than in the preview"
        if request.max_rereads is None
        else f"at most {request.max_rereads:,} records are read again"
    )
    return (
        f"It commits only if at least {request.min_coverage:.0%} of the partitions are translated then, {rereads}, and "
        "every group to be moved is listed here."
    )


def _figures(failover: Failover) -> tuple[Figure, ...]:
    summary = failover.summary
    without = quantify(summary["without_checkpoint"], "partition")
    return (
        Figure(f"{summary['groups']:,}", "groups", quantify(summary["partitions"], "partition")),
        Figure(failover.exact_share, "translated exactly", f"{summary['exact']:,} of {summary['covered']:,}"),
        Figure(f"{summary['max_rereads']:,}", "records read again", "at most", "again"),
        Figure(f"{summary.get('missing', 0):,}", "unread records without a copy"),
        Figure(
            f"{summary['checkpoint_rereads']:,}",
            "records read again with MirrorMaker 2's checkpoints alone",
            f"{without} without a checkpoint",
            "never",
        ),
        Figure(
            f"{summary['checked']:,}",
            "translated offsets checked against records",
            f"{summary['mismatched']:,} disproved",
        ),
        Figure(f"{summary['left_groups']:,}", "groups left alone"),
    )


def _moment(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else words.moment(_EPOCH + timedelta(milliseconds=milliseconds))
