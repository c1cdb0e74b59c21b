"""Whether a connector has reached awaited positions, or an awaited number of records left to read."""

from __future__ import annotations

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.lag import Replicated, observation, observe_replicated
from airflow_provider_connect_offsets.observe.waiting import Observation
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.requests.place import Awaited


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
        raise InvalidRequest(
            f"{connector!r}: the offsets of a {info.connector_class} are not positions in a Kafka log."
        )
    of_topics = observe_replicated(clients, info, selects=awaited.selects_topic)
    observed = {where: one for where, one in of_topics.items() if awaited.selects(where.topic, where.partition)}
    if not observed:
        raise InvalidRequest(
            f"Nothing to wait for: {connector!r} has no selected partition of topics {awaited.topics or '.*'!r}."
        )
    behind = [text for where, one in observed.items() if (text := _describe_behind(where, one, awaited))]
    return observation(clients, connector, behind, partitions=len(observed))


def _describe_behind(where: TopicPartition, observed: Replicated, awaited: Awaited) -> str:
    """Describe how far a partition is behind; empty if it has reached its position."""
    if awaited.position is None:
        target = observed.bounds.log_end - awaited.max_lag
        reached = observed.lag is None or observed.lag <= awaited.max_lag
    else:
        target = awaited.position
        reached = _is_past(observed, target)
    position = observed.bounds.log_start if observed.position is None else observed.position
    return "" if reached else f"{where.topic}-{where.partition} is at {position:,}, not yet at {target:,}"


def _is_past(observed: Replicated, target: int) -> bool:
    """Whether no record before ``target`` is left to read."""
    if observed.position is not None and observed.position >= target:
        return True
    if not observed.known:
        return False
    next_record = observed.bounds.log_end if observed.first is None else observed.first.offset
    return next_record >= target
