"""Where a flow was on both clusters, and which syncs can be new ones."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.kafka.cluster import CleanupPolicy
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.observe.flow import kept_mappings
from airflow_provider_connect_offsets.observe.flow.kept_mappings import rewinds
from airflow_provider_connect_offsets.observe.flow.remote_partitions import RemotePartition
from airflow_provider_connect_offsets.observe.flow.topic_ids import TopicIds
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.mappings.bisecting import OffsetMapping
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.sync_record import OffsetSync
from airflow_provider_connect_offsets.operations.flow.new_syncs import Opening, misfit, openings
from airflow_provider_connect_offsets.operations.stages.flow_stages import ObservedTopic
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import REWINDS
from airflow_provider_connect_offsets.workspace.paths import join

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
IDS = TopicIds({"t": "source"}, {"eu.t": "target"})


def row(partition: int, before: int | None, after: int | None, action: Action) -> PlanRow:
    """A row of topic ``t`` from position to position; None: nothing is stored, or the next position is unknown."""

    def stored(position: int | None) -> str | None:
        return f'{{"offset":{position - 1}}}' if position else None

    key = f'{{"cluster":"eu","partition":{partition},"topic":"t"}}'
    return PlanRow(
        "flow", "mirror_source", key, "t", partition, stored(before), before, stored(after), after, action, ""
    )


def kept(rows: list[PlanRow], ends: dict[int, int]) -> list[tuple[int | None, ...]]:
    plan = OffsetPlan.of(Request.parse(connector="flow", to="earliest", now=NOON), rows)
    at_stop = Offsets.of(Entry(one.partition, one.before) for one in rows if one.before)
    flow = Flow.of({"source.cluster.alias": "eu"})
    bounds = {TopicPartition("eu.t", number): end for number, end in ends.items()}
    return [tuple(found.values())[1:6] for found in rewinds(plan, at_stop, bounds, flow, now=NOON, ids=IDS)]


def test_mappings_that_are_known() -> None:
    """A rewind keeps the last record before it and the offset of the next; if unchanged, both have one generation."""
    rows = [
        row(0, 100, 0, Action.CLEAR),
        row(1, 100, 40, Action.SET),
        row(2, 100, 100, Action.KEEP),
        row(3, 100, None, Action.CLEAR),
        row(4, None, None, Action.KEEP),
        row(5, 100, 0, Action.CLEAR),
    ]

    assert kept(rows, {0: 150, 1: 90, 2: 90, 3: 90, 4: 0}) == [
        (0, 99, 149, 0, 150),
        (1, 99, 89, 40, 90),
        (2, 99, 89, 100, 90),
        (3, 99, 89, None, 90),
        (4, None, None, None, 0),
        (5, None, None, 0, 0),  # there is no remote topic: its last record can't be named
    ]


def test_a_reset_that_ended_before_its_time_is_passed_over(tmp_path: Path) -> None:
    """An incomplete directory is left out, and does not prevent a failover."""
    files.write_bytes(join(tmp_path.as_uri(), "20260131T120000Z-0123456789ab", "part-00000.parquet"), b"PAR1")

    assert kept_mappings._of_resets(tmp_path.as_uri(), {}, IDS) == {}


def test_mappings_of_topics_that_were_created_anew_are_left_out(tmp_path: Path) -> None:
    """Their ids differ on either side; of a row without ids only the records decide."""
    rows = [
        {**reset(number), "topic_id": of_source, "target_topic_id": of_target}
        for number, (of_source, of_target) in enumerate(
            [("source", "target"), ("before", "target"), ("source", "before"), (None, None)]
        )
    ]
    write_dataset(join(tmp_path.as_uri(), "20260131T120000Z-0123456789ab"), REWINDS, rows)
    log = LogBounds(0, 100)
    there = {where: RemotePartition(where, "eu.t", log, log) for where in (TopicPartition("t", at) for at in range(4))}

    assert kept_mappings._of_resets(tmp_path.as_uri(), there, IDS) == {
        TopicPartition("t", number): [OffsetMapping(9, 19), OffsetMapping(5, 20)] for number in (0, 3)
    }


def reset(partition: int) -> dict[str, Any]:
    """A row of ``rewinds``."""
    closing = {"closing_upstream": 9, "closing_downstream": 19}
    opening = {"opening_upstream": 5, "opening_downstream": 20}
    return {"topic": "t", "kafka_partition": partition, **closing, **opening, "written_at": NOON}


def test_older_syncs_do_not_fit() -> None:
    """A new one lies neither before the record at which the flow resumed, nor before that record's copy."""
    where = TopicPartition("t", 0)
    opening = Opening(upstream=40, downstream=90)

    assert not misfit(OffsetSync(where, 40, 90), opening)
    assert not misfit(OffsetSync(where, 60, 105), opening)  # the source's log has gaps
    assert misfit(OffsetSync(where, 39, 90), opening)
    assert misfit(OffsetSync(where, 99, 89), opening)
    rows = [{"topic": "t", "kafka_partition": 0, "opening_upstream": None, "opening_downstream": 90}]
    assert openings(rows) == {where: Opening(0, 90)}


@given(
    st.builds(
        ObservedTopic,
        side=st.sampled_from(Side),
        topic=st.text(min_size=1),
        value=st.sampled_from(["compact", "compact,delete"]),
        own=st.booleans(),
        starts=st.lists(st.integers(0, 9), max_size=3).map(tuple),
        ends=st.lists(st.integers(0, 9), max_size=3).map(tuple),
    )
)
def test_a_journal_keeps_what_has_to_be_restored(topic: ObservedTopic) -> None:
    """Whatever topic it is, and by the same keys as ever."""
    written = json.dumps(topic.as_json())

    assert ObservedTopic.from_json(json.loads(written)) == topic
    assert list(json.loads(written)) == ["side", "topic", "value", "own", "starts", "ends"]
    assert topic.policy == CleanupPolicy(topic.value, own=topic.own)
