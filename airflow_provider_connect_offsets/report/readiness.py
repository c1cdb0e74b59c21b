"""A flow's readiness for people: a page with plots, and tables for the log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from rich.console import Group

from airflow_provider_connect_offsets.offsets.advice import Advice, advise
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.figures import Figure
from airflow_provider_connect_offsets.report.page import environment
from airflow_provider_connect_offsets.report.standing import Standing, Tone
from airflow_provider_connect_offsets.report.tables import cells, new_table, titled
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import LAG_TREND
from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory
from airflow_provider_connect_offsets.workspace.schemas import CONNECTORS

if TYPE_CHECKING:
    from markupsafe import Markup

    from airflow_provider_connect_offsets.report.charts.trend import Series

MOST_ROWS = 20
MOST_OF_A_RULE = 5
ALL = "All partitions together"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Classes of findings, in the order in which a person should look at them. What the configuration does stands by itself.
CLASSES: Mapping[str, tuple[Rule, ...]] = {
    "Lost or created again": (Rule.RETENTION_LOSS, Rule.SOURCE_RECREATED, Rule.REMOTE_TOPIC_LOST),
    "Connectors and their tasks": (Rule.NOT_RUNNING, Rule.STUCK),
    "Lag": (Rule.LAG,),
    "Offset syncs": (Rule.SYNC_MISSING, Rule.SYNC_OLD),
    "Checkpoints": (Rule.CHECKPOINT_MISSING, Rule.CHECKPOINT_OLD),
    "Groups after a failover": (Rule.COVERAGE, Rule.UNPLANNED_COVERAGE, Rule.REREADS, Rule.TARGET_GROUP),
}


@dataclass(frozen=True, slots=True)
class FindingClass:
    """What was found of one class: (severity, rule's sentence, message) of some, and how many more there are."""

    title: str
    rows: tuple[tuple[str, str, str], ...]
    more: int


@dataclass(frozen=True, slots=True)
class Readiness:
    """What a look has found; the numbers are those of the job's summary."""

    directory: ReadinessDirectory
    summary: Mapping[str, Any]
    connectors: tuple[Mapping[str, Any], ...]

    @classmethod
    def read(cls, directory: ReadinessDirectory) -> Readiness:
        """Read what the run's directory holds; raises :class:`DatasetError` where nothing is judged yet."""
        return cls(directory, files.read_json(directory.summary), tuple(read_dataset(directory.connectors, CONNECTORS)))

    @property
    def title(self) -> str:
        """What the page is about."""
        flow = self.summary["flow"]
        return f"Readiness of {flow['source_alias']} → {flow['target_alias']} for a failover"

    @property
    def observed_at(self) -> datetime:
        """When it was looked."""
        return datetime.fromisoformat(self.summary["observed_at"])

    @property
    def ready(self) -> bool:
        """No threshold is crossed, and nothing is lost, for a failover of either kind."""
        return bool(self.summary["ready"])

    @property
    def standing(self) -> Standing:
        """Whether a failover could happen now, said first."""
        warnings = self.summary["verdicts"][Severity.WARNING.value]
        if self.ready:
            notice = f"No threshold is crossed. {words.count(warnings, 'warning')} below." if warnings else ""
            return Standing("Ready", Tone.CALM if warnings else Tone.GOOD, notice or "No threshold is crossed.")
        errors = words.count(self.summary["verdicts"][Severity.ERROR.value], "error")
        ready_for = self.summary["ready_for"]
        headline = f"Ready only for a failover that is {ready_for[0]}" if ready_for else "Not ready"
        return Standing(f"{headline}: {errors}", Tone.BAD, self.sentence)

    @property
    def sentence(self) -> str:
        """The worst that was found, in one sentence or two; empty where nothing was."""
        worst = self.summary["worst"]
        return "" if worst is None else str(worst["message"])

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The few numbers that a reader looks for first."""
        told = self.summary
        oldest = "not known" if told["lag_ms"] is None else words.seconds(told["lag_ms"] / 1000)
        partitions = told["group_partitions"]
        return (
            Figure(
                f"{told['lag']:,}",
                "records not replicated yet",
                f"in {told['lagging']:,} of {told['partitions']:,} partitions",
            ),
            Figure(oldest, "age of the oldest of them"),
            Figure(
                f"{told['lost']:,}",
                "offsets lost",
                "" if not told["lost"] else "gone from the source",
                "never" if told["lost"] else "",
            ),
            Figure(
                _share(told["group_planned"], partitions),
                "of groups' positions covered by a planned failover",
                f"{told['group_planned']:,} of {partitions:,}, in {words.count(told['groups'], 'group')}",
            ),
            Figure(
                _share(told["group_unplanned"], partitions),
                "of them covered were the source lost now",
                f"{told['group_unplanned']:,} of {partitions:,}",
            ),
            Figure(f"{told['group_rereads']:,}", "records read again after a planned failover", "at most", "again"),
        )

    @property
    def classes(self) -> tuple[FindingClass, ...]:
        """What was found, class by class; classes of which nothing was are left out."""
        found = []
        for title, rules in CLASSES.items():
            rows: list[tuple[str, str, str]] = []
            times = 0
            for severity in Severity:
                for rule in rules:
                    kind = [one for one in self.summary["sample"] if (one["rule"], one["severity"]) == (rule, severity)]
                    rows += [(severity.value, rule.sentence, one["message"]) for one in kind[:MOST_OF_A_RULE]]
                    times += kind[0]["times"] if kind else 0
            if rows:
                found.append(FindingClass(title, tuple(rows), times - len(rows)))
        return tuple(found)

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What of the flow's configuration makes a failover worse, worst first."""
        request = self.summary["request"]
        configs = {one["connector"]: json.loads(one["config"]) for one in self.connectors}
        names = request["source_connector"], request["checkpoint_connector"]
        source, checkpoint = ((name, configs[name]) if name in configs else None for name in names)
        if source is None:
            return ()
        order = list(Severity)
        return tuple(sorted(advise(source, checkpoint), key=lambda one: order.index(one.severity)))

    @property
    def partition_lines(self) -> Sequence[Mapping[str, Any]]:
        """Partitions, worst first, as many as the summary lists."""
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
        """Groups, worst first, as many as the summary lists."""
        lines: Sequence[Mapping[str, Any]] = self.summary["group_lines"]
        return lines

    def trend(self) -> Series:
        """The lag over time: of all partitions together, then of those that lag most."""
        from airflow_provider_connect_offsets.report.charts.trend import Point  # noqa: PLC0415 - matplotlib takes its time

        lines: dict[str, list[Point]] = {ALL: []}
        rows = sorted(read_dataset(self.directory.lag_trend, LAG_TREND), key=lambda row: row["observed_at"])
        for row in rows:
            label = ALL if row["topic"] is None else f"{row['topic']}, partition {row['kafka_partition']}"
            seconds = None if row["lag_ms"] is None else row["lag_ms"] / 1000
            lines.setdefault(label, []).append(Point(row["observed_at"], row["lag"], seconds))
        worst = sorted(lines, key=lambda label: (label != ALL, -(lines[label][-1].lag or 0) if lines[label] else 0))
        return {label: lines[label] for label in worst}


def readiness_table(found: Readiness, *, limit: int = MOST_ROWS) -> Group:
    """What was found, worst first, for a log."""
    table = new_table("Severity", "Rule", "What was found")
    rank = list(Severity)
    sample = sorted(found.summary["sample"], key=lambda one: rank.index(Severity(one["severity"])))
    for one in sample[:limit]:
        table.add_row(*cells(one["severity"].upper(), one["rule"], words.without_credentials(one["message"])))
    numbers = ", ".join(f"{figure.value} {figure.label}" for figure in found.figures)
    return titled(f"{found.title}: {found.standing.headline}", table, numbers)


def write_readiness_page(directory: ReadinessDirectory) -> str:
    """Publish the page as the run's ``report.html``, and return where it lies."""
    found = Readiness.read(directory)
    page = (
        environment()
        .get_template("readiness.html.j2")
        .render(
            title=found.title,
            written_at=words.moment(datetime.now(tz=UTC)),
            found=found,
            trend=_trend(found),
            rereads=_rereads(found),
            datasets={
                name: words.without_credentials(uri)
                for name, uri in (
                    ("Request", directory.request),
                    ("Partitions", directory.readiness),
                    ("Groups", directory.group_readiness),
                    ("Verdicts", directory.verdicts),
                    ("History", str(found.summary["next_history"])),
                )
            },
        )
    )
    files.write_bytes(directory.report, page.encode())
    return directory.report


def _share(covered: int, partitions: int) -> str:
    return f"{covered / partitions:.0%}" if partitions else "none"


def _is_wrong(line: Mapping[str, Any]) -> bool:
    """Whether records are lost, or source and remote topic no longer belong together."""
    end, position = line["log_end"], line["position"]
    beyond = end is None or (position is not None and position > end)
    shorter = line["target_end"] is None or line["target_end"] <= (line["sync_downstream"] or -1)
    return bool(line["lost"]) or beyond or (shorter and position is not None)


def _trend(found: Readiness) -> Markup | None:
    from airflow_provider_connect_offsets.report.charts.trend import draw_trend  # noqa: PLC0415 - as above

    return _drawn(draw_trend(found.trend(), name="trend"))


def _rereads(found: Readiness) -> Markup | None:
    from airflow_provider_connect_offsets.report.charts.trend import GroupBar, draw_rereads  # noqa: PLC0415 - as above

    bars = [GroupBar(line["group"], line["rereads"], line["checkpoint_rereads"]) for line in found.group_lines]
    return _drawn(draw_rereads(sorted(bars, key=lambda bar: -(bar.planned or 0)), name="rereads"))


def _drawn(svg: str | None) -> Markup | None:
    from markupsafe import Markup  # noqa: PLC0415 - as jinja2

    # Drawn here and not by anyone else: what is text in it, the drawing has escaped.
    return None if svg is None else Markup(svg)  # noqa: S704
