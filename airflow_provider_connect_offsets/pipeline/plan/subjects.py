"""Connectors, read from dataset ``connectors``, and which of them can be planned together."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.offsets.families import (
    ConnectorType,
    DebeziumPostgres,
    Family,
    OffsetReset,
    family_named,
)
from airflow_provider_connect_offsets.offsets.family import Noun
from airflow_provider_connect_offsets.offsets.requests.place import To
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Verdict
from airflow_provider_connect_offsets.pipeline.frames import make_frame

#: States of connectors and of tasks.
RUNNING, FAILED = "RUNNING", "FAILED"


@dataclass(frozen=True, slots=True)
class Subject:
    """The connector or consumer group whose offsets a plan changes, or a connector of a flow that is judged.

    Attributes:
        name: the connector
        type: source, sink or group
        connector_class: Java class
        family: the family of its offsets
        config: its configuration, secrets masked
        state: its state in the snapshot
        task_states: states of its tasks
    """

    name: str
    type: ConnectorType
    connector_class: str
    family: Family
    config: Mapping[str, str]
    state: str
    task_states: tuple[str, ...]

    @property
    def noun(self) -> Noun:
        """What messages call it."""
        return self.type.noun

    @property
    def reset(self) -> OffsetReset:
        """Where its consumer starts without a stored offset."""
        return self.family.offset_reset(self.config)

    @property
    def consumed_topics(self) -> str | None:
        """A Java pattern for whole names of the topics that it reads; None if unknown."""
        return self.family.consumed_topics(self.config)

    @property
    def excluded_topics(self) -> str | None:
        """A Java pattern for whole names of topics that it never reads; None if it excludes no topic."""
        return self.family.excluded_topics(self.config)

    @property
    def poll_may_hold_good_records(self) -> bool:
        """Whether a task failed on a poll that may have good records before the bad one."""
        return FAILED in self.task_states and self.config.get("consumer.override.max.poll.records") != "1"

    @property
    def runs(self) -> bool:
        """Whether it and all its tasks are RUNNING, and it has at least one task."""
        return {self.state, *self.task_states} == {RUNNING} and bool(self.task_states)

    @property
    def reads_slot(self) -> bool:
        """Whether it reads a replication slot."""
        return self.family.name == DebeziumPostgres.name


def is_in_source(request: Request, subject: Subject) -> bool:
    """Whether the request names a position in the log of the source system, such as a database, not of Kafka."""
    return request.to is To.OFFSET and subject.family.source_position is not None


@dataclass(frozen=True, slots=True)
class Subjects:
    """Connectors that are planned together.

    They have the same request and family, so the same Spark expressions and rules apply to all of them. Their names,
    the topics that they read, and the rest of their configurations differ.
    """

    members: tuple[Subject, ...]

    @property
    def kind(self) -> Subject:
        """Any member, for what all members have in common."""
        return self.members[0]

    @property
    def names(self) -> list[str]:
        """The members' names."""
        return [subject.name for subject in self.members]

    def without(self, verdicts: Iterable[Verdict]) -> Subjects:
        """Leave out the subjects that these verdicts are about."""
        refused = {verdict.connector for verdict in verdicts}
        return Subjects(tuple(one for one in self.members if one.name not in refused))

    @property
    def configs(self) -> dict[str, dict[str, str]]:
        """The members' configurations, by name."""
        return {subject.name: dict(subject.config) for subject in self.members}

    def of(self, frame: DataFrame) -> DataFrame:
        """Rows of a dataset whose column ``connector`` names a member."""
        return frame.where(F.col("connector").isin(self.names))

    def each(self, frame: DataFrame) -> DataFrame:
        """Repeat a frame for each member, with the column ``connector`` and the columns that ``is_consumed`` needs."""
        if len(self.members) == 1:
            return self._with_literals(frame)
        return frame.crossJoin(F.broadcast(self._patterns(frame.sparkSession)))

    def repeat(self, frame: DataFrame) -> DataFrame:
        """Repeat a frame for each member, with the column ``connector``."""
        if len(self.members) == 1:
            return frame.withColumn("connector", F.lit(self.kind.name))
        names = make_frame(frame.sparkSession, [(name,) for name in self.names], "connector string")
        return frame.crossJoin(F.broadcast(names))

    def with_patterns(self, frame: DataFrame) -> DataFrame:
        """Add the columns that ``is_consumed`` needs to a frame with a column ``connector``."""
        if len(self.members) == 1:
            return self._with_literals(frame)
        return frame.join(F.broadcast(self._patterns(frame.sparkSession)), "connector", "left")

    def _with_literals(self, frame: DataFrame) -> DataFrame:
        """Add the columns of the only member as literals, so that Spark's optimizer knows their values."""
        patterns = {"reads": self.kind.consumed_topics, "never_reads": self.kind.excluded_topics}
        literals = {name: F.lit(_match_whole(pattern)).cast("string") for name, pattern in patterns.items()}
        return frame.withColumns({"connector": F.lit(self.kind.name), **literals})

    def _patterns(self, spark: SparkSession) -> DataFrame:
        rows = [
            (one.name, _match_whole(one.consumed_topics), _match_whole(one.excluded_topics)) for one in self.members
        ]
        return make_frame(spark, rows, "connector string, reads string, never_reads string")


def is_consumed(kind: Subject) -> Column:
    """Whether a connector reads ``topic``, by its configuration; null if unknown.

    Args:
        kind: one of the connectors; the frame has the columns that ``Subjects.each`` adds
    """
    reads = F.rlike(F.col("topic"), F.col("reads"))
    if not kind.family.lists_topics:
        return F.when(reads, F.expr("true"))
    return reads & ~F.coalesce(F.rlike(F.col("topic"), F.col("never_reads")), F.expr("false"))


def read_subjects(connectors: DataFrame, names: Iterable[str]) -> dict[str, Subject]:
    """Read the rows of connectors by name.

    Raises:
        DatasetError: a connector has no row
    """
    requested = list(names)
    rows = connectors.where(F.col("connector").isin(requested)).collect()  # a row for each connector
    subjects = {
        row["connector"]: Subject(
            name=row["connector"],
            type=ConnectorType(row["connector_type"]),
            connector_class=row["connector_class"],
            family=family_named(row["family"]),
            config=json.loads(row["config"]),
            state=row["state"],
            task_states=tuple(task["state"] for task in json.loads(row["tasks"])),
        )
        for row in rows
    }
    for name in requested:
        if name not in subjects:
            raise DatasetError(f"connector {name!r} is not in the snapshot")
    return subjects


def group_subjects(requests: Iterable[Request], subjects: Mapping[str, Subject]) -> Iterator[tuple[Request, Subjects]]:
    """Yield the connectors that can be planned together, each with a request that serves for all of them."""
    groups: dict[Hashable, tuple[Request, list[Subject]]] = {}
    for request in requests:
        subject = subjects[request.connector]
        groups.setdefault(_likeness(request, subject), (request, []))[1].append(subject)
    for request, alike in groups.values():
        yield request, Subjects(tuple(alike))


def _likeness(request: Request, subject: Subject) -> Hashable:
    """Return a key that is equal for connectors that can be planned together."""
    return (
        replace(request, connector=""),
        subject.type,
        subject.family.name,
        subject.reset,
        subject.consumed_topics is None,
        subject.poll_may_hold_good_records,
    )


def _match_whole(pattern: str | None) -> str | None:
    return None if pattern is None else f"^(?:{pattern})$"
