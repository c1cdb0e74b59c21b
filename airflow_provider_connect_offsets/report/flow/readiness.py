"""A flow's readiness: its report with charts, and a table for logs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Group

from airflow_provider_connect_offsets.offsets.advice import Advice, advise
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.charts.trend import GroupBar, Point, Series, draw_rereads, draw_trend
from airflow_provider_connect_offsets.report.html import Figure, Findings, embed_drawing, publish
from airflow_provider_connect_offsets.report.standing import Standing, Tone
from airflow_provider_connect_offsets.report.tables import finding_table
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import LAG_TREND
from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory
from airflow_provider_connect_offsets.workspace.schemas import CONNECTORS

MOST_OF_A_RULE = 5
ALL = "All partitions together"
_KINDS = {"planned": "a planned", "unplanned": "an unplanned"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Classes of findings, in the order in which a person should read them; the configuration has its own table.
CLASSES: Mapping[str, tuple[Rule, ...]] = {
    "Lost or created again": (Rule.RETENTION_LOSS, Rule.SOURCE_RECREATED, Rule.REMOTE_TOPIC_LOST),
    "Connectors and their tasks": (Rule.NOT_RUNNING, Rule.STUCK),
    "Lag": (Rule.LAG,),
    "Offset syncs": (Rule.SYNC_MISSING, Rule.SYNC_OLD),
    "Checkpoints": (Rule.CHECKPOINT_MISSING, Rule.CHECKPOINT_OLD),
    "Groups after a failover": (Rule.COVERAGE, Rule.UNPLANNED_COVERAGE, Rule.REREADS, Rule.TARGET_GROUP),
}


@dataclass(frozen=True, slots=True)
class Readiness:
    """A flow's readiness, from the job's summary.

    Attributes:
        directory: the run
        summary: summary of the job
        connectors: rows of dataset ``connectors``
    """

    directory: ReadinessDirectory
    summary: Mapping[str, Any]
    connectors: tuple[Mapping[str, Any], ...]

    @classmethod
    def read(cls, directory: ReadinessDirectory) -> Readiness:
        """Read the run's directory; raises :class:`DatasetError` if the job has not run yet."""
        return cls(directory, files.read_json(directory.summary), tuple(read_dataset(directory.connectors, CONNECTORS)))

    @property
    def title(self) -> str:
        """Heading of the report."""
        flow = self.summary["flow"]
        return f"Readiness of {flow['source_alias']} → {flow['target_alias']} for a failover"

    @property
    def observed_at(self) -> datetime:
        """When the flow was observed."""
        return datetime.fromisoformat(self.summary["observed_at"])

    @property
    def is_ready(self) -> bool:
        """Whether there is no error, for a planned and for an unplanned failover."""
        return bool(self.summary["ready"])

    @property
    def standing(self) -> Standing:
        """The banner: whether a failover is possible now."""
        warnings = self.summary["verdicts"][Severity.WARNING.value]
        if self.is_ready:
            notice = f"No threshold is crossed. {quantify(warnings, 'warning')} below." if warnings else ""
            return Standing("Ready", Tone.CALM if warnings else Tone.GOOD, notice or "No threshold is crossed.")
        errors = quantify(self.summary["verdicts"][Severity.ERROR.value], "error")
        ready_for = self.summary["ready_for"]
        headline = f"Ready only for {_KINDS[ready_for[0]]} failover" if ready_for else "Not ready"
        return Standing(f"{headline}: {errors}", Tone.BAD, self.sentence)

    @property
    def sentence(self) -> str:
        """The message of the worst error; empty if there is none."""
        worst = self.summary["worst"]
        return "" if worst is None else str(worst["message"])

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Key figures."""
        summary = self.summary
        oldest = "unknown" if summary["lag_ms"] is None else words.seconds(summary["lag_ms"] / 1000)
        partitions = summary["group_partitions"]
        return (
            Figure(
                f"{summary['lag']:,}",
                "records not replicated yet",
                f"in {summary['lagging']:,} of {summary['partitions']:,} partitions",
            ),
            Figure(oldest, "age of the oldest record not replicated yet"),
            Figure(
                f"{summary['lost']:,}",
                "offsets lost",
                "deleted from the source" if summary["lost"] else "",
                "never" if summary["lost"] else "",
            ),
            Figure(
                _share(summary["group_planned"], partitions),
                "of groups' positions covered by a planned failover",
                f"{summary['group_planned']:,} of {partitions:,}, in {quantify(summary['groups'], 'group')}",
            ),
            Figure(
                _share(summary["group_unplanned"], partitions),
                "of groups' positions covered if the source were lost now",
                f"{summary['group_unplanned']:,} of {partitions:,}",
            ),
            Figure(f"{summary['group_rereads']:,}", "records read again after a planned failover", "at most", "again"),
        )

    @property
    def classes(self) -> list[Findings]:
        """Findings by class, without empty classes."""
        sample = self.summary["sample"]
        classes = [Findings.of(title, sample, rules, most=MOST_OF_A_RULE) for title, rules in CLASSES.items()]
        return [one for one in classes if one.rows]

    @property
    def advice(self) -> tuple[Advice, ...]:
        """Advice on the flow's configuration, worst first."""
        request = self.summary["request"]
        configs = {row["connector"]: json.loads(row["config"]) for row in self.connectors}
        names = request["source_connector"], request["checkpoint_connector"]
        source, checkpoint = ((name, configs[name]) if name in configs else None for name in names)
        if source is None:
            return ()
        order = list(Severity)
        return tuple(sorted(advise(source, checkpoint), key=lambda advice: order.index(advice.severity)))

    @property
    def partition_lines(self) -> Sequence[Mapping[str, Any]]:
        """Partitions of the summary, worst first."""
        return [
            {
                **line,
                "sync_at": None if line["sync_at"] is None else _EPOCH + timedelta(milliseconds=line["sync_at"]),
                "wrong": _is_wrong(line),
            }
            for line in self.summary["partition_lines"]
        ]

    @property
    def group_lines(self) -> Sequence[Mapping[str, Any]]:
        """Groups of the summary, worst first."""
        lines: Sequence[Mapping[str, Any]] = self.summary["group_lines"]
        return lines

    def trend(self) -> Series:
        """Return the lag over time, of all partitions together and of the partitions that lag most."""
        lines: dict[str, list[Point]] = {ALL: []}
        rows = sorted(read_dataset(self.directory.lag_trend, LAG_TREND), key=lambda row: row["observed_at"])
        for row in rows:
            label = ALL if row["topic"] is None else f"{row['topic']}, partition {row['kafka_partition']}"
            seconds = None if row["lag_ms"] is None else row["lag_ms"] / 1000
            lines.setdefault(label, []).append(Point(row["observed_at"], row["lag"], seconds))
        worst = sorted(lines, key=lambda label: (label != ALL, -(lines[label][-1].lag or 0) if lines[label] else 0))
        return {label: lines[label] for label in worst}

    def table(self) -> Group:
        """Return a table of the verdicts, worst first."""
        rank = list(Severity)
        sample = sorted(self.summary["sample"], key=lambda row: rank.index(Severity(row["severity"])))
        findings = [(row["severity"], row["rule"], row["message"]) for row in sample]
        numbers = ", ".join(f"{figure.value} {figure.label}" for figure in self.figures)
        return finding_table(f"{self.title}: {self.standing.headline}", findings, numbers)

    def write(self) -> str:
        """Write the report as the run's ``report.html``, and return its URI."""
        directory = self.directory
        bars = [GroupBar(line["group"], line["rereads"], line["checkpoint_rereads"]) for line in self.group_lines]
        uris = {
            "Request": directory.request,
            "Partitions": directory.readiness,
            "Groups": directory.group_readiness,
            "Verdicts": directory.verdicts,
            "History": str(self.summary["next_history"]),
        }
        return publish(
            directory.report,
            "readiness.html.j2",
            title=self.title,
            readiness=self,
            trend=embed_drawing(draw_trend(self.trend(), name="trend")),
            rereads=embed_drawing(draw_rereads(sorted(bars, key=lambda bar: -(bar.planned or 0)), name="rereads")),
            datasets=words.uris(uris),
        )


def _share(covered: int, partitions: int) -> str:
    return f"{covered / partitions:.0%}" if partitions else "none"


def _is_wrong(line: Mapping[str, Any]) -> bool:
    """Whether records are lost, or the remote topic does not match its source."""
    end, position = line["log_end"], line["position"]
    beyond = end is None or (position is not None and position > end)
    shorter = line["target_end"] is None or line["target_end"] <= (line["sync_downstream"] or -1)
    return bool(line["lost"]) or beyond or (shorter and position is not None)
