"""The rules of ``offsets.families`` and the parsers of ``offsets.document`` as column functions.

Only these functions run Python for each row: the rules of a family are written once, in ``offsets``, and Catalyst has
no expression to read JSON maps of any shape. Executors get ``offsets`` through ``py_files``. A plan calls one of these
functions once per row, so each does all that a row needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.offsets.document import JsonMap, canonical_json, parse_map, parse_text
from airflow_provider_connect_offsets.offsets.families import MAX_INT, MAX_LONG, TopicPartition, family_named
from airflow_provider_connect_offsets.pipeline.plan.subjects import Subjects

ColumnFunction = Callable[..., Column]
Problems = list[tuple[str, str]]


def _struct(**fields: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, kind) for name, kind in fields.items()])


PROBLEMS = T.ArrayType(_struct(rule=T.StringType(), message=T.StringType()))
_ENTRY = _struct(partition=T.StringType(), after=T.StringType(), problem=T.StringType())
_ENTRY_OF = T.StructType([T.StructField("connector", T.StringType()), *_ENTRY])
_DOCUMENT = _struct(entries=T.ArrayType(_ENTRY_OF), problem=T.StringType())
_POSITION = _struct(topic=T.StringType(), kafka_partition=T.IntegerType(), position=T.LongType(), problems=PROBLEMS)
_TARGET = _struct(partition=T.StringType(), after=T.StringType(), problems=PROBLEMS)


def _udf(function: Callable[..., Any], returns: T.DataType) -> ColumnFunction:
    return F.udf(function, returns)


def target(subjects: Subjects) -> ColumnFunction:
    """Make a column function that finds the offset to store for a position.

    Returns:
        a function of connector, partition (canonical JSON, may be null), topic, kafka_partition and position (null:
        remove) that gives a struct: partition (if null, made from topic and kafka_partition), after (canonical JSON,
        null: remove) and problems (rule and message: what is wrong with the partition)
    """
    family_name, configs = subjects.kind.family.name, subjects.configs

    def target_of(
        connector: str, partition: str | None, topic: str | None, number: int | None, position: int | None
    ) -> tuple[str | None, str | None, Problems]:
        family, config = family_named(family_name), configs[connector]
        offset = None if position is None else family.offset_at(position)
        after = None if offset is None else canonical_json(offset)
        if partition is not None:
            return partition, after, _problems(family_name, config, parse_map(partition), None)
        where = None if topic is None or number is None else TopicPartition(topic, number)
        made = None if where is None else family.partition_of(where, config)
        return None if made is None else canonical_json(made), after, []

    return _udf(target_of, _TARGET)


def position(subjects: Subjects) -> ColumnFunction:
    """Make a column function that finds the position that a partition and an offset mean.

    Returns:
        a function of connector, partition and offset (canonical JSON; offset may be null) that gives a struct: topic,
        kafka_partition, position (each null if there is none) and problems (rule and message: why it can't be stored)
    """
    family_name, configs = subjects.kind.family.name, subjects.configs

    def position_of(
        connector: str, partition_text: str, offset_text: str | None
    ) -> tuple[str | None, int | None, int | None, Problems]:
        family = family_named(family_name)
        partition = parse_map(partition_text)
        offset = None if offset_text is None else parse_map(offset_text)
        problems = _problems(family_name, configs[connector], partition, offset)
        where, value = family.topic_partition(partition), family.position(offset)
        # A number beyond the column's type becomes null; ``problems`` reports it already.
        number = where.partition if where and 0 <= where.partition <= MAX_INT else None
        in_range = value if value is not None and abs(value) <= MAX_LONG else None
        return (where.topic if where else None), number, in_range, problems

    return _udf(position_of, _POSITION)


def _problems(family_name: str, config: dict[str, str], partition: JsonMap, offset: JsonMap | None) -> Problems:
    found = family_named(family_name).check(partition, offset, config)
    return [(problem.rule.value, problem.message) for problem in found]


def document_entries(connectors: Sequence[str]) -> ColumnFunction:
    """Make a column function that reads the text of a REST or KIP-199 document once for all these connectors.

    It gives the document's entries for them, or its problem.
    """

    def parse_entries(text: str) -> tuple[list[tuple[str, str, str | None, None]], str | None]:
        try:
            parsed = parse_text(text, connectors)
        except InvalidDocument as error:
            return [], str(error)
        listed = [(name, one.partition, one.offset, None) for name, offsets in parsed.items() for one in offsets]
        return listed, None

    return _udf(parse_entries, _DOCUMENT)


def json_entry() -> ColumnFunction:
    """Make a column function of partition and offset, as JSON strings, that gives an entry of a list."""

    def entry(partition: str | None, offset: str | None) -> tuple[str | None, str | None, str | None]:
        try:
            after = canonical_json(parse_map(offset)) if offset and offset.strip() != "null" else None
            return canonical_json(parse_map(partition or "")), after, None
        except InvalidDocument as error:
            return None, None, str(error)

    return _udf(entry, _ENTRY)


def position_entry(subjects: Subjects, *, removes: bool = False, is_last: bool = False) -> ColumnFunction:
    """Make a column function of connector, topic, kafka_partition and position, as strings, that gives an entry.

    Args:
        subjects: the connectors
        removes: whether an empty position removes the offset; otherwise it is a problem
        is_last: whether the position given is the last delivered offset; the position is then one more
    """
    family_name, configs = subjects.kind.family.name, subjects.configs
    what, step = ("last offset", 1) if is_last else ("position", 0)

    def entry(
        connector: str, topic: str | None, partition: str | None, position: str | None
    ) -> tuple[str | None, str | None, str | None]:
        shown = json.dumps([topic, partition, position], ensure_ascii=False)
        number, value = _whole_number(partition, MAX_INT), _whole_number(position, MAX_LONG - step)
        if not topic or not topic.strip() or number is None:
            return None, None, f"the row {shown} has no topic, or its partition is not a whole number, 0 or greater"
        family = family_named(family_name)
        key = canonical_json(family.partition_of(TopicPartition(topic.strip(), number), configs[connector]) or {})
        if removes and not (position or "").strip():
            return key, None, None
        if value is None:
            return None, None, f"the {what} of the row {shown} is not a whole number, 0 or greater"
        offset = family.offset_at(value + step)
        return key, None if offset is None else canonical_json(offset), None

    return _udf(entry, _ENTRY)


def _whole_number(text: str | None, limit: int) -> int | None:
    stripped = (text or "").strip()
    # Python takes quadratic time for long numbers and refuses more than 4300 digits.
    is_short = stripped.isascii() and stripped.isdigit() and len(stripped.lstrip("0")) <= len(str(limit))
    number = int(stripped) if is_short else None
    return number if number is not None and number <= limit else None
