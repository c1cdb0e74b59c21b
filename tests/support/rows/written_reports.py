"""Runs for a report of each kind, with the longest names and largest numbers possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import (
    ConnectorInfo,
    ConnectorOverview,
    ConnectorStatus,
    State,
    TaskStatus,
)
from airflow_provider_connect_offsets.offsets.document import canonical_json
from airflow_provider_connect_offsets.offsets.families import ConnectorType
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.offsets.requests.flow_reset import FlowReset
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.report import (
    Failover,
    FleetChange,
    Orphans,
    Readiness,
    Reset,
    write_report,
)
from airflow_provider_connect_offsets.report.html import embed_drawing, publish
from airflow_provider_connect_offsets.report.pages.actions import actions_on
from airflow_provider_connect_offsets.report.pages.flows import SeenFlow, SeenReadiness
from airflow_provider_connect_offsets.report.pages.history import History, SeenAt
from airflow_provider_connect_offsets.report.pages.operations import SeenOperation
from airflow_provider_connect_offsets.report.pages.overview import SeenCluster, SeenConnector, SeenRun, Waiting
from airflow_provider_connect_offsets.report.pages.positions import SeenPosition
from airflow_provider_connect_offsets.report.standing import Standing, Tone
from airflow_provider_connect_offsets.saga import Owner, SagaRecord, SagaState
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.flow_schemas import LAG_TREND, RESET_TOPICS, TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, ResetDirectory
from airflow_provider_connect_offsets.workspace.outcome import Result
from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory
from airflow_provider_connect_offsets.workspace.schemas import CONNECTORS
from airflow_provider_connect_offsets.workspace.series import read_record
from airflow_provider_connect_offsets.workspace.snapshots import SnapshotDirectory, SnapshotRecord
from tests.support.rows.snapshots import At, Taken, changes_report
from tests.support.rows.written import begin, finding, mirror_row, orphaned, request_for, rewound_fleet
from tests.support.rows.written_records import poison_report, replay_report

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
LONG = "a-connector-of-the-warehouse-for-orders-and-payments." + "eu-central-1." * 12
LARGE = 9_123_456_789_012


def failover_row(group: str, **columns: Any) -> dict[str, Any]:
    """A row of a translation."""
    where = {"source_topic": "orders", "target_topic": "eu.orders", "kafka_partition": 0, "upstream": 70}
    good = {"downstream": 70, "exact": True, "max_rereads": 0, "method": "bracket", "action": "commit", "reason": "so"}
    evidence = {"covered": True, "target_before": None, "checkpoint": 50, "checkpoint_rereads": 20}
    return {"group": group, **where, **good, **evidence, **columns}


def write_failover(
    directory: FailoverDirectory, rows: list[dict[str, Any]], *, planned: bool = True, **entries: Any
) -> None:
    """Write what the translation of three groups writes; ``entries``: more of its summary."""
    flow = Flow(source_alias="eu", target_alias="us")
    request = FailoverRequest.parse(planned=planned, flow=flow, groups="orders-.*", source_connector="eu->us")
    counts = {"groups": 3, "partitions": 3, "commit": 2, "covered": 2, "exact": 1, "max_rereads": 1_234}
    counts["missing"] = 5_678
    methods = {f"by_{name}": 0 for name in ("bracket", "record", "end", "sync", "checkpoint", "none")}
    more = {"without_checkpoint": 1, "checkpoint_rereads": 40, "checked": 1, "mismatched": 0, "left_groups": 1}
    files.write_json(
        directory.summary,
        {
            "request": request.as_json(),
            "errors": [],
            "digest": "d" * 64,
            "unreplicated": ["payments"],
            "translated_at": "2026-01-31T12:00:00+00:00",
            **counts,
            **methods,
            **more,
            **entries,
        },
    )
    write_dataset(directory.translation, TRANSLATION, rows)


def planned_reset(path: Path, *, foreign: str = "<b>*") -> ResetDirectory:
    """A planned reset of topic ``flights``, with a topic of another flow in the syncs."""
    written = begin(path).snapshot({("flights", 0): (0, 600)}).plan([mirror_row(0, 500, 120)], again=380)
    run = ResetDirectory(written.run.uri)
    reset = FlowReset(source_connector="flow", checkpoint_connector="check", checkpoints=True, flow=Flow())
    files.write_json(run.flow, reset.as_json())
    more = {"duplicates": 300, "syncs": 12, "checkpoints": 4}
    files.write_json(run.summary, {**files.read_json(run.summary), **more})
    rows = [("flights", "reset", 1, 380, 300, 11, NOON), (foreign, "foreign", 0, 0, 0, 1, NOON)]
    write_dataset(run.reset_topics, RESET_TOPICS, [dict(zip(RESET_TOPICS.names, row, strict=True)) for row in rows])
    return run


def change_report(path: Path) -> str:
    """A change of a connector with a long name: few records on a large log, lost records, a verdict."""
    rows = [
        mirror_row(0, LARGE, LARGE - 400, topic=LONG, connector=LONG),
        mirror_row(1, 500, 120, connector=LONG),
        mirror_row(2, 10, 90, connector=LONG),
    ]
    logs = {(LONG, 0): (17, LARGE + 10_000), ("flights", 1): (0, 600), ("flights", 2): (0, 100)}
    warning = finding(Severity.WARNING, f"`{LONG}`, topic `{LONG}`, partition 0: 400 records again.", rows[0])
    written = begin(path, request_for(LONG)).snapshot(logs).plan(rows, [warning], again=LARGE, skipped=80)
    return write_report(written.run)


def fleet_report(path: Path) -> str:
    """Three connectors, one with a long name, one of them restored."""
    fleet = FleetDirectory(path.as_uri())
    members = rewound_fleet(path, [LONG, "restored", "waiting"])
    members[LONG].outcome(Result.APPLIED, f"What became of {LONG}.")
    members["restored"].outcome(Result.RESTORED, "What became of restored.")
    for written in members.values():
        write_report(written.run)
    return FleetChange.read(fleet).write()


def failover_report(path: Path) -> str:
    """A group with a long name, and one that is skipped."""
    directory = FailoverDirectory(path.as_uri())
    busy = failover_row("busy", action="skip", covered=False, reason="it has members on the target: stop them first")
    write_failover(directory, [failover_row(LONG, exact=False, max_rereads=LARGE), busy])
    return Failover.read(directory).write()


def readiness_report(path: Path) -> str:
    """A flow that lags, and a group that would read many records again."""
    directory = ReadinessDirectory(path.as_uri())
    write_dataset(directory.connectors, CONNECTORS, [_mirror_source()])
    trend = [
        {"observed_at": NOON + timedelta(minutes=n), "topic": topic, "kafka_partition": 0, "lag": n * 10, "lag_ms": n}
        for topic in (None, LONG)
        for n in range(5)
    ]
    write_dataset(directory.lag_trend, LAG_TREND, trend)
    files.write_json(directory.summary, readiness_summary())
    return Readiness.read(directory).write()


def overview_page(path: Path) -> str:
    """The page of a workspace, with something in each of its tables."""
    Taken([At(0, 0, LONG)], ends=(LARGE,), states={LONG: "FAILED"}, unread={LONG: LONG}).write(path)
    snapshot = SnapshotDirectory(path.as_uri())
    record = read_record(snapshot)
    connector = SeenConnector(LONG, "sink", "FAILED", tasks=LARGE, failed=LARGE, partitions=LARGE, lag=LARGE)
    ready = SeenReadiness(NOON, Standing("Not ready: 3 errors", Tone.BAD, LONG), LARGE, LARGE, "#")
    return publish(
        f"{path.as_uri()}/report.html",
        "overview.html.j2",
        title="Connect offsets",
        waiting=[Waiting("dag", f"Change the offsets of {LONG}?", NOON, (LONG, "ada"), "#")],
        unfinished=[_operation()],
        clusters=[SeenCluster("dag", LONG, LONG, snapshot.uri, record, (connector,))],
        flows=[SeenFlow("dag", f"{LONG} → us", LONG, (ready,))],
        runs=[SeenRun("dag", LONG, "failed", NOON, "#", "#")],
        dag_urls={"dag": "#"},
        connector_url=lambda _cluster, _name: "#",
        series_url=lambda _cluster: "#",
    )


def series_page(path: Path) -> str:
    """The page of a series of snapshots, and what Connect says now."""
    record = _snapshot_record(path)
    broken = ConnectorStatus(State.FAILED, LONG, (TaskStatus(0, State.FAILED, LONG, LONG),), LONG)
    info = ConnectorInfo(LONG, ConnectorType.SINK, {})
    return publish(
        f"{path.as_uri()}/report.html",
        "series.html.j2",
        title=f"Snapshots of {LONG}",
        dag_id="dag",
        dag_url="#",
        snapshots=[(path.as_uri(), record)],
        asked=[(LONG, ConnectorOverview(info, broken))],
        task_states=lambda _status: "1 FAILED",
        now_url="#",
        connector_url=lambda _name: "#",
        overview_url="#",
        reports={path.as_uri(): "#"},
        restore=lambda uri: f"airflow dags trigger connector_offsets_restore --conf {uri}{LONG}",
    )


def connector_page(path: Path) -> str:
    """The page of a connector, with something in each of its tables."""
    record, where = _snapshot_record(path), canonical_json({"kafka_topic": LONG, "kafka_partition": 0})
    seen = [
        SeenAt(
            path.as_uri(),
            replace(record, observed_at=NOON - timedelta(hours=n)),
            "RUNNING",
            "sink",
            ("FAILED",),
            (one,),
        )
        for n in range(3)
        for one in [SeenPosition(where, f"{LONG} 0", '{"kafka_offset":7}', LARGE - n * 1_000, LARGE + n)]
    ]
    history = History(LONG, tuple(seen))
    return publish(
        f"{path.as_uri()}/report.html",
        "connector.html.j2",
        title=LONG,
        history=history,
        moved=history.moved(),
        chart=embed_drawing(history.draw()),
        operations=[(_operation(), "#")],
        asked=(ConnectorStatus(State.RUNNING, LONG, (TaskStatus(0, State.FAILED, LONG, LONG),)), {where: where}),
        now_url="#",
        series_url="#",
        overview_url="#",
        restore=lambda uri: f"airflow dags trigger connector_offsets_restore --conf {uri}{LONG}",
        actions=actions_on(LONG, "sink", {"connect_conn_id": LONG}),
        dag_path=lambda _dag_id: "#",
    )


def _operation() -> SeenOperation:
    owner = Owner(f"dag/{LONG}", "apply", LONG, 1)
    return SeenOperation(SagaRecord(LONG, owner, SagaState.BACK, operation="the change of offsets"), NOON)


def _snapshot_record(path: Path) -> SnapshotRecord:
    Taken([At(0, 0, LONG)], states={LONG: "FAILED"}).write(path)
    return read_record(SnapshotDirectory(path.as_uri()))


#: Writes a report of a kind into a directory, and returns its URI.
REPORTS: Mapping[str, Callable[[Path], str]] = {
    "change": change_report,
    "fleet": fleet_report,
    "orphans": lambda path: Orphans.read(orphaned(path)).write(),
    "failover": failover_report,
    "reset": lambda path: Reset.read(planned_reset(path, foreign=LONG)).write(),
    "readiness": readiness_report,
    "snapshot": lambda path: changes_report(path, name=LONG, number=LARGE),
    "poison": lambda path: poison_report(path, name=LONG, number=LARGE),
    "replay": lambda path: replay_report(path, name=LONG, number=LARGE),
    "overview": overview_page,
    "series": series_page,
    "connector": connector_page,
}


def _mirror_source() -> dict[str, Any]:
    return {
        "connect_cluster": "cluster",
        "connector": LONG,
        "connector_type": "source",
        "connector_class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "family": "mirror_source",
        "state": "RUNNING",
        "tasks": "[]",
        "config": "{}",
        "observed_at": NOON,
    }


def readiness_summary() -> dict[str, Any]:
    """The summary of a flow that is not ready."""
    message = f"`{LONG}`, partition 0: {LARGE:,} records are not replicated yet."
    line = {
        "topic": LONG,
        "kafka_partition": 0,
        "target_topic": f"eu.{LONG}",
        "log_start": 0,
        "log_end": LARGE,
        "target_end": 7,
        "position": 7,
        "lag": LARGE - 7,
        "lag_ms": 86_400_000,
        "lost": 0,
        "sync_upstream": 1,
        "sync_downstream": 1,
        "sync_at": int(NOON.timestamp() * 1000),
        "unsynced": 6,
    }
    group = {
        "group": LONG,
        "target_state": None,
        "planned": 2,
        "unplanned": 1,
        "covered": 1,
        "partitions": 2,
        "without_checkpoint": 1,
        "rereads": LARGE,
        "checkpoint_rereads": None,
        "planned_reason": None,
        "planned_example": None,
        "unplanned_reason": "MirrorMaker 2 has written no checkpoint of it",
        "unplanned_example": f"{LONG}-0",
    }
    verdict = {"rule": "lag", "severity": "error", "message": message, "times": 3}
    return {
        "flow": {"source_alias": "eu", "target_alias": "us"},
        "observed_at": NOON.isoformat(),
        "ready": False,
        "ready_for": [],
        "worst": verdict,
        "verdicts": {"error": 1, "warning": 0, "info": 0},
        "partitions": 1,
        "lagging": 1,
        "lag": LARGE,
        "lag_ms": 86_400_000,
        "lost": 0,
        "groups": 1,
        "group_partitions": 2,
        "group_planned": 2,
        "group_unplanned": 1,
        "group_covered": 1,
        "group_rereads": LARGE,
        "sample": [verdict],
        "request": {"source_connector": LONG, "checkpoint_connector": "", "groups": "", "thresholds": {"lag": 10}},
        "partition_lines": [line],
        "group_lines": [group],
        "next_history": f"file:///workspace/_history/{LONG}",
    }
