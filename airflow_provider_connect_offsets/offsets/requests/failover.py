"""The request for a failover of consumer groups, and the methods and actions of its translation."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from typing import Any
from zlib import crc32

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.fields import (
    Parameters,
    Section,
    limit,
    optional,
    optional_count,
    required,
    share,
)
from airflow_provider_connect_offsets.offsets.requests.values import Pattern, PatternOrAll, Text

#: How many records of either log of a partition are compared at most, and how many of all partitions together. A
#: million of them take about 20 seconds on two cores, while the flow is stopped.
DEFAULT_COMPARED = 100_000
DEFAULT_COMPARED_TOTAL = 1_000_000
#: Seconds in which single records are searched for offset mappings.
DEFAULT_SEARCH_TIMEOUT = 300
#: Length of the pieces into which a row's digest of 64 hex characters is split, and where each piece starts.
DIGEST_PIECE = 16
DIGEST_PIECES = tuple(range(0, 64, DIGEST_PIECE))


class Mode(StrEnum):
    """PLANNED: the source is alive, so replication is drained first. UNPLANNED: the source is gone."""

    PLANNED = "planned"
    UNPLANNED = "unplanned"


class Method(StrEnum):
    """The evidence by which a position was translated (column ``method`` of the dataset ``translation``)."""

    BRACKET = "bracket"
    RECORD = "record"
    SYNC = "sync"
    CHECKPOINT = "checkpoint"
    END = "end"
    NONE = "none"


class Move(StrEnum):
    """What is done with a group's partition on the target (column ``action`` of the dataset ``translation``)."""

    COMMIT = "commit"
    SKIP = "skip"


class GroupsToMove(Parameters, section=Section.LIMITS):
    """Which groups go to the other cluster, and what has to be true for it; for failover and failback alike."""

    groups: PatternOrAll = required(
        "Groups",
        "Regular expression that matches whole names of consumer groups.",
        section=Section.WHAT,
        example="orders-.*",
        default=".*",
    )
    source_connector: Text = optional(
        "MirrorSource",
        "Name of the flow's MirrorSourceConnector. Required for a planned failover.",
        section=Section.WHAT,
        example="orders-mirror",
        default="",
    )
    checkpoint_connector: Text = optional(
        "MirrorCheckpoint",
        "Name of the flow's MirrorCheckpointConnector, which is stopped too. Empty: none is stopped.",
        section=Section.WHAT,
        example="orders-checkpoints",
        default="",
    )
    topics: Pattern = optional(
        "Topics",
        "Regular expression that matches whole names of topics on the source. Empty: all topics.",
        section=Section.WHAT,
        example="orders-.*",
        default=None,
    )
    rewind: Pattern = optional(
        "May go back",
        "Regular expression of groups whose offsets on the target may be moved back, if they are further ahead there. "
        "Empty: no groups.",
        example="orders-.*",
        default=None,
    )
    min_coverage: float = share(
        "Coverage", "Share of the partitions that must be translated. Below it, nothing is committed.", default=1.0
    )
    max_rereads: int | None = optional_count(
        "Re-reads",
        "How many records all groups together may read again. If they would read more, nothing is committed. Empty: "
        "for each partition, as many as the preview says.",
        example=500,
        default=None,
    )
    compared: int = limit(
        "Records compared",
        "How many records are read at most from either log of a partition, source and target, to prove exact offsets. "
        "Of earlier records, only single ones are read.",
        default=DEFAULT_COMPARED,
    )
    compared_total: int = limit(
        "Records compared, in all",
        "How many records are read at most while the flow is stopped, from both logs of all partitions together. The "
        "groups that have the fewest records left to read come first. The preview lists the partitions that get less "
        "than they need.",
        default=DEFAULT_COMPARED_TOTAL,
    )
    search_timeout: int = limit(
        "Search timeout",
        "How many seconds the search for offset mappings in single records may take. Partitions that it has not "
        "finished by then are translated without it, so their groups may read more records again.",
        default=DEFAULT_SEARCH_TIMEOUT,
    )


class FailoverRequest(GroupsToMove, JsonRecord):
    """Which groups go from one cluster to the other, and the conditions for it.

    Attributes:
        mode: Whether the source is alive.
        flow: The flow from the cluster that the groups leave; for a failback the flow that leads back, even if no
            connector runs it.
        reads_committed: True if MirrorSource skips records of aborted transactions.
        trust_checkpoints: True if, without the source, groups also move where checkpoints are the only evidence.
        forward: For a failback, the flow that once brought the records to the cluster that the groups leave; else None.
        forward_connector: Name of the MirrorSourceConnector of ``forward``; empty: none.
    """

    mode: Mode
    flow: Flow
    reads_committed: bool = False
    trust_checkpoints: bool = True
    forward: Flow | None = None
    forward_connector: str = ""

    @classmethod
    def parse(cls, *, planned: bool = True, **given: Any) -> FailoverRequest:
        """Parse what was given; raises :class:`InvalidRequest`.

        Args:
            planned: Whether the source is alive.
            given: The attributes; those of :class:`GroupsToMove` may be given as a person typed them.
        """
        mode = Mode.PLANNED if planned else Mode.UNPLANNED
        request = cls(**cls.parse_values({**given, "mode": mode}))
        request.refuse_impossible()
        return request

    def refuse_impossible(self) -> None:
        """Raise :class:`InvalidRequest` if the mode, the flows and the connectors don't fit together."""
        planned, forward = self.mode is Mode.PLANNED, self.forward
        if forward is not None and not planned:
            raise InvalidRequest("A failback needs both clusters, so it is always planned.")
        if forward is not None and self.flow.source_alias == forward.source_alias:
            raise InvalidRequest(
                f"{self.source_connector!r} and {self.forward_connector!r} both replicate from "
                f"{self.flow.source_alias!r}, but a failback needs a flow in the opposite direction."
            )
        if planned and not self.source_connector and forward is None:
            raise InvalidRequest(
                "A planned failover drains replication first. Set source_connector to the flow's MirrorSourceConnector."
            )


def row_numbers(group: str, target_topic: str, kafka_partition: int, offset: int) -> tuple[int, ...]:
    """Return what a committed offset adds to :func:`digest_of_sums`: CRC-32 of its pieces; Spark computes the same."""
    row = sha256(f"{group}\n{target_topic}\n{kafka_partition}\n{offset}".encode()).hexdigest()
    return tuple(crc32(row[start : start + DIGEST_PIECE].encode()) for start in DIGEST_PIECES)


def digest_of_sums(sums: Iterable[int]) -> str:
    """Return the digest of a translation: the SHA-256 (hex) of the sums of all :func:`row_numbers`.

    Sums do not depend on the order of rows, and need no memory for a million of them.
    """
    return sha256(" ".join(map(str, sums)).encode()).hexdigest()
