"""The request for a failover of consumer groups, and the methods and actions of its translation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any
from zlib import crc32

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.patterns import selection
from airflow_provider_connect_offsets.offsets.requests.values import count, optional_count, share

#: Records of either log of a partition that are compared at most, and records of all partitions together. A million of
#: them take about 20 seconds on two cores, while the flow is stopped.
DEFAULT_COMPARED = 100_000
DEFAULT_COMPARED_TOTAL = 1_000_000
#: Seconds in which single records are searched for offset mappings.
DEFAULT_SEARCH_TIMEOUT = 300
#: A row's digest of 64 hex characters is split into pieces of so many, which start at these characters.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverRequest(JsonRecord):
    """Which groups go from one cluster to the other, and the conditions for it.

    Attributes:
        mode: Whether the source is alive.
        flow: The flow from the cluster that the groups leave; of a failback the one that leads back, even if no
            connector runs it.
        groups: Pattern for whole names of consumer groups.
        topics: Pattern for whole names of source topics; None: all.
        rewind: Pattern for whole names of groups that may go back on the target; None: no group.
        min_coverage: Share of the concerned partitions, 0 to 1, that must be translated.
        max_rereads: Records that all groups together may read again; None: of each partition as many as the preview
            predicted.
        compared: Records of either log of a partition that are read at most to prove exact offsets.
        compared_total: The same, of both logs and all partitions together.
        search_timeout: Seconds in which single records are searched for offset mappings; what was found until then
            counts.
        reads_committed: True if MirrorSource skips records of aborted transactions.
        trust_checkpoints: True if, without the source, groups also move where checkpoints are the only evidence.
        source_connector: Name of the flow's MirrorSourceConnector; empty: none.
        checkpoint_connector: Name of its MirrorCheckpointConnector; empty: none.
        forward: Of a failback, the flow that once brought the records to the cluster that the groups leave; else None.
        forward_connector: Name of the MirrorSourceConnector of ``forward``; empty: none.
    """

    mode: Mode
    flow: Flow
    groups: str
    topics: str | None = None
    rewind: str | None = None
    min_coverage: float = 1.0
    max_rereads: int | None = None
    compared: int = DEFAULT_COMPARED
    compared_total: int = DEFAULT_COMPARED_TOTAL
    search_timeout: int = DEFAULT_SEARCH_TIMEOUT
    reads_committed: bool = False
    trust_checkpoints: bool = True
    source_connector: str = ""
    checkpoint_connector: str = ""
    forward: Flow | None = None
    forward_connector: str = ""

    @classmethod
    def parse(  # noqa: PLR0913 - what a person typed, each by its name
        cls,
        *,
        planned: bool,
        groups: str,
        topics: str = "",
        rewind: str = "",
        min_coverage: object = 1.0,
        max_rereads: object = "",
        compared: object = DEFAULT_COMPARED,
        compared_total: object = DEFAULT_COMPARED_TOTAL,
        search_timeout: object = DEFAULT_SEARCH_TIMEOUT,
        **others: Any,
    ) -> FailoverRequest:
        """Parse what a person typed, numbers also as texts; raises :class:`InvalidRequest`.

        Args:
            planned: Whether the source is alive.
            groups: Pattern for whole names; empty: all.
            topics: Pattern for whole names; empty: all.
            rewind: Pattern for whole names; empty: no group.
            min_coverage: A number from 0 to 1.
            max_rereads: A whole number; empty: as many as the preview predicted.
            compared: A whole number.
            compared_total: A whole number.
            search_timeout: A whole number.
            others: The other attributes, as they are.
        """
        request = cls(
            mode=Mode.PLANNED if planned else Mode.UNPLANNED,
            groups=selection(groups, param="groups") or ".*",
            topics=selection(topics, param="topics"),
            rewind=selection(rewind, param="rewind"),
            min_coverage=share(min_coverage, param="min_coverage"),
            max_rereads=optional_count(max_rereads, param="max_rereads"),
            compared=count(compared, param="compared"),
            compared_total=count(compared_total, param="compared_total"),
            search_timeout=count(search_timeout, param="search_timeout"),
            **others,
        )
        request.refuse_impossible()
        return request

    def refuse_impossible(self) -> None:
        """Raise :class:`InvalidRequest` if the mode, the flows and the connectors don't fit together."""
        planned, forward = self.mode is Mode.PLANNED, self.forward
        if forward is not None and not planned:
            raise InvalidRequest("A failback needs both clusters, so it is always planned.")
        if forward is not None and self.flow.source_alias == forward.source_alias:
            raise InvalidRequest(
                f"{self.source_connector!r} replicates the same way as {self.forward_connector!r}, from "
                f"{self.flow.source_alias!r}: a failback goes the other way."
            )
        if planned and not self.source_connector and forward is None:
            raise InvalidRequest(
                "A planned failover drains replication first: source_connector must name MirrorSource."
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
