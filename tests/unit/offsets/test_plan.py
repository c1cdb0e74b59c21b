"""Plans: one digest for one plan, and the plan after the connector was stopped."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.exceptions import Drift, PlanRefused
from airflow_provider_connect_offsets.observe.log_positions import positions_in
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow, plan_digest
from airflow_provider_connect_offsets.offsets.requests.request import Request

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
ORDERS_0 = TopicPartition("orders", 0)
LOG = {ORDERS_0: (10, 100)}


def read(position: int | None) -> str | None:
    """Return a sink's offset."""
    return None if position is None else f'{{"kafka_offset":{position}}}'


def at(number: int) -> str:
    """Return a sink's partition."""
    return f'{{"kafka_partition":{number},"kafka_topic":"orders"}}'


def row(before: int | None, after: int | None, number: int = 0) -> PlanRow:
    action = Action.KEEP if before == after else Action.CLEAR if after is None else Action.SET
    return PlanRow(
        "sink", "sink", at(number), "orders", number, read(before), before, read(after), after, action, "because"
    )


def plan(*rows: PlanRow, to: str = "offset", value: str = "50") -> OffsetPlan:
    return OffsetPlan.of(Request.parse(connector="sink", to=to, value=value, now=NOW), rows)


def stored(*positions: int | None) -> Offsets:
    """Return stored offsets of partitions 0, 1 and so on."""
    return Offsets.of(Entry(at(number), read(position)) for number, position in enumerate(positions))


@given(st.permutations([row(1, 2, number) for number in range(4)]))
def test_the_order_of_rows_does_not_matter(rows: list[PlanRow]) -> None:
    """A plan read back from a file in any order is the same plan."""
    assert plan(*rows) == plan(*(row(1, 2, number) for number in range(4)))


@pytest.mark.parametrize(
    "change",
    [
        {"connector": "other"},
        {"family": "mirror_source"},
        {"partition": at(7)},
        {"before": read(9)},
        {"before": None},
        {"after": read(9)},
        {"after": None},
        {"action": Action.KEEP},
    ],
    ids=str,
)
def test_the_digest_changes_with_all_that_identifies_a_row(change: dict[str, str]) -> None:
    """So the applied plan is the approved one."""
    one = row(1, 2)
    other = replace(one, **change)  # type: ignore[arg-type]

    assert plan_digest([one.digest()]) != plan_digest([other.digest()])


def test_the_digest_does_not_depend_on_words() -> None:
    """A reason may be worded differently."""
    assert row(1, 2).digest() == replace(row(1, 2), reason="to put it differently").digest()
    assert plan_digest([]) != plan_digest([row(1, 2).digest()])


def test_a_null_before_is_not_a_null_after() -> None:
    """Swapped fields give another digest."""
    assert replace(row(1, 2), before=None).digest() != replace(row(1, 2), after=None).digest()


def test_rows_of_another_connector() -> None:
    """A plan is for one connector."""
    with pytest.raises(PlanRefused, match="the plan for 'sink' has a row of connector 'other'"):
        plan(replace(row(1, 2), connector="other"))


def test_changes() -> None:
    """Only changes are written; a clear is a null."""
    made = plan(row(5, 5, 0), row(5, 9, 1), row(5, None, 2))

    assert list(made.changes()) == [Entry(at(1), read(9)), Entry(at(2), None)]
    assert made.family.name == "sink"
    assert plan().family.name == "generic_source"


def test_moved_partitions() -> None:
    """Fresh bounds are needed only for partitions that are changed and have moved."""
    made = plan(row(5, 5, 0), row(5, 9, 1), row(5, 9, 2))

    assert made.moved_partitions(stored(6, 6, 5)) == [TopicPartition("orders", 1)]


def test_where_nothing_moved_the_plan_stays() -> None:
    """A plan on the same offsets is unchanged."""
    made = plan(row(20, 50, 0), row(None, 50, 1))

    assert made.rebase(stored(20), log_bounds={}, moving=False) == made


def test_normal_progress_is_no_drift() -> None:
    """A running connector progresses between plan and stop; the target stays the approved one."""
    made = plan(row(20, 50, 0), row(None, 50, 1), row(7, 7, 2))

    rebased = made.rebase(stored(30, 3, 8), log_bounds={}, moving=True)

    assert rebased.changes() == made.changes()
    assert rebased.digest == made.digest


