"""Nothing large is read before all records are known to be replicated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.exceptions import NotDrained
from airflow_provider_connect_offsets.kafka.spans import Digest
from airflow_provider_connect_offsets.observe.flow.failover import observe_failover
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from tests.support.rows.made_up_cluster import MadeUpFlow, MadeUpLog, WithReader


class Unread(WithReader):
    """A cluster with one group, whose logs must not be read as a whole."""

    def digests(self, spans: Mapping[TopicPartition, range], *, timed: Mapping[str, bool]) -> Iterator[Digest]:
        del timed
        pytest.fail(f"{spans} were read")


def test_records_that_are_left_refuse_it_before_any_log_is_read(tmp_path: Path) -> None:
    """A flow that has to begin again was not stopped for the time that reading takes."""
    source, target = Unread({"orders": [MadeUpLog.of(*"abc")]}), Unread({"here.orders": [MadeUpLog.of(*"ab")]})
    made_up = MadeUpFlow(source, target, {("orders", 0): 1})
    request = FailoverRequest.parse(
        planned=True, flow=Flow.of(made_up.info().config), groups=".*", source_connector="mirror"
    )
    before, after = (FailoverDirectory(f"{tmp_path.as_uri()}/{name}") for name in ("before", "after"))

    with pytest.raises(NotDrained, match="topic 'orders', partition 0 ends at 3"):
        observe_failover(request, replace(made_up.clients, clusters=made_up.clusters), after, ranges=before)
