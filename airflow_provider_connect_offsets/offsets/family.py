"""Base of all connector families, and the checks of their partition and offset maps; ``families`` lists them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeGuard

from airflow_provider_connect_offsets.offsets.document import MAX_LONG, JsonMap, parse_map
from airflow_provider_connect_offsets.offsets.verdicts import Finding, Rule, Severity

Config = Mapping[str, str]
Keys = Mapping[str, type]


MAX_INT = 2**31 - 1
# One less than the largest long, so that the position after a stored offset is a long too.
MAX_OFFSET = MAX_LONG - 1


class Signed(int):
    """The type of a field that may be negative: a value of a table's column, not a position in a log."""


class Noun(StrEnum):
    """What messages call something that has offsets."""

    CONNECTOR = "connector"
    GROUP = "consumer group"

    @property
    def param(self) -> str:
        """The Param that selects several of them."""
        return "groups" if self is Noun.GROUP else "connectors"


class ConnectorType(StrEnum):
    """Connect's two kinds of connectors, and the consumer groups of plain applications."""

    SOURCE = "source"
    SINK = "sink"
    GROUP = "group"

    @property
    def noun(self) -> Noun:
        """What messages call it."""
        return Noun.GROUP if self is ConnectorType.GROUP else Noun.CONNECTOR


#: Value of ``isolation.level``.
READ_COMMITTED = "read_committed"