@pytest.mark.parametrize(
    ("stopped", "moving", "sentence"),
    [
        (stored(19), True, 'was at {"kafka_offset":20} and is now at {"kafka_offset":19}'),
        (stored(None), True, 'was at {"kafka_offset":20} and is now at no offset'),
        (Offsets(), True, "is now at no offset"),
        (stored(21), False, 'and is now at {"kafka_offset":21}'),
    ],
    ids=["backwards", "null", "vanished", "moved without running"],
)  # fmt: skip
def test_drift(stopped: Offsets, moving: bool, sentence: str) -> None:  # noqa: FBT001 - a case of a table
    """Someone else did what a connector does not do by itself."""
    with pytest.raises(Drift, match="'sink' was changed by someone else after the plan was made") as caught:
        plan(row(20, 50)).rebase(stopped, log_bounds={}, moving=moving)

    assert sentence in str(caught.value)


def test_drift_of_what_is_kept() -> None:
    """The approver also saw the partitions that the plan leaves."""
    with pytest.raises(Drift):
        plan(row(20, 50, 0), row(9, 9, 1)).rebase(stored(20, 8), log_bounds={}, moving=True)


def test_much_drift_is_named_in_part() -> None:
    """The message stays readable."""
    with pytest.raises(Drift, match=r"\(and 2 more\)$"):
        plan(*(row(20, 50, number) for number in range(5))).rebase(Offsets(), log_bounds={}, moving=True)


@pytest.mark.parametrize(
    ("to", "value", "planned", "now", "after"),
    [
        ("shift", "-5", 15, 30, 25),
        ("shift", "-15", 10, 22, 10),
        ("skip", "2", 22, 98, 100),
        ("shift", "+3", 23, 21, 24),
    ],
)
def test_what_counts_from_here_is_counted_again(to: str, value: str, planned: int, now: int, after: int) -> None:
    """``shift`` and ``skip`` count from the stopped position, within the log."""
    made = plan(row(20, planned), to=to, value=value)

    [rebased] = made.rebase(stored(now), log_bounds=LOG, moving=True).rows

    assert (rebased.after, rebased.after_position, rebased.action) == (read(after), after, Action.SET)


def test_a_skip_is_counted_again_from_the_record_that_is_read_next() -> None:
    """A marker of a transaction at the stopped position is no record; other partitions count from their positions."""
    made = plan(row(20, 22), to="skip", value="2")
    assert positions_in(made.family, stored(30)) == {ORDERS_0: 30}

    [rebased] = made.rebase(stored(30), log_bounds=LOG, moving=True, next_records={ORDERS_0: 33}).rows

    assert (rebased.after, rebased.after_position) == (read(35), 35)


def test_a_shift_to_zero_clears_a_mirror_source() -> None:
    """The family decides what to store for the new position: nothing for 0, something for 1."""
    partition = '{"cluster":"a","partition":0,"topic":"orders"}'
    planned = PlanRow(
        "sink", "mirror_source", partition, "orders", 0, '{"offset":4}', 5, None, 0, Action.CLEAR, "because"
    )
    stopped = Offsets.of([Entry(partition, '{"offset":5}')])

    [rebased] = plan(planned, to="shift", value="-5").rebase(stopped, log_bounds={ORDERS_0: (0, 9)}, moving=True).rows
    assert (rebased.after, rebased.action) == ('{"offset":0}', Action.SET)
    [back] = plan(planned, to="shift", value="-9").rebase(stopped, log_bounds={ORDERS_0: (0, 9)}, moving=True).rows
    assert (back.after, back.action) == (None, Action.CLEAR)


def test_what_would_now_lie_beyond_the_log_end() -> None:
    """A connector with nothing left to skip is not moved beyond the log end."""
    with pytest.raises(Drift, match="its position is now 99, and to=skip value=2 would lead beyond the log end 100"):
        plan(row(20, 22), to="skip", value="2").rebase(stored(99), log_bounds=LOG, moving=True)


def test_latest_stays_where_the_connector_has_got_to() -> None:
    """The log end of the plan would be a step back now."""
    made = plan(row(20, 50), to="latest", value="")

    [further] = made.rebase(stored(60), log_bounds={}, moving=True).rows
    [behind] = made.rebase(stored(40), log_bounds={}, moving=True).rows

    assert (further.after, further.after_position, further.action) == (read(60), 60, Action.KEEP)
    assert (behind.after, behind.action) == (read(50), Action.SET)
