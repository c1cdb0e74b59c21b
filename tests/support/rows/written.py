"""Runs of every kind, written to a directory as real jobs and tasks write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Severity, Verdict
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory, RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import MovedOffset, Outcome, Result
from airflow_provider_connect_offsets.workspace.schemas import (
    CONNECTOR_OFFSETS,
    CONNECTORS,
    LOG_BOUNDS,
    OFFSET_PLAN,
    VERDICTS,
)

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
AFTERNOON = datetime(2026, 1, 31, 12, 5, tzinfo=UTC)


@dataclass(frozen=True)
class Written:
    """A run's directory, written stage by stage."""

    run: RunDirectory
    request: Request
    rows: Sequence[PlanRow] = ()

    @property
    def digest(self) -> str:
        return OffsetPlan.of(self.request, self.rows).digest

    def snapshot(self, logs: Mapping[tuple[str, int], tuple[int, int]]) -> Written:
        """Write what the snapshot writes."""
        write_snapshot(self.run, [self.request.connector], logs)
        return self

    def plan(
        self,
        rows: Sequence[PlanRow],
        verdicts: Sequence[Verdict] = (),
        *,
        again: int = 0,
        skipped: int = 0,
        at: datetime = NOON,
    ) -> Written:
        """Write what the plan job writes."""
        write_dataset(self.run.offset_plan, OFFSET_PLAN, [asdict(row) for row in rows])
        write_dataset(self.run.verdicts, VERDICTS, [asdict(verdict) for verdict in verdicts])
        return replace(self, rows=tuple(rows)).summary(verdicts, again=again, skipped=skipped, at=at)

    def summary(
        self, verdicts: Sequence[Verdict] = (), *, again: int = 0, skipped: int = 0, at: datetime = NOON
    ) -> Written:
        """Write what the plan job writes last."""
        actions = [row.action for row in self.rows]
        files.write_json(
            self.run.summary,
            {
                "connector": self.request.connector,
                "partitions": len(self.rows),
                **{action.value: actions.count(action) for action in Action},
                "records_again": again,
                "records_skipped": skipped,
                "digest": self.digest,
                "verdicts": {level.value: sum(one.severity is level for one in verdicts) for level in Severity},
                "planned_at": at.isoformat(),
            },
        )
        return self

    def outcome(self, result: Result, message: str = "What happened.", **fields: Any) -> Written:
        """Write what the change writes."""
        fields = {
            "prior_state": "RUNNING",
            "final_state": "RUNNING",
            "downtime_seconds": 1.42,
            "started_at": AFTERNOON,
            "finished_at": AFTERNOON,
            "warnings": (),
            "offsets": (),
            "digest": self.digest,
            **fields,
        }
        Outcome(connector=self.request.connector, run="dag/run", result=result, message=message, **fields).write(
            self.run.outcome
        )
        return self


def begin(directory: Path, request: Request | None = None) -> Written:
    """Start a run: only its request is written."""
    requested = request_for() if request is None else request
    run = RunDirectory(directory.as_uri())
    files.write_json(run.request, requested.as_json())
    return Written(run, requested)


FLIGHTS = {("flights", 0): (0, 600), ("flights", 1): (0, 40)}


def rewound(directory: Path) -> Written:
    """A plan that takes partition 0 of ``flights`` from 500 back to 120, and leaves partition 1 alone."""
    rows, warning = _rewound("flow")
    return begin(directory).snapshot(FLIGHTS).plan(rows, [warning], again=380)


def rewound_fleet(directory: Path, names: Iterable[str], *, notes: Sequence[str] = ()) -> dict[str, Written]:
    """The plan of ``rewound`` for each connector of a fleet."""
    fleet = FleetDirectory(directory.as_uri())
    plans = {name: _rewound(name) for name in names}
    members = {name: Written(fleet.member(name), request_for(name), rows) for name, (rows, _) in plans.items()}
    write_snapshot(fleet, list(plans), FLIGHTS)
    write_dataset(fleet.offset_plan, OFFSET_PLAN, [asdict(row) for rows, _ in plans.values() for row in rows])
    write_dataset(fleet.verdicts, VERDICTS, [asdict(warning) for _, warning in plans.values()])
    for name, member in members.items():
        files.write_json(member.run.request, member.request.as_json())
        member.summary([plans[name][1]], again=380)
    fleet.publish(plans, notes=notes)
    return members


