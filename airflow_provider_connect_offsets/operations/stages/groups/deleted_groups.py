"""Deletes groups to clear single offsets; their other offsets are made durable first, and committed again.

Kafka's client has no call that removes one offset of a group. If the process is killed after the delete, the run's
directory keeps the missing offsets; the next restore or commit of that run commits them before anything else.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from airflow_provider_connect_offsets.exceptions import StoreError, Unreachable
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.observe.partitions import partition_of
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.stages.groups.left_groups import partition_text, show_offset
from airflow_provider_connect_offsets.operations.stages.groups.prior_groups import committed_row, read_committed
from airflow_provider_connect_offsets.workspace.datasets import read_newest, write_newest
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import DELETED_GROUP_OFFSETS

log = logging.getLogger(__name__)
Offsets = Mapping[TopicPartition, Committed]
#: The offsets that a group is to have; None: no offset in that partition.
Expected = Mapping[TopicPartition, Committed | None]


def delete_and_commit(
    directory: FailoverDirectory,
    target: KafkaCluster,
    *,
    observed: Mapping[str, Offsets],
    expected: Mapping[str, Expected],
) -> dict[str, str]:
    """Delete groups, and commit the expected offsets of each; one group after the other, so that none is gone for long.

    Args:
        directory: Directory of the run.
        target: The target cluster.
        observed: The offsets that each group had; a group that has other offsets by now is left as it is.
        expected: The offsets that each group is to have.

    Returns:
        Group → why it was left; empty if none was.

    Raises:
        Unreachable: Kafka does not answer any more.
    """
    if not expected:
        return {}
    earlier = _read(directory)
    _write(directory, {**earlier, **expected})
    left: dict[str, str] = {}
    unfinished: dict[str, str] = {}
    for name, offsets in expected.items():
        if reason := _describe_changed(observed[name], target.groups.offsets_of([name])[name]):
            left[name] = reason
            continue
        try:
            target.groups.delete(name)
        except Unreachable:
            raise  # it is unknown whether the group is deleted: the directory keeps its offsets
        except StoreError as error:
            left[name] = str(error)
        unfinished |= _commit_missing(directory, target, {name: offsets})
    _write(directory, {**earlier, **{name: expected[name] for name in unfinished}})
    return left | unfinished


def commit_deleted(directory: FailoverDirectory, target: KafkaCluster) -> dict[str, str]:
    """Commit the offsets that groups lack since an earlier attempt deleted them; offsets committed since then stay.

    Args:
        directory: Directory of the run.
        target: The target cluster.

    Returns:
        Group → what is wrong: it still lacks offsets, or someone else has committed offsets since. The latter is
        returned only once.

    Raises:
        StoreError: Kafka does not answer, or refuses.
    """
    kept = _read(directory)
    if not kept:
        return {}
    present = target.groups.offsets_of(kept)
    moved = {name: reason for name, offsets in kept.items() if (reason := _describe_moved(offsets, present[name]))}
    unfinished = _commit_missing(directory, target, kept)
    for name in kept:
        result = (moved | unfinished).get(name, "the group has all the offsets that it had before")
        log.warning("An earlier restore was interrupted while it deleted group %r: %s.", name, result)
    _write(directory, {name: kept[name] for name in unfinished})
    return moved | unfinished


def is_whole(directory: FailoverDirectory) -> bool:
    """Whether no group is known to lack offsets that it had before it was deleted."""
    return not _read(directory)


def _commit_missing(
    directory: FailoverDirectory, target: KafkaCluster, expected: Mapping[str, Expected]
) -> dict[str, str]:
    missing = _missing_offsets(target, expected)
    if not missing:
        return {}
    refused = target.groups.commit(missing)
    reasons: dict[str, str] = {}
    for name, offsets in _missing_offsets(target, expected).items():
        where, committed = next(iter(offsets.items()))
        reasons[name] = (
            f"it was deleted to clear single offsets, and still lacks {len(offsets):,} of its other offsets, the first "
            f"in {partition_text(where)}: {show_offset(committed)}. They are kept under {directory.deleted_groups}. "
            f"Run the task again to commit them ({refused.get(name, 'Kafka accepted them, but did not return them')})"
        )
    return reasons


def _missing_offsets(
    target: KafkaCluster, expected: Mapping[str, Expected]
) -> dict[str, dict[TopicPartition, Committed]]:
    missing = {
        name: {where: one for where, one in expected[name].items() if one is not None and where not in present}
        for name, present in target.groups.offsets_of(expected).items()
    }
    return {name: offsets for name, offsets in missing.items() if offsets}


def _describe_changed(observed: Offsets, present: Offsets) -> str:
    """Describe which offset has changed since the group was observed; empty if none has."""
    for where in {**observed, **present}:
        if observed.get(where) != present.get(where):
            moved = f"went from {show_offset(observed.get(where))} to {show_offset(present.get(where))}"
            return f"{partition_text(where)} {moved} during the restore: run the task again"
    return ""


def _describe_moved(expected: Expected, present: Offsets) -> str:
    """Describe an offset that someone else committed after the delete; empty if none, or nothing was deleted."""
    if any(one is None and where in present for where, one in expected.items()):
        return ""
    for where, one in expected.items():
        if one is not None and present.get(where, one) != one:
            return (
                f"{partition_text(where)} is at {show_offset(present[where])}, but was at {show_offset(one)} when the "
                "group was deleted to clear single offsets. Someone has used the group since then, and may have "
                "skipped records. This offset stays. If it is wrong, set it by hand, then run the task again"
            )
    return ""


def _read(directory: FailoverDirectory) -> dict[str, Expected]:
    kept: dict[str, dict[TopicPartition, Committed | None]] = {}
    for row in read_newest(directory.deleted_groups, DELETED_GROUP_OFFSETS) or ():
        kept.setdefault(row["group"], {})[partition_of(row)] = read_committed(row)
    return dict(kept)


def _write(directory: FailoverDirectory, kept: Mapping[str, Expected]) -> None:
    rows = (committed_row(name, where, one) for name, offsets in kept.items() for where, one in offsets.items())
    write_newest(directory.deleted_groups, DELETED_GROUP_OFFSETS, rows)
