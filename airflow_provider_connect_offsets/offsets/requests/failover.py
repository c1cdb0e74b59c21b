"""A failover of consumer groups: what was asked for, and what becomes of each group's partition."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any
from zlib import crc32

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.patterns import typed_pattern

DEFAULT_COMPARED = 100_000
DEFAULT_COMPARED_TOTAL = 10_000_000
# How many characters of a row's digest are made a number of 32 bits, and where they begin.
DIGEST_PIECE = 16
DIGEST_PIECES = tuple(range(0, 64, DIGEST_PIECE))


class Mode(StrEnum):
    """Whether the source is alive, so that replication can be drained first, or gone."""

    PLANNED = "planned"
    UNPLANNED = "unplanned"


class Method(StrEnum):
    """By what a position was translated: the best that could be proved."""

    BRACKET = "bracket"
    RECORD = "record"
    SYNC = "sync"
    CHECKPOINT = "checkpoint"
    END = "end"
    NONE = "none"


class Move(StrEnum):
    """What is done with a group's partition on the target."""

    COMMIT = "commit"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverRequest:
    """Which groups go from one cluster to the other, and what has to be true for it.

    groups, topics, rewind: patterns for whole names (topics: of the source; None: all; rewind: groups that may be set
    back on the target, None: none of them). min_coverage: the share of the partitions concerned that must be
    translated, 0 to 1. max_rereads: how many records may be read again, all groups together (None: of each partition
    as many as the preview says). compared: how many records are read of either log of a partition at most, to prove
    claims; compared_total: how many of both logs and all partitions together. reads_committed: MirrorSource leaves out
    what was written in a transaction that was given up. trust_checkpoints: without the source, groups go on where
    nothing but MirrorMaker 2's checkpoints tells, too. forward: of a failback, the flow that once brought the records
    there, by its MirrorSource ``forward_connector``; ``flow`` is the one that leads back then, whether or not it runs.
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
        flow: Flow,
        groups: str,
        topics: str = "",
        rewind: str = "",
        min_coverage: object = 1.0,
        max_rereads: object = "",
        compared: object = DEFAULT_COMPARED,
        compared_total: object = DEFAULT_COMPARED_TOTAL,
        reads_committed: bool = False,
        trust_checkpoints: bool = True,
        source_connector: str = "",
        checkpoint_connector: str = "",
        forward: Flow | None = None,
        forward_connector: str = "",
    ) -> FailoverRequest:
        """Read what a person typed; raises :class:`InvalidRequest`."""
        if forward is not None and not planned:
            raise InvalidRequest("A failback needs both clusters, so it is always planned.")
        if forward is not None and flow.source_alias == forward.source_alias:
            raise InvalidRequest(
                f"{source_connector!r} replicates the same way as {forward_connector!r}, from {flow.source_alias!r}: a "
                "failback goes the other way."
            )
        if planned and not source_connector and forward is None:
            raise InvalidRequest(
                "A planned failover drains replication first: source_connector must name MirrorSource."
            )
        return cls(
            mode=Mode.PLANNED if planned else Mode.UNPLANNED,
            flow=flow,
            groups=_pattern("groups", groups) or ".*",
            topics=_pattern("topics", topics),
            rewind=_pattern("rewind", rewind),
            min_coverage=_share(min_coverage),
            max_rereads=None if max_rereads in {None, ""} else _count("max_rereads", max_rereads),
            compared=_count("compared", compared),
            compared_total=_count("compared_total", compared_total),
            reads_committed=reads_committed,
            trust_checkpoints=trust_checkpoints,
            source_connector=source_connector,
            checkpoint_connector=checkpoint_connector,
            forward=forward,
            forward_connector=forward_connector,
        )

    def as_json(self) -> dict[str, Any]:
        """Write it for a dataset; :meth:`from_json` reads it."""
        forward = None if self.forward is None else self.forward.as_json()
        return {**asdict(self), "mode": self.mode.value, "flow": self.flow.as_json(), "forward": forward}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> FailoverRequest:
        """Read what :meth:`as_json` wrote."""
        told = fields.get("forward")
        forward = None if told is None else Flow.from_json(told)
        return cls(
            **{**fields, "mode": Mode(fields["mode"]), "flow": Flow.from_json(fields["flow"]), "forward": forward}
        )


def row_numbers(group: str, target_topic: str, kafka_partition: int, offset: int) -> tuple[int, ...]:
    """What an offset that is to be committed adds to :func:`digest_of_sums`; Spark's job works it out as well."""
    row = sha256(f"{group}\n{target_topic}\n{kafka_partition}\n{offset}".encode()).hexdigest()
    return tuple(crc32(row[start : start + DIGEST_PIECE].encode()) for start in DIGEST_PIECES)


def digest_of_sums(sums: Iterable[int]) -> str:
    """SHA-256 (hex) of the sums of all :func:`row_numbers`, which tells a translation from any other.

    Sums, so that no order matters and nobody has to hold the digests of a million rows.
    """
    return sha256(" ".join(map(str, sums)).encode()).hexdigest()


def _pattern(name: str, text: str) -> str | None:
    return typed_pattern(text, param=name).pattern.strip() or None


def _share(value: object) -> float:
    try:
        share = float(str(value))
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InvalidRequest(f"min_coverage: {value!r} is no share from 0 to 1.")
    return share


def _count(name: str, value: object) -> int:
    text = str(value).strip()
    if not re.fullmatch(r"\d+", text, re.ASCII):
        raise InvalidRequest(f"{name}: {value!r} is no number of records, 0 or greater.")
    return int(text)
