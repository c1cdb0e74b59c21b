"""Groups that are deleted to clear single offsets: what they hold beside is durable first, and committed again.

Kafka's client has no call that removes one offset of a group. A process that is killed after the delete leaves what is
missing in the run's directory; the next restore or commit of that run commits it before anything else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_connect_offsets.exceptions import StoreError, Unreachable
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.groups.left_groups import place, shown
from airflow_provider_connect_offsets.workspace.datasets import read_newest, write_newest
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import DELETED_GROUP_OFFSETS

log = logging.getLogger(__name__)
Offsets = Mapping[TopicPartition, Committed]
#: What a group is to hold; None: no offset of that partition.
Wanted = Mapping[TopicPartition, Committed | None]


def delete_and_commit(
    directory: FailoverDirectory, target: KafkaCluster, *, found: Mapping[str, Offsets], wanted: Mapping[str, Wanted]
) -> dict[str, str]:
    """Delete groups, and commit for each what is wanted of it; one after the other, so that none is gone for long.

    found: what each of them was seen to hold; a group that holds anything else by now is left as it is.
    Returns why a group was left, by its name. Raises :class:`Unreachable` where Kafka answers no more.
    """
    if not wanted:
        return {}
    earlier = _read(directory)
    _write(directory, {**earlier, **wanted})
    left: dict[str, str] = {}
    unfinished: dict[str, str] = {}
    for name, offsets in wanted.items():
        if told := _changed(found[name], target.groups.offsets_of([name])[name]):
            left[name] = told
            continue
        try:
            target.groups.delete(name)
        except Unreachable:
            raise  # nobody knows whether it is deleted: it stays among those that are to be looked at
        except StoreError as error:
            left[name] = str(error)
        unfinished |= _commit_missing(directory, target, {name: offsets})
    _write(directory, {**earlier, **{name: wanted[name] for name in unfinished}})
    return left | unfinished


def commit_deleted(directory: FailoverDirectory, target: KafkaCluster) -> dict[str, str]:
    """Commit what is missing of groups that an earlier attempt has deleted; an offset that is there again stays.

    Returns what is wrong with a group, by its name: it still lacks something, or somebody has committed in it since.
    The latter is told once. Raises store errors.
    """
    kept = _read(directory)
    if not kept:
        return {}
    present = target.groups.offsets_of(kept)
    moved = {name: told for name, offsets in kept.items() if (told := _moved_since(offsets, present[name]))}
    unfinished = _commit_missing(directory, target, kept)
    for name in kept:
        told = (moved | unfinished).get(name, "it holds all that it held then")
        log.warning("An earlier restore did not come back after it was about to delete group %r: %s.", name, told)
    _write(directory, {name: kept[name] for name in unfinished})
    return moved | unfinished


def is_whole(directory: FailoverDirectory) -> bool:
    """Whether no group is known to lack what it held before it was deleted."""
    return not _read(directory)


def _commit_missing(directory: FailoverDirectory, target: KafkaCluster, wanted: Mapping[str, Wanted]) -> dict[str, str]:
    missing = _missing(target, wanted)
    if not missing:
        return {}
    refused = target.groups.commit(missing)
    told: dict[str, str] = {}
    for name, offsets in _missing(target, wanted).items():
        where, committed = next(iter(offsets.items()))
        told[name] = (
            f"it was deleted to clear single offsets, and lacks {len(offsets):,} others since, the first at "
            f"{place(where)}, {shown(committed)}. They are kept under {directory.deleted_groups}; run it again to "
            f"commit them ({refused.get(name, 'Kafka took them, but did not give them back')})"
        )
    return told


def _missing(target: KafkaCluster, wanted: Mapping[str, Wanted]) -> dict[str, dict[TopicPartition, Committed]]:
    missing = {
        name: {where: one for where, one in wanted[name].items() if one is not None and where not in present}
        for name, present in target.groups.offsets_of(wanted).items()
    }
    return {name: offsets for name, offsets in missing.items() if offsets}


def _changed(found: Offsets, present: Offsets) -> str:
    """Say which offset has changed since the group was looked at; empty where none has."""
    for where in {**found, **present}:
        if found.get(where) != present.get(where):
            moved = f"went from {shown(found.get(where))} to {shown(present.get(where))}"
            return f"{place(where)} {moved} while it was being restored: run it again"
    return ""


def _moved_since(wanted: Wanted, present: Offsets) -> str:
    """Say which offset was committed by someone else after the delete; empty where none was, or nothing was deleted."""
    if any(one is None and where in present for where, one in wanted.items()):
        return ""
    for where, one in wanted.items():
        if one is not None and present.get(where, one) != one:
            return (
                f"{place(where)} stands at {shown(present[where])}; it was at {shown(one)} when the group was deleted "
                "to clear single offsets. Somebody has been in it since, and may have passed records. It stays there; "
                "set it by hand where that is wrong, and run this again"
            )
    return ""


def _read(directory: FailoverDirectory) -> dict[str, Wanted]:
    kept: dict[str, dict[TopicPartition, Committed | None]] = {}
    for row in read_newest(directory.deleted_groups, DELETED_GROUP_OFFSETS) or ():
        held = None if row["offset"] is None else Committed(row["offset"], row["metadata"] or "", row["leader_epoch"])
        kept.setdefault(row["group"], {})[TopicPartition(row["topic"], row["kafka_partition"])] = held
    return dict(kept)


def _write(directory: FailoverDirectory, kept: Mapping[str, Wanted]) -> None:
    write_newest(directory.deleted_groups, DELETED_GROUP_OFFSETS, _rows(kept))


def _rows(kept: Mapping[str, Wanted]) -> Iterator[dict[str, Any]]:
    for name, offsets in kept.items():
        for where, one in offsets.items():
            yield {
                "group": name,
                "topic": where.topic,
                "kafka_partition": where.partition,
                "offset": None if one is None else one.offset,
                "metadata": None if one is None else one.metadata,
                "leader_epoch": None if one is None else one.leader_epoch,
            }
