"""Offsets that a failover replaces in the target's groups, kept before each commit: the groups are restored from them.

They belong to the run's directory, not to one translation. A retry keeps what the first attempt has replaced. A run
that is cleared and translated anew keeps the offsets before its second commit; if its first commit had written these,
it keeps the offsets before the first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.observe.flow.observed_groups import Group
from airflow_provider_connect_offsets.observe.partitions import partition_of
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.workspace.datasets import read_newest, write_newest
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import PRIOR_GROUP_OFFSETS


@dataclass(frozen=True, slots=True)
class Replaced:
    """What the failover commits for a group's partition, and what it replaces.

    Attributes:
        prior: What was committed before; None: nothing.
        committed: What the failover commits.
        existed: True if the group existed before.
        digest: Digest of the translation.
    """

    prior: Committed | None
    committed: int
    existed: bool
    digest: str


Replacements = Mapping[str, Mapping[TopicPartition, Replaced]]


def add_replaced(
    earlier: Replacements,
    due: Mapping[str, Mapping[TopicPartition, int]],
    present: Mapping[str, Group],
    existing: Collection[str],
    *,
    digest: str,
) -> Replacements:
    """Return ``earlier`` with what a commit is about to replace added.

    Args:
        earlier: What this run has replaced before.
        due: The offsets to be committed, for partitions that have another offset or none.
        present: The groups as observed.
        existing: Names of the groups that exist.
        digest: Digest of the translation.
    """
    replaced = {name: dict(rows) for name, rows in earlier.items()}
    for name, offsets in due.items():
        kept = replaced.setdefault(name, {})
        existed = next((row.existed for row in kept.values()), name in existing)
        for where, offset in offsets.items():
            row, committed = kept.get(where), present[name].offsets.get(where)
            of_this_run = row is not None and committed is not None and committed.offset == row.committed
            prior = row.prior if row is not None and of_this_run else committed
            kept[where] = Replaced(prior, offset, existed, digest)
    return replaced


def read_replaced(directory: FailoverDirectory) -> Replacements | None:
    """Read what the run of ``directory`` has replaced and not restored; None if it has committed nothing."""
    rows = read_newest(directory.before, PRIOR_GROUP_OFFSETS)
    if rows is None:
        return None
    replaced: dict[str, dict[TopicPartition, Replaced]] = {}
    for row in rows:
        one = Replaced(read_committed(row), row["committed"], row["existed"], row["digest"])
        replaced.setdefault(row["group"], {})[partition_of(row)] = one
    return replaced


def write_replaced(directory: FailoverDirectory, replaced: Replacements) -> None:
    """Make replacements durable; a process that is killed meanwhile leaves the replacements that were kept before."""
    write_newest(directory.before, PRIOR_GROUP_OFFSETS, _rows(replaced))


def read_committed(row: Mapping[str, Any]) -> Committed | None:
    """Read the committed offset of a dataset's row; None if its column ``offset`` is null."""
    return None if row["offset"] is None else Committed(row["offset"], row["metadata"] or "", row["leader_epoch"])


def committed_row(group: str, where: TopicPartition, committed: Committed | None) -> dict[str, Any]:
    """Return the columns of a group's partition and its committed offset; None: null."""
    return {
        "group": group,
        "topic": where.topic,
        "kafka_partition": where.partition,
        "offset": None if committed is None else committed.offset,
        "metadata": None if committed is None else committed.metadata,
        "leader_epoch": None if committed is None else committed.leader_epoch,
    }


def _rows(replaced: Replacements) -> Iterator[dict[str, Any]]:
    for name, rows in replaced.items():
        for where, row in rows.items():
            of_run = {"existed": row.existed, "committed": row.committed, "digest": row.digest}
            yield {**committed_row(name, where, row.prior), **of_run}