class OffsetReset(StrEnum):
    """Position at which a Kafka consumer starts without a usable offset (``auto.offset.reset``)."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"
    BY_DURATION = "by_duration"
    #: Known to a group's applications alone, or to the worker's config provider (``${…}``).
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, value: str | None) -> OffsetReset:
        """Read a configured value; the default of Connect and MirrorMaker 2 is earliest."""
        word = (value or "").strip().lower().partition(":")[0]
        if "${" in word:
            return cls.UNKNOWN
        return cls(word) if word in set(cls) else cls.EARLIEST


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """A partition of a Kafka topic; sorts by topic, then by number."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Family:
    """Rules of a connector family; this base class has those for source connectors of unknown class.

    Attributes:
        name: The family's name in datasets.
        classes: Fully qualified classes of its source connectors.
        settings: Names of settings that its rules read, in addition to those in ``kept_config.KEPT``; never one with a
            secret, as datasets and reports have their values.
        partition_keys: Keys of a source partition and the type of each; None if unknown.
        offset_keys: Keys of a source offset, likewise.
        optional_keys: Keys that an offset may have in addition to ``offset_keys``, and the type of each; any other key
            is then left unchecked, as releases of such connectors differ. None: an offset has exactly ``offset_keys``.
        has_positions: Whether offsets are positions in a Kafka log.
        why_no_position: The reason if they are not, as part of a message.
        without_offset: What the connector does without a stored offset, as part of a message.
        lists_topics: Whether ``consumed_topics`` are all topics that are read; if not, others may be read too.
        source_position: What ``to=offset`` takes if offsets are positions in the log of another system, as part of a
            message: ``an LSN, like 0/16B3748``. None: ``to=offset`` takes positions in a Kafka log, or nothing.
    """

    name: ClassVar[str] = "generic_source"
    classes: ClassVar[tuple[str, ...]] = ()
    settings: ClassVar[tuple[str, ...]] = ()
    partition_keys: ClassVar[Keys | None] = None
    offset_keys: ClassVar[Keys | None] = None
    optional_keys: ClassVar[Keys | None] = None
    has_positions: ClassVar[bool] = False
    why_no_position: ClassVar[str] = "only the connector itself knows what its offsets mean"
    lists_topics: ClassVar[bool] = True
    without_offset: ClassVar[str] = "the connector itself decides where it starts, usually at the beginning"
    source_position: ClassVar[str | None] = None

    def position(self, offset: JsonMap | None) -> int | None:
        """Return the position of an offset; None if it has none or can't be read."""
        return None

    def position_in(self, text: str | None) -> int | None:
        """Return the position of an offset in JSON, None for none; raises :class:`InvalidDocument`."""
        return self.position(None if text is None else parse_map(text))

    def offset_at(self, position: int) -> dict[str, int] | None:
        """Return the offset to store so that ``position`` is read next; None if no offset must be stored for that."""
        raise NotImplementedError(f"{self.name} offsets are not positions: {self.why_no_position}")

    def offset_from(self, value: str) -> JsonMap:
        """Return the offset to store so that the connector resumes at a position in the log of its source system.

        Args:
            value: What ``source_position`` describes, as a person typed it.

        Raises:
            InvalidRequest: ``value`` is something else.
        """
        raise NotImplementedError(f"{self.name} offsets are not positions of a source system, so {value} is not one")

    def only_partition(self, config: Config) -> JsonMap | None:
        """Return the source partition of a connector that has only one; None if it may have more, or it is unknown."""
        return None

    def topic_partition(self, partition: JsonMap) -> TopicPartition | None:
        """Return the Kafka partition of a source partition; None if it has none."""
        return None

    def partition_of(self, where: TopicPartition, config: Config) -> dict[str, str | int] | None:
        """Return the source partition of a Kafka partition; None if the family has none."""
        return None

    def consumed_topics(self, config: Config) -> str | None:
        """Return a Java pattern for whole names of the topics read; None if the configuration hides it."""
        return None

    def excluded_topics(self, config: Config) -> str | None:
        """Return a Java pattern for whole names of topics never read, even if ``consumed_topics`` matches them."""
        return None

    def offset_reset(self, config: Config) -> OffsetReset:
        """Return where the connector's consumer starts without a stored offset."""
        return OffsetReset.EARLIEST

    def reads_committed(self, config: Config) -> bool:
        """Whether the connector's consumer is given records of committed transactions only."""
        return False

    def under(self, partition: JsonMap, config: Config, *, before: Config) -> JsonMap:
        """Return a source partition, named by settings ``before``, as a connector with settings ``config`` names it.

        This base class renames partitions of Debezium's connectors, also of those without a family: they have
        ``topic.prefix`` as ``server``, MongoDB's as ``server_id`` (Java class
        ``io.debezium.connector.common.Partition`` and its subclasses). It leaves all other partitions as they are.
        """
        prefix, prior = plain_value(config, "topic.prefix"), before.get("topic.prefix")
        is_debezium = config.get("connector.class", "").startswith("io.debezium.")
        if not (is_debezium and prefix and prior):
            return partition
        named = {field: prefix for field in ("server", "server_id") if partition.get(field) == prior}
        return {**partition, **named}

    def check(self, partition: JsonMap, offset: JsonMap | None, config: Config) -> Iterator[Finding]:
        """Yield the findings against storing ``offset`` for ``partition`` (None: removing its offset)."""
        yield from check_map(partition, self.partition_keys, "partition")
        yield from self.check_partition(partition, config)
        if offset is not None:
            yield from check_map(offset, self.offset_keys, "offset", optional=self.optional_keys)
            yield from self.check_offset(offset)

    def check_partition(self, partition: JsonMap, config: Config) -> Iterator[Finding]:
        """Yield the findings on a partition other than its keys and types."""
        yield from ()

    def check_offset(self, offset: JsonMap) -> Iterator[Finding]:
        """Yield the findings on an offset other than its keys and types."""
        yield from ()


