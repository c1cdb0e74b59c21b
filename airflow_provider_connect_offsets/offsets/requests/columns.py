"""Which columns of a table have topic, partition and position."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_connect_offsets.exceptions import InvalidRequest

TOPIC, PARTITION, POSITION, LAST = "topic", "partition", "position", "last"
_ROLES = (TOPIC, PARTITION, POSITION, LAST)


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table of which each row is a partition and where it resumes. In JSON it is the text.

    Attributes:
        topic: Column with the topic.
        partition: Column with the partition's number.
        position: Column with the next offset to be read; None if ``last`` or the table itself says so.
        last: Column with the last offset that was delivered, so that the partition resumes one after it; likewise.
    """

    topic: str = TOPIC
    partition: str = PARTITION
    position: str | None = None
    last: str | None = None

    @classmethod
    def parse(cls, text: str) -> TableColumns:
        """Parse text like ``topic=kafka_topic,partition=part,last=max_offset``; raises :class:`InvalidRequest`."""
        named: dict[str, str] = {}
        for part in text.split(","):
            role, _, column = (word.strip() for word in part.partition("="))
            if role not in _ROLES or not column or role in named:
                raise InvalidRequest(
                    f"columns: {part.strip()!r} in {text!r} is not one of {', '.join(_ROLES)} with the name of a "
                    "column, once each, like topic=kafka_topic,partition=part,last=max_offset"
                )
            named[role] = column
        if POSITION in named and LAST in named:
            raise InvalidRequest(
                f"columns: {text!r} names both position (the next offset to be read) and last (the last one that was "
                "delivered); name the one that the table has"
            )
        return cls(**named)

    from_json = parse

    def as_json(self) -> str:
        """Return the text that :meth:`parse` reads."""
        return str(self)

    def __str__(self) -> str:
        named = {TOPIC: self.topic, PARTITION: self.partition, POSITION: self.position, LAST: self.last}
        return ",".join(f"{role}={column}" for role, column in named.items() if column is not None)
