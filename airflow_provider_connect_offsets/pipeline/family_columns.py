"""The rules of ``offsets.families`` as column functions.

They are the one place where Spark calls Python row by row: what a family knows stands once, in ``offsets``, and reading
JSON maps of any shape is nothing that Catalyst has an expression for. Executors get ``offsets`` through ``py_files``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.offsets import plan
from airflow_provider_connect_offsets.offsets.document import canonical, parse_map, parse_text
from airflow_provider_connect_offsets.offsets.families import FAMILIES, MAX_INT, MAX_LONG, TopicPartition
from airflow_provider_connect_offsets.pipeline.frames import Subject

ColumnFunction = Callable[..., Column]


def _struct(**fields: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, kind) for name, kind in fields.items()])


ENTRY = _struct(partition=T.StringType(), after=T.StringType(), problem=T.StringType())
_DOCUMENT = _struct(entries=T.ArrayType(ENTRY), problem=T.StringType())
_PLACE = _struct(topic=T.StringType(), kafka_partition=T.IntegerType(), position=T.LongType())
_FINDINGS = T.ArrayType(_struct(rule=T.StringType(), severity=T.StringType(), message=T.StringType()))


def _udf(function: Callable[..., Any], returns: T.DataType) -> ColumnFunction:
    return F.udf(function, returns)


def partition_key(subject: Subject) -> ColumnFunction:
    """(topic, kafka_partition) → the source partition as canonical JSON."""
    family_name, config = subject.family.name, dict(subject.config)

    def key(topic: str, partition: int) -> str | None:
        found = FAMILIES[family_name].partition_of(TopicPartition(topic, partition), config)
        return None if found is None else canonical(found)

    return _udf(key, T.StringType())


def offset_at(subject: Subject) -> ColumnFunction:
    """(position) → what the family stores for it, as canonical JSON; null where nothing is stored."""
    family_name = subject.family.name

    def stored(position: int | None) -> str | None:
        offset = None if position is None else FAMILIES[family_name].offset_at(position)
        return None if offset is None else canonical(offset)

    return _udf(stored, T.StringType())


def place(subject: Subject) -> ColumnFunction:
    """(partition, offset) → struct of topic, kafka_partition and position; nulls where they have none."""
    family_name = subject.family.name

    def find(partition: str, offset: str | None) -> tuple[str | None, int | None, int | None]:
        family = FAMILIES[family_name]
        try:
            where = family.topic_partition(parse_map(partition))
            position = family.position(None if offset is None else parse_map(offset))
        except InvalidDocument:  # told by ``problem`` already
            return None, None, None
        small = position if position is not None and abs(position) <= MAX_LONG else None
        return (where.topic, where.partition, small) if where and where.partition <= MAX_INT else (None, None, small)

    return _udf(find, _PLACE)


def findings(subject: Subject) -> ColumnFunction:
    """(partition, after) → what the family finds wrong with storing it: structs of rule, severity and message."""
    family_name, config = subject.family.name, dict(subject.config)

    def check(partition: str, after: str | None) -> list[tuple[str, str, str]]:
        offset = None if after is None else parse_map(after)
        found = FAMILIES[family_name].check(parse_map(partition), offset, config)
        return [(finding.rule.value, finding.severity.value, finding.message) for finding in found]

    return _udf(check, _FINDINGS)


def row_digest() -> ColumnFunction:
    """The columns that identify a plan's row → their SHA-256."""
    return _udf(plan.row_digest, T.StringType())


def document_entries(connector: str) -> ColumnFunction:
    """(text of a REST or KIP-199 document) → struct of its entries for ``connector``, or of the problem with it."""

    def parse(text: str) -> tuple[list[tuple[str, str | None, None]], str | None]:
        try:
            offsets = parse_text(text, connector)
        except InvalidDocument as error:
            return [], str(error)
        return [(entry.partition, entry.offset, None) for entry in offsets], None

    return _udf(parse, _DOCUMENT)


def json_entry() -> ColumnFunction:
    """(partition, offset as JSON texts) → an entry."""

    def entry(partition: str | None, offset: str | None) -> tuple[str | None, str | None, str | None]:
        try:
            after = canonical(parse_map(offset)) if offset and offset != "null" else None
            return canonical(parse_map(partition or "")), after, None
        except InvalidDocument as error:
            return partition, offset, str(error)

    return _udf(entry, ENTRY)


def position_entry(subject: Subject) -> ColumnFunction:
    """(topic, kafka_partition, position as texts) → an entry; an empty position removes."""
    family_name, config = subject.family.name, dict(subject.config)

    def entry(topic: str | None, partition: str | None, position: str | None) -> tuple[str, str | None, str | None]:
        number = _whole_number(partition, MAX_INT)
        if not topic or number is None:
            shown = json.dumps([topic, partition, position], ensure_ascii=False)
            return shown, None, f"{shown} names no topic and partition"
        family = FAMILIES[family_name]
        key = canonical(family.partition_of(TopicPartition(topic.strip(), number), config) or {})
        if position is None or not position.strip():
            return key, None, None
        target = _whole_number(position, MAX_LONG)
        if target is None:
            return key, None, f"the position {position!r} is no whole number from 0 on"
        offset = family.offset_at(target)
        return key, None if offset is None else canonical(offset), None

    return _udf(entry, ENTRY)


def _whole_number(text: str | None, limit: int) -> int | None:
    stripped = (text or "").strip()
    return int(stripped) if stripped.isascii() and stripped.isdigit() and int(stripped) <= limit else None