def _rewound(connector: str) -> tuple[list[PlanRow], Verdict]:
    rows = [mirror_row(0, 500, 120, connector=connector), mirror_row(1, 40, 40, connector=connector)]
    message = f"`{connector}`, topic `flights`, partition 0: 380 records are delivered again."
    return rows, replace(finding(Severity.WARNING, message, rows[0]), connector=connector)


def write_snapshot(run: RunDirectory, names: Sequence[str], logs: Mapping[tuple[str, int], tuple[int, int]]) -> None:
    """Write the datasets of the snapshot of MirrorSources without offsets."""
    row = {
        "connect_cluster": "cluster",
        "connector_type": "source",
        "connector_class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "family": "mirror_source",
        "state": "RUNNING",
        "tasks": "[]",
        "config": "{}",
        "observed_at": datetime(2026, 1, 31, 11, 59, tzinfo=UTC),
    }
    bounds = [
        {"kafka_cluster": "k", "topic": topic, "kafka_partition": number, "log_start": start, "log_end": end}
        for (topic, number), (start, end) in logs.items()
    ]
    write_dataset(run.connectors, CONNECTORS, [{**row, "connector": name} for name in names])
    write_dataset(run.connector_offsets, CONNECTOR_OFFSETS, [])
    write_dataset(run.log_bounds, LOG_BOUNDS, bounds)


def request_for(connector: str = "flow", *, to: str = "earliest", **words: str) -> Request:
    """A request as a person types it."""
    return Request.parse(connector=connector, to=to, now=NOON, **words)


def mirror_row(number: int, before: int | None, after: int, **fields: Any) -> PlanRow:
    """A row of a MirrorSource's plan for topic ``flights``."""
    topic, connector = fields.pop("topic", "flights"), fields.pop("connector", "flow")
    return PlanRow(
        **{
            "connector": connector,
            "family": "mirror_source",
            "partition": f'{{"cluster":"source","partition":{number},"topic":"{topic}"}}',
            "topic": topic,
            "kafka_partition": number,
            "before": _stored(before),
            "before_position": before,
            "after": _stored(after),
            "after_position": after,
            "action": Action.KEEP if before == after else Action.SET if after else Action.CLEAR,
            "reason": "to=earliest",
            **fields,
        }
    )


def moved(row: PlanRow, *, stands: int, before: int | None = None) -> MovedOffset:
    """The outcome of a row; ``before`` if its position had moved since the plan."""
    stood = row.before_position if before is None else before
    return MovedOffset(
        partition=row.partition,
        topic=row.topic,
        kafka_partition=row.kafka_partition,
        before=_stored(stood),
        before_position=stood,
        after=row.after,
        after_position=row.after_position,
        stands=_stored(stands),
        stands_position=stands,
    )


def finding(severity: Severity, message: str, row: PlanRow | None = None, *, rule: str = "rewind") -> Verdict:
    """A verdict on a row, or on the whole connector."""
    return Verdict(rule, severity, "flow", None if row is None else row.partition, message)


def _stored(position: int | None) -> str | None:
    return f'{{"offset":{position - 1}}}' if position else None


def orphaned(path: Path, *, existing: int = 4) -> OrphansDirectory:
    """A search with offsets of two deleted connectors; ``existing``: the number of others with offsets in the topic."""
    directory = OrphansDirectory(path.as_uri())
    listed = [
        ("files-old", 3, 2048, "2025-11-02T08:00:00.000+00:00", '{"filename":"/data/in.txt"}', '{"position":8}'),
        ("größe <b>|x", 1, 60, "2026-01-31T11:20:00.000+00:00", '{"n":1}', "{" + "9" * 200 + "}"),
    ]
    names = ("connector", "partitions", "size_bytes", "written_at", "partition", "offset")
    summary = {
        "request": {"topic": "connect-offsets", "connectors": None, "written_before": None},
        "problem": None,
        "known": 7,
        "existing": existing,
        "records": 1200,
        "keys": 40,
        "passed_over": 1,
        "in_two_partitions": 0,
        "orphaned": 2,
        "partitions": 4,
        "size_bytes": 2108,
        "digest": "0123456789abcdef",
        "connectors": [dict(zip(names, one, strict=True)) for one in listed],
        "more": 0,
        "found_at": "2026-01-31T12:00:00.000+00:00",
    }
    files.write_json(directory.summary, summary)
    return directory
