"""Which remote topics a failover without the source reads."""

from __future__ import annotations

import logging

import pytest

from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.observe.flow.ledger_observed import select_whole
from airflow_provider_connect_offsets.observe.flow.remote_partitions import RemotePartition
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest

LENGTHS = (500, 40, 70, None, 0)


@pytest.mark.parametrize(
    ("compared", "compared_total", "read"),
    [
        (500, 610, [4, 1, 2, 0]),
        (500, 609, [4, 1, 2]),
        (499, 10_000, [4, 1, 2]),
        (499, 109, [4, 1]),
        (39, 10_000, [4]),
        (0, 0, [4]),
    ],
)
def test_the_shortest_ones_are_read_whole(
    compared: int, compared_total: int, read: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    """A part would prove nothing. What is beyond the limits is told; a partition that the target lacks is not."""
    flow = Flow(source_alias="a", target_alias="b")
    request = FailoverRequest.parse(
        planned=False, flow=flow, groups=".*", compared=compared, compared_total=compared_total
    )
    listed = [
        RemotePartition(
            TopicPartition("t", number), "a.t", None, None if length is None else LogBounds(100, 100 + length)
        )
        for number, length in enumerate(LENGTHS)
    ]
    caplog.set_level(logging.WARNING)

    found = [one.where.partition for one in select_whole(request, listed)]

    assert found == read
    left = 4 - len(read)
    assert (f"The records of {left} remote partition" in caplog.text) is bool(left)
