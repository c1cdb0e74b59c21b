"""Both Kafka clusters of a MirrorMaker 2 flow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.spans import Isolation, Spans
from airflow_provider_connect_offsets.offsets.flow import Side


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of a flow.

    Attributes:
        source: The source; None if it is gone.
        target: The target.
        isolation: Which records MirrorSource reads from the source.
    """

    source: KafkaCluster | None
    target: KafkaCluster
    isolation: Isolation = Isolation.READ_UNCOMMITTED

    def on(self, side: Side) -> KafkaCluster:
        """Return the cluster on that side; raises :class:`InvalidInput` for a source that is gone."""
        if side is Side.TARGET:
            return self.target
        if self.source is None:
            raise InvalidInput("The records of the source cluster can't be read, because the source cluster is gone.")
        return self.source

    @contextmanager
    def spans(self) -> Iterator[tuple[Spans, Spans]]:
        """Open the records of both clusters; raises :class:`InvalidInput` if the source is gone."""
        with self.on(Side.SOURCE).spans(self.isolation) as source, self.target.spans() as target:
            yield source, target
