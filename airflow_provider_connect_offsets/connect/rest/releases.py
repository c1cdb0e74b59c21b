"""Which release of Kafka has which call of Connect's REST API, and what to do with older workers."""

from __future__ import annotations

import re
from enum import Enum

_VERSION = re.compile(r"(\d+)\.(\d+)(?P<rest>.*)")
# Confluent numbers its builds by its platform: 7.5.0-ccs is Kafka 3.5, 8.0.0-ce is Kafka 4.0.
_CONFLUENT, _CONFLUENT_AHEAD = re.compile(r".*-(ccs|ce)\b.*"), 4

_THROUGH_STORAGE = (
    "The offsets of a source can be changed with control=storage, or with connect-offsets, while the connector is "
    "stopped or its process is down. The offsets of a sink belong to its consumer group: delete or stop the sink, and "
    "use Kafka's kafka-consumer-groups --reset-offsets."
)
_BEFORE_IT_EXISTS = (
    "Before you create the connector, write its offsets with connect-offsets import if it is a source, or commit them "
    "for its consumer group if it is a sink."
)


class Feature(Enum):
    """Calls that older workers lack.

    Attributes:
        purpose: What they are for, as part of a sentence.
        since: The first release that has them (major, minor).
        advice: What to do without them.
    """

    READ_OFFSETS = ("reading offsets", (3, 5), _THROUGH_STORAGE)
    STOP = ("stopping a connector", (3, 5), _THROUGH_STORAGE)
    CHANGE_OFFSETS = ("changing offsets", (3, 6), _THROUGH_STORAGE)
    CREATE_STOPPED = ("creating a STOPPED connector", (3, 7), _BEFORE_IT_EXISTS)

    def __init__(self, purpose: str, since: tuple[int, int], advice: str) -> None:
        self.purpose = purpose
        self.since = since
        self.advice = advice

    @property
    def need(self) -> str:
        """The required release, as part of a sentence."""
        return f"{self.purpose} over the REST API needs Kafka {self.since[0]}.{self.since[1]} or later"

    def is_in(self, version: str) -> bool:
        """Whether a worker of that version has the feature; True if the version can't be parsed."""
        release = release_of(version)
        return release is None or release >= self.since


def release_of(version: str) -> tuple[int, int] | None:
    """Return Kafka's release (major, minor) from a worker's version; None if it can't be parsed."""
    match = _VERSION.match(version)
    if match is None:
        return None
    major, minor = int(match[1]), int(match[2])
    return (major - _CONFLUENT_AHEAD, minor) if _CONFLUENT.fullmatch(match["rest"]) else (major, minor)
