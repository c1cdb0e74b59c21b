"""The records of a topic and of its remote topic, compared by their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sandbox import Broker
from tests.support.flows.failing_over import Flowing


@dataclass(frozen=True)
class Logs:
    """The values in both logs of a topic, by partition."""

    source: Mapping[int, list[bytes | None]]
    remote_partition: Mapping[int, list[bytes | None]]

    @classmethod
    def read(cls, flowing: Flowing) -> Logs:
        """Read both logs."""
        return cls(
            contents(flowing.sandbox.source, flowing.topic), contents(flowing.sandbox.target, flowing.target_topic)
        )

    def read_again(self, partition: int, *, position: int, downstream: int) -> int:
        """Count the records that a group at ``position`` of the source reads again if it resumes at ``downstream``.

        Fails if it would miss a replicated record that it has not read.
        """
        left = set(self.source[partition][position:])
        read = self.remote_partition[partition][downstream:]
        assert left & set(self.remote_partition[partition]) <= set(read)
        return sum(value not in left for value in read)

    def goes_on(self, partition: int, *, position: int, downstream: int) -> bool:
        """Whether the record at ``downstream`` of the remote topic is the one at ``position`` of the source."""
        return (
            self.remote_partition[partition][downstream : downstream + 1]
            == self.source[partition][position : position + 1]
        )


def contents(broker: Broker, topic: str) -> dict[int, list[bytes | None]]:
    """The values of a topic without gaps, by partition."""
    found: dict[int, list[bytes | None]] = {number: [] for number in broker.log_bounds(topic)}
    for record in broker.consume(topic):
        assert record.offset == len(found[record.partition])
        found[record.partition].append(record.value)
    return found
