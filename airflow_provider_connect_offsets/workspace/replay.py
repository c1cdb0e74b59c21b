"""The outcome of a bounded replay (``outcome.json``). The replay writes it, and reports read it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.workspace.files import JsonFile


class ReplayResult(StrEnum):
    """How a replay ended.

    DELIVERED: the whole interval was delivered, and nothing is left of the clone. UNDONE: a part may have been
    delivered, and nothing is left of the clone. REFUSED: nothing was created. UNFINISHED: the clone, or some of its
    offsets, may be left.
    """

    DELIVERED = "delivered"
    UNDONE = "undone"
    REFUSED = "refused"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class DeliveredRange(JsonRecord):
    """What was delivered of one partition.

    Attributes:
        topic: The topic.
        partition: The partition's number.
        begins: Offset at which the clone started.
        ends: Offset at which the interval ends; equal to ``begins``: the partition has no record in it.
        delivered: How many offsets of the interval were delivered; offsets without a record count too.
        beyond: How many offsets after the interval were delivered before the clone stopped; None: unknown.
    """

    topic: str
    partition: int
    begins: int
    ends: int
    delivered: int
    beyond: int | None


@dataclass(frozen=True, slots=True)
class ReplayOutcome(JsonFile):
    """The outcome of a replay.

    Attributes:
        connector: The connector.
        clone: Its clone.
        run: ``dag_id/run_id``.
        digest: Digest of the plan.
        result: How it ended.
        message: A sentence that says how it ended.
        started_at: When this attempt began.
        finished_at: When it ended.
        warnings: Warnings, each a sentence.
        ranges: What was delivered; empty unless the whole interval was.
    """

    connector: str
    clone: str
    run: str
    digest: str
    result: ReplayResult
    message: str
    started_at: datetime
    finished_at: datetime
    warnings: tuple[str, ...] = ()
    ranges: tuple[DeliveredRange, ...] = ()

    @property
    def delivered_count(self) -> int:
        """Offsets of the interval that were delivered."""
        return sum(one.delivered for one in self.ranges)

    @property
    def beyond_count(self) -> int | None:
        """Offsets after the interval that were delivered too; None: unknown."""
        counts = [one.beyond for one in self.ranges]
        return None if None in counts else sum(count for count in counts if count is not None)
