"""What a failover replaces in the target's groups, kept before each commit: from this they are restored.

It belongs to the run's directory and not to one translation. A retry keeps what the first attempt has found. A run that
is cleared and translated anew keeps what stood before its second commit; where that is what its first commit had put
there, it keeps what stood before the first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.observe.flow.observed_groups import Group
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.workspace.datasets import read_newest, write_newest
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import PRIOR_GROUP_OFFSETS


@dataclass(frozen=True, slots=True)
class Replaced:
    """What the failover commits for a group's partition, and what stood there before.

    prior: None where there was no offset. existed: whether the group was there before. digest: of the translation.
    """

    prior: Committed | None
    committed: int
    existed: bool
    digest: str


Replacements = Mapping[str, Mapping[TopicPartition, Replaced]]


def added(
    earlier: Replacements,
    due: Mapping[str, Mapping[TopicPartition, int]],
    present: Mapping[str, Group],
    existing: Collection[str],
    *,
    digest: str,
) -> Replacements:
    """Add what a commit is about to replace.

    earlier: what this run has replaced before. due: the offsets to be committed, of partitions that stand elsewhere.
    present: what the groups hold. existing: names of the groups that there are.
    """
    found = {name: dict(rows) for name, rows in earlier.items()}
    for name, offsets in due.items():
        kept = found.setdefault(name, {})
        existed = next((row.existed for row in kept.values()), name in existing)
        for where, offset in offsets.items():
            row, stands = kept.get(where), present[name].offsets.get(where)
            of_this_run = row is not None and stands is not None and stands.offset == row.committed
            prior = row.prior if row is not None and of_this_run else stands
            kept[where] = Replaced(prior, offset, existed, digest)
    return found


def read_replaced(directory: FailoverDirectory) -> Replacements | None:
    """Read what the run of ``directory`` has replaced and not restored; None where it has committed nothing."""
    rows = read_newest(directory.before, PRIOR_GROUP_OFFSETS)
    if rows is None:
        return None
    found: dict[str, dict[TopicPartition, Replaced]] = {}
    for row in rows:
        prior = None if row["offset"] is None else Committed(row["offset"], row["metadata"] or "", row["leader_epoch"])
        where = TopicPartition(row["topic"], row["kafka_partition"])
        replaced = Replaced(prior, row["committed"], row["existed"], row["digest"])
        found.setdefault(row["group"], {})[where] = replaced
    return found


def write_replaced(directory: FailoverDirectory, replaced: Replacements) -> None:
    """Make it durable; whoever is killed meanwhile leaves what was kept before."""
    write_newest(directory.before, PRIOR_GROUP_OFFSETS, _rows(replaced))


def _rows(replaced: Replacements) -> Iterator[dict[str, Any]]:
    for name, rows in replaced.items():
        for where, row in rows.items():
            prior = row.prior
            yield {
                "group": name,
                "existed": row.existed,
                "topic": where.topic,
                "kafka_partition": where.partition,
                "offset": None if prior is None else prior.offset,
                "metadata": None if prior is None else prior.metadata,
                "leader_epoch": None if prior is None else prior.leader_epoch,
                "committed": row.committed,
                "digest": row.digest,
            }
