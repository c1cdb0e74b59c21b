"""What is written to a consumer group, so that an interrupted removal can be repaired."""

from __future__ import annotations

from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.operations.stages.handling import OfGroup, has_gone_on

STORED = Offsets.of([Entry("a", "1"), Entry("b", "2")])


def test_offsets_that_are_replaced_are_written_alone() -> None:
    """Neither the change nor its undo removes one, so no other offset is touched."""
    changes = Offsets.of([Entry("a", "5")])

    assert OfGroup().to_write(changes, STORED) == changes


def test_a_removal_is_part_of_all_offsets() -> None:
    """To remove one offset, the change deletes the group, so it writes all other offsets again."""
    changes = OfGroup().to_write(Offsets.of([Entry("a", None)]), STORED)

    assert {one.partition: one.offset for one in changes} == {"a": None, "b": "2"}


def test_a_first_offset_is_part_of_all_offsets() -> None:
    """Its undo removes it by deleting the group, so all other offsets are written as well."""
    changes = OfGroup().to_write(Offsets.of([Entry("c", "3")]), STORED)

    assert {one.partition: one.offset for one in changes} == {"a": "1", "b": "2", "c": "3"}


def test_only_offsets_of_the_change_are_undone() -> None:
    """A half-made change has prior and new offsets, and lacks some; any other offset is the application's."""
    after = STORED.with_changes(Offsets.of([Entry("a", "5")]))

    assert not has_gone_on(STORED, STORED, after)
    assert not has_gone_on(after, STORED, after)
    assert not has_gone_on(Offsets(), STORED, after)
    assert has_gone_on(STORED.with_changes(Offsets.of([Entry("a", "6")])), STORED, after)
    assert has_gone_on(STORED.with_changes(Offsets.of([Entry("c", "1")])), STORED, after)
