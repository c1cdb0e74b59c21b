"""Made-up snapshots, the plans made of them, and a comparison that shows the difference."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_connect_offsets.observe.slots import Slot
from airflow_provider_connect_offsets.offsets.document import Entry, JsonMap, canonical_json
from airflow_provider_connect_offsets.offsets.families import ConnectorType, Family, TopicPartition, family_of
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.frames import PlanFrames, struct_type
from airflow_provider_connect_offsets.pipeline.plan.counts import Counts
from airflow_provider_connect_offsets.pipeline.plan.plan import plan
from airflow_provider_connect_offsets.workspace import schemas
from tests.support.rows.frames import frame_of

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
Positions = Mapping[tuple[str, int], int]
ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


@dataclass(frozen=True)
class Connector:
    """A connector, its positions (``at``), and other stored entries."""

    name: str
    type: ConnectorType
    java_class: str
    config: Mapping[str, str]
    at: Positions = field(default_factory=dict)
    stored: Sequence[tuple[JsonMap, JsonMap | None]] = ()
    failed: bool = False
    state: str = "RUNNING"

    @property
    def family(self) -> Family:
        return family_of(self.type, self.java_class)

    def row(self) -> dict[str, Any]:
        task = {"id": 0, "state": "FAILED" if self.failed else "RUNNING"}
        return {
            "connect_cluster": "worker",
            "connector": self.name,
            "connector_type": self.type.value,
            "connector_class": self.java_class,
            "family": self.family.name,
            "state": self.state,
            "tasks": json.dumps([task]),
            "config": canonical_json(self.config),
            "group_id": None,
            "observed_at": NOW,
        }

    def offset_rows(self) -> list[dict[str, Any]]:
        entries = [Entry.of(partition, offset) for partition, offset in self.stored]
        for (topic, number), position in self.at.items():
            partition = self.family.partition_of(TopicPartition(topic, number), self.config)
            entries.append(Entry.of(partition or {}, self.family.offset_at(position)))
        return [self._offset_row(entry) for entry in entries]

    def _offset_row(self, entry: Entry) -> dict[str, Any]:
        partition = json.loads(entry.partition)
        offset = None if entry.offset is None else json.loads(entry.offset)
        where = self.family.topic_partition(partition)
        return {
            "connect_cluster": "worker",
            "connector": self.name,
            "connector_type": self.type.value,
            "family": self.family.name,
            "partition": entry.partition,
            "offset": entry.offset,
            "topic": where.topic if where else None,
            "kafka_partition": where.partition if where else None,
            "position": self.family.position(offset),
            "origin": "rest",
            "raw_key": None,
            "observed_at": NOW,
        }


def sink(at: Positions | None = None, *, name: str = "sink", failed: bool = False, **config: str) -> Connector:
    """A sink that reads ``orders``; underscores in names of ``config`` mean dots."""
    return Connector(
        name, ConnectorType.SINK, "FileStreamSink", _config({"topics": "orders"}, config), at or {}, failed=failed
    )


def mirror(
    at: Positions | None = None, *, name: str = "flow", stored: Sequence[tuple[JsonMap, JsonMap]] = (), **config: str
) -> Connector:
    """A MirrorSourceConnector that replicates ``orders`` from ``source`` to ``target``."""
    fixed = {"topics": "orders", "source.cluster.alias": "source", "target.cluster.alias": "target"}
    java_class = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    return Connector(name, ConnectorType.SOURCE, java_class, _config(fixed, config), at or {}, stored)


def source(java_class: str, *stored: tuple[JsonMap, JsonMap], name: str = "source", **config: str) -> Connector:
    """A source connector of any other class."""
    return Connector(name, ConnectorType.SOURCE, java_class, _config({}, config), {}, stored)


def _config(fixed: dict[str, str], given: dict[str, str]) -> dict[str, str]:
    return {**fixed, **{name.replace("_", "."): value for name, value in given.items()}}


@dataclass(frozen=True)
class Log:
    """A partition of the cluster; ``lookup`` is the offset of the requested moment.

    ``expired``, ``expiring``: where records begin that are not older than its retention, now and in an hour.
    ``record``: which record is read next, if the position is before it.
    """

    start: int
    end: int
    lookup: int | None = None
    expired: int | None = None
    expiring: int | None = None
    record: int | None = None


Logs = Mapping[tuple[str, int], Log]
ORDERS: Logs = {("orders", 0): Log(0, 100), ("orders", 1): Log(0, 100)}
SHORT: Logs = {("orders", 0): Log(100, 700)}
MIDDLE: Positions = {("orders", 0): 400}


class Row(NamedTuple):
    """A planned row, without the columns that are the same in a whole test."""

    partition: str
    before: str | None
    after: str | None
    after_position: int | None
    action: str
    reason: str


class Found(NamedTuple):
    """A verdict without the connector's name."""

    rule: Rule | str
    severity: Severity | str
    partition: str | None
    message: str


