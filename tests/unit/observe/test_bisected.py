"""Offset mappings that single records prove, on made-up clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from airflow_provider_connect_offsets.clock import Clock
from airflow_provider_connect_offsets.observe.flow.bisected import SearchLimits, bisect, current_mappings
from airflow_provider_connect_offsets.observe.flow.kept_mappings import prove_again
from airflow_provider_connect_offsets.observe.flow.remote_partitions import RemotePartition, remote_partitions_of
from airflow_provider_connect_offsets.observe.flow.single_records import anchor
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.mappings.bisecting import OffsetMapping
from tests.support.rows.made_up_cluster import MadeUpCluster, MadeUpFlow, MadeUpLog

RECORDS = [f"record {number}" for number in range(1000)]
# Of the first partition records were copied again, in the second one there is one of somebody else's.
AGAIN = [*RECORDS[:600], *RECORDS[590:]]
FOREIGN = [*RECORDS[:300], "somebody's", *RECORDS[300:]]


def flow(*, settings: Mapping[str, str] | None = None, config: Mapping[str, str] | None = None) -> MadeUpFlow:
    """A topic with two partitions, replicated to the end; settings: of the remote topic, config: of the connector."""
    source = MadeUpCluster({"orders": [MadeUpLog.of(*RECORDS)] * 2})
    logs = [MadeUpLog.of(*AGAIN), MadeUpLog.of(*FOREIGN)]
    target = MadeUpCluster({"here.orders": logs}, {"here.orders": settings or {}})
    return MadeUpFlow(source, target, {("orders", 0): 999, ("orders", 1): 999}, config or {})


def observed(made_up: MadeUpFlow) -> list[RemotePartition]:
    """The remote partitions that a planned failover observes."""
    return anchor(made_up.clusters, remote_partitions_of(made_up.info(), made_up.clients, made_up.clusters, {"orders"}))


def found(made_up: MadeUpFlow, *positions: int) -> set[tuple[int, int, int]]:
    """Mappings that the search returns for the groups' lowest positions, by partition."""
    remote_partitions = observed(made_up)
    known = {one.where: current_mappings(one, (), ()) for one in remote_partitions}
    lowest = {TopicPartition("orders", number): position for number, position in enumerate(positions)}
    rows = bisect(made_up.clusters, remote_partitions, known, lowest)
    assert {row["topic"] for row in rows} <= {"orders"}
    return {(row["kafka_partition"], row["upstream"], row["downstream"]) for row in rows}


def test_each_change_is_found_by_single_records() -> None:
    """All partitions that a group reads are searched; compaction has removed the offset syncs."""
    again = {(0, 599, 599), (0, 590, 600), (0, 999, 1009)}
    foreign = {(1, 299, 299), (1, 300, 301), (1, 999, 1000)}

    assert found(flow(), 0, 0) == again | foreign
    assert found(flow(), 100) == again
    assert found(flow()) == set()


def test_a_search_ends_with_its_time(caplog: pytest.LogCaptureFixture) -> None:
    """What was found until then counts; the log says how far it is, and which partitions are left."""
    made_up = flow()
    remote_partitions = observed(made_up)
    known = {one.where: current_mappings(one, (), ()) for one in remote_partitions}
    seconds = iter(range(0, 10_000, 6))

    with caplog.at_level("INFO"):
        rows = bisect(
            made_up.clusters,
            remote_partitions,
            known,
            dict.fromkeys(known, 0),
            SearchLimits(timeout=60, clock=Clock(lambda: next(seconds))),
        )

    assert rows == []
    assert "Searched 0 of 2 partitions for offset mappings." in caplog.messages
    assert caplog.messages[-1].startswith(
        "search_timeout: the search for offset mappings ended after 60 s. It is unfinished in 2 partitions: topic "
        "'orders', partition 0; topic 'orders', partition 1. "
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"settings": {"cleanup.policy": "compact"}},
        {"settings": {"message.timestamp.type": "LogAppendTime"}},
        {"config": {"transforms": "mask"}},
    ],
)
def test_nothing_is_searched_if_it_would_prove_nothing(changed: dict[str, dict[str, str]]) -> None:
    """Compaction and transformations drop records; without timestamps too many records have the same digest."""
    assert found(flow(**changed), 0, 0) == set()


@pytest.mark.parametrize(
    ("syncs", "kept", "known"),
    [
        ([(5, 5), (20, 21)], [(10, 10)], [(-1, -1), (5, 5), (10, 10), (20, 21), (999, 1009)]),
        ([(50, 60), (5, 5), (20, 21)], [], [(5, 5), (20, 21), (999, 1009)]),  # the remote topic was created anew
        ([(2000, 50), (20, 21)], [], [(20, 21), (999, 1009)]),  # the source was
        ([(5, 5), (5, 5)], [], [(-1, -1), (5, 5), (5, 5), (999, 1009)]),
        ([(5, 5), (20, 5000)], [], [(999, 1009)]),  # the last one begins anew, as offsets fall from one to the next
        ([], [(10, 5000)], []),
    ],
)
def test_mappings_of_earlier_topics_are_left_out(
    syncs: Sequence[tuple[int, int]], kept: Sequence[tuple[int, int]], known: Sequence[tuple[int, int]]
) -> None:
    """Offsets fell, or lie beyond the end of a log."""
    one = observed(flow())[0]

    mappings = current_mappings(
        one, [OffsetMapping(*mapping) for mapping in syncs], [OffsetMapping(*mapping) for mapping in kept]
    )

    assert sorted(mapping[:2] for mapping in mappings) == sorted(known)
    assert current_mappings(replace(one, target=None), [], []) == []


def test_what_was_matched_before_is_proved_by_its_last_mapping() -> None:
    """Not in a remote topic that was created anew since; of what retention has deleted nothing is kept."""

    def short(*target: str, start: int = 0) -> MadeUpFlow:
        log = MadeUpLog.of(*target, start=start)
        return MadeUpFlow(
            MadeUpCluster({"orders": [MadeUpLog.of(*"abcd")]}),
            MadeUpCluster({"here.orders": [log]}),
            {("orders", 0): 3},
        )

    made_up = short(*"abcd")
    remote_partitions = observed(made_up)
    known = {one.where: current_mappings(one, (), ()) for one in remote_partitions}
    rows = bisect(made_up.clusters, remote_partitions, known, dict.fromkeys(known, 0))

    def proved(later: MadeUpFlow) -> list[int]:
        return [row["upstream"] for row in prove_again(rows, later.clusters, observed(later))]

    assert [row["next_downstream"] for row in rows] == [1, 2, 3, 4]
    assert proved(made_up) == [0, 1, 2, 3]
    assert proved(short(*"abxy")) == []
    assert proved(short(*"cd", start=2)) == [2, 3]