def check_map(value: JsonMap, keys: Keys | None, what: str, *, optional: Keys | None = None) -> Iterator[Finding]:
    """Yield the findings on the keys and types of a partition or offset.

    Args:
        value: The partition or offset.
        keys: Keys that it must have, and their types; None: nothing is checked.
        what: ``partition`` or ``offset``.
        optional: Keys that it may have, and their types; others are then left unchecked. None: it has only ``keys``.
    """
    for field in value.keys() - {*(keys or {}), *(optional or {})}:
        number = value[field]
        if _is_whole(number) and not -MAX_LONG - 1 <= number <= MAX_LONG:
            message = (
                f"{what} field '{field}' must fit into 64 bits, but is {number}: Connect would read another number"
            )
            yield error(Rule.WRONG_TYPE, message)
    if keys is None:
        return
    misses, exceeds = set(keys) - set(value), set(value) - set(keys)
    if misses or (exceeds and optional is None):
        expected, actual = ", ".join(sorted(keys)), ", ".join(sorted(value)) or "none"
        word, alone = "key" if len(keys) == 1 else "keys", " and no other" if optional is None else ""
        message = f"the {what} must have the {word} {expected}{alone}, but has {actual}, so nothing would read it"
        yield error(Rule.WRONG_KEYS, message)
    for field, kind in keys.items():
        if field in value:
            yield from _check_field(f"{what} field '{field}'", value[field], kind, _limit(what))
    for field, kind in (optional or {}).items():
        if value.get(field) is not None:
            yield from _check_field(f"{what} field '{field}'", value[field], kind, _limit(what))


def error(rule: Rule, message: str) -> Finding:
    """Return a finding of severity error, which stops the run."""
    return Finding(rule, Severity.ERROR, message)


def plain_value(config: Config, name: str, default: str | None = None) -> str | None:
    """Return a configured value, also an empty one; None if a config provider hides it (only workers resolve ``${…}``).

    ``default``: the value of a setting that is not there.
    """
    value = config.get(name, default)
    return None if value is not None and "${" in value else value


def flag(config: Config, name: str, *, default: bool) -> bool:
    """Return a boolean as ``ConfigDef.parseType`` reads it; the default if a config provider hides it."""
    value = (plain_value(config, name) or "").strip().lower()
    return value == "true" if value in {"true", "false"} else default


def is_default(config: Config, name: str, class_name: str) -> bool:
    """Whether the setting ``name`` is unset, or is the class of the simple name ``class_name``, its default."""
    return config.get(name, class_name).rpartition(".")[2] == class_name


def alternatives(patterns: str, *more: str) -> str:
    """Return one pattern for a comma-separated list of patterns and ``more``; without any it matches nothing."""
    listed = [pattern.strip() for pattern in patterns.split(",") if pattern.strip()]
    return "|".join(f"(?:{pattern})" for pattern in (*listed, *more)) or r"(?!)"


def topic_partition(partition: JsonMap, topic_field: str, partition_field: str) -> TopicPartition | None:
    """Read a Kafka partition from two fields; None if they are missing or have other types."""
    topic, number = partition.get(topic_field), partition.get(partition_field)
    if isinstance(topic, str) and _is_whole(number):
        return TopicPartition(topic, number)
    return None


def whole_field(offset: JsonMap | None, field: str) -> int | None:
    """Read a whole number from a field; None if the field is missing or has another type."""
    value = None if offset is None else offset.get(field)
    return value if _is_whole(value) else None


def _check_field(named: str, content: object, kind: type, limit: int) -> Iterator[Finding]:
    wrong = _why_unfit(content, kind, limit)
    if wrong is not None:
        rule, expected = wrong
        yield error(rule, f"{named} must be {expected}, not {json.dumps(content, ensure_ascii=False)}")


def _why_unfit(content: object, kind: type, limit: int) -> tuple[Rule, str] | None:
    """Return the rule that a field's content breaks, and what it must be; None if it is fit."""
    if kind is str and (not isinstance(content, str) or not content):
        return Rule.WRONG_TYPE, "a non-empty string"
    if kind is bool and not isinstance(content, bool):
        return Rule.WRONG_TYPE, "true or false"
    if kind in (int, Signed) and not (_is_whole(content) and (abs(content) if kind is Signed else content) <= limit):
        return Rule.WRONG_TYPE, f"a whole number up to {limit}"
    if kind is int and _is_whole(content) and content < 0:
        return Rule.NEGATIVE, "0 or greater"
    return None


def _limit(what: str) -> int:
    return MAX_INT if what == "partition" else MAX_OFFSET


def _is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number; JSON's true and false are ints in Python."""
    return isinstance(value, int) and not isinstance(value, bool)