@dataclass(frozen=True)
class Plan:
    """The plan of a request, and its verdicts."""

    request: Request
    rows: list[Row]
    verdicts: list[Found]
    counts: Counts
    plan: OffsetPlan

    def of(self, *rules: Rule) -> list[Found]:
        """Verdicts of these rules."""
        return [verdict for verdict in self.verdicts if verdict.rule in rules]

    @property
    def rules(self) -> set[str]:
        return {str(verdict.rule) for verdict in self.verdicts}


@dataclass(frozen=True)
class Planner:
    """Plans requests on Spark."""

    spark: SparkSession

    def snapshot(self, connectors: Iterable[Connector], logs: Logs, slots: Iterable[Slot] = ()) -> PlanFrames:
        """The frames of a snapshot; a slot is that of the connector whose configuration names it, or of the first."""
        listed = list(connectors)
        of_slot = {one.config.get("slot.name"): one.name for one in listed}
        bounds = [
            {
                "kafka_cluster": "kafka",
                "topic": topic,
                "kafka_partition": number,
                "log_start": log.start,
                "log_end": log.end,
                "lookup_timestamp": None,
                "lookup_offset": log.lookup,
                "cleanup_policy": "delete",
                "retention_ms": 60_000,
                "expired_offset": log.expired,
                "expiring_offset": log.expiring,
            }
            for (topic, number), log in logs.items()
        ]
        next_records = [
            {"connector": one.name, "topic": topic, "kafka_partition": number, "next_record": log.record}
            for one in listed
            for (topic, number), log in logs.items()
            if log.record is not None
        ]
        return PlanFrames(
            self._frame(schemas.CONNECTORS, [connector.row() for connector in listed]),
            self._frame(schemas.CONNECTOR_OFFSETS, [row for connector in listed for row in connector.offset_rows()]),
            self._frame(schemas.LOG_BOUNDS, bounds),
            self._frame(
                schemas.REPLICATION_SLOTS, [slot.row(of_slot.get(slot.name, listed[0].name), NOW) for slot in slots]
            ),
            self._frame(schemas.NEXT_RECORDS, next_records),
        )

    def _frame(self, schema: schemas.Schema, rows: list[dict[str, Any]]) -> DataFrame:
        return frame_of(self.spark, [tuple(row[n] for n in schema.names) for row in rows], struct_type(schema))

    def plan(
        self,
        connector: Connector,
        *others: Connector,
        logs: Logs = ORDERS,
        slots: Any = (),
        to: str,
        only_back: Any = False,
        **requested: str,
    ) -> Plan:
        """Plan a request for the first connector."""
        parsed = Request.parse(connector=connector.name, to=to, now=NOW, **requested)
        request = replace(parsed, only_back=only_back, catalogs=("spark_catalog",))
        planned = plan(self.spark, self.snapshot([connector, *others], logs, slots), request)
        # Rows and verdicts of a plan are few; the order of either means nothing.
        rows = sorted((row.asDict() for row in planned.rows.collect()), key=lambda row: str(row["partition"]))
        found = planned.verdicts.collect()
        assert {row["connector"] for row in found} <= {connector.name}
        verdicts = [Found(row["rule"], row["severity"], row["partition"], row["message"]) for row in found]
        return Plan(
            request,
            [Row(**{name: row[name] for name in Row._fields}) for row in rows],
            sorted(verdicts, key=lambda found: (found.rule, found.partition or "", found.message)),
            planned.counts[connector.name],
            OffsetPlan.of(request, (PlanRow(**{**row, "action": Action(row["action"])}) for row in rows)),
        )


def assert_same(actual: Iterable[tuple[Any, ...]], expected: Iterable[tuple[Any, ...]]) -> None:
    """Compare rows in any order, and show differences row by row."""
    have, want = (sorted(str(tuple(map(_plain, row))) for row in rows) for rows in (actual, expected))
    if have != want:
        pytest.fail("rows differ (- expected, + planned):\n" + "\n".join(difflib.ndiff(want, have)), pytrace=False)


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Rule | Severity) else value


def at_sink(number: int, topic: str = "orders") -> str:
    """A sink's partition."""
    return f'{{"kafka_partition":{number},"kafka_topic":"{topic}"}}'


def at_mirror(number: int, topic: str = "orders", cluster: str = "source") -> str:
    """A MirrorSource's partition."""
    return f'{{"cluster":"{cluster}","partition":{number},"topic":"{topic}"}}'


def read(position: int) -> str:
    """The offset that a sink stores for a position."""
    return f'{{"kafka_offset":{position}}}'


def replicated(offset: int) -> str:
    """The offset that a MirrorSource stores after it replicated the record at ``offset``."""
    return f'{{"offset":{offset}}}'
