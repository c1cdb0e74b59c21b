"""Whether a connector has reached awaited positions, or an awaited number of records left to read."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.lag import Replicated, observation, replicated
from airflow_provider_connect_offsets.observe.waiting import Observation
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.requests.patterns import matches_topic, selection
from airflow_provider_connect_offsets.offsets.requests.request import PartitionSet
from airflow_provider_connect_offsets.offsets.requests.values import count, optional_count


@dataclass(frozen=True, slots=True)
class Awaited:
    """Positions that are awaited in every selected partition.

    Attributes:
        topics: Pattern for whole topic names; None: all topics.
        partitions: Partition numbers; None: all partitions.
        position: At least this position; None: ``max_lag`` decides.
        max_lag: At most this many offsets of lag, if ``position`` is None.
    """

    topics: str | None = None
    partitions: PartitionSet | None = None
    position: int | None = None
    max_lag: int = 0

    @classmethod
    def parse(cls, *, topics: str = "", partitions: str = "", position: object = None, max_lag: object = 0) -> Awaited:
        """Parse values that a template may have rendered as texts; raises :class:`InvalidRequest`."""
        return cls(
            selection(topics, param="topics"),
            PartitionSet.parse(partitions) if partitions.strip() else None,
            optional_count(position, param="position"),
            count(max_lag, param="max_lag"),
        )

    def selects_topic(self, topic: str) -> bool:
        """True if partitions of that topic are selected."""
        return matches_topic(self.topics, topic)

    def selects(self, where: TopicPartition) -> bool:
        """True if that partition is selected."""
        return self.selects_topic(where.topic) and (self.partitions is None or where.partition in self.partitions)


def observe_positions(clients: Clients, connector: str, awaited: Awaited) -> Observation:
    """Compare the positions of a connector with ``awaited``, in all selected partitions that it reads or has stored.

    A connector that has read all records counts as at the log end, even if transaction markers follow. A partition
    without a stored offset is where ``auto.offset.reset`` starts.

    Args:
        clients: Clients of its Connect cluster, with the logs that its positions refer to.
        connector: Name of the connector.
        awaited: The awaited positions.

    Raises:
        InvalidRequest: The connector's offsets are not positions, or no partition is selected.
        NotRunning: It is behind, and has failed; waiting does not repair that.
        StoreError: A system does not answer, or refuses.
    """
    info = clients.control.info(connector)
    if not info.family.has_positions:
        raise InvalidRequest(f"{connector!r}: offsets of a {info.connector_class} are not positions in a log.")
    of_topics = replicated(clients, info, selects=awaited.selects_topic)
    observed = {where: one for where, one in of_topics.items() if awaited.selects(where)}
    if not observed:
        raise InvalidRequest(f"{connector!r} has no partition of topics {awaited.topics!r} to wait for.")
    behind = [text for where, one in observed.items() if (text := _behind(where, one, awaited))]
    return observation(clients, connector, behind, partitions=len(observed))


def _behind(where: TopicPartition, observed: Replicated, awaited: Awaited) -> str:
    """Describe how far a partition is behind; empty if it has reached its position."""
    if awaited.position is None:
        target = observed.bounds.log_end - awaited.max_lag
        reached = observed.lag is None or observed.lag <= awaited.max_lag
    else:
        target = awaited.position
        reached = _is_past(observed, target)
    position = observed.bounds.log_start if observed.position is None else observed.position
    return "" if reached else f"{where.topic}-{where.partition} is at {position:,}, not {target:,} yet"


def _is_past(observed: Replicated, target: int) -> bool:
    """True if no record before ``target`` is left to read."""
    if observed.position is not None and observed.position >= target:
        return True
    if not observed.known:
        return False
    next_record = observed.bounds.log_end if observed.first is None else observed.first.offset
    return next_record >= target
