"""An observed flow as the frames that a translation is computed from."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from airflow_provider_connect_offsets.pipeline.failover.failback import Forward
from airflow_provider_connect_offsets.pipeline.failover.unplanned import Lost, Remains
from airflow_provider_connect_offsets.pipeline.translate.translation import Known, combine_known

MEMBERS = "group string, on_source boolean, on_target boolean, target_kind string"


@dataclass(frozen=True, slots=True)
class ObservedFlow:
    """An observed flow.

    Attributes:
        group_offsets: dataset ``group_offsets`` of both clusters
        partitions: dataset ``mirror_partitions``
        syncs: dataset ``offset_syncs``; None if they are lost with the source
        latest: dataset ``checkpoints`` without metadata, the last of each group, remote topic and partition
        members: group, on_source, on_target, target_kind (null for a consumer group): groups that have members, or are
            of another kind on the target
        digests: dataset ``record_digests``; None if no records were read
        forward: the flow from home, for a failback
        kept: dataset ``kept_mappings``; None if unknown
        claims: dataset ``checked_claims``; None if no claims were checked
        known: what syncs, records and kept mappings show; None before ``with_known``, or without syncs and remains
        remains: what earlier readiness runs kept of a lost source; None if the source is not lost or nothing was kept
        lost: what ``remains`` shows; None before ``with_known``
    """

    group_offsets: DataFrame
    partitions: DataFrame
    syncs: DataFrame | None
    latest: DataFrame
    members: DataFrame
    digests: DataFrame | None
    forward: Forward | None = None
    kept: DataFrame | None = None
    claims: DataFrame | None = None
    known: Known | None = None
    remains: Remains | None = None
    lost: Lost | None = None

    def with_known(self) -> ObservedFlow:
        """Return a copy with ``known`` and ``lost`` computed."""
        if self.remains is not None:
            lost = self.remains.find_lost(self.partitions, self.syncs, self.digests)
            return replace(self, lost=lost, known=lost.known)
        if self.syncs is None:
            return self
        return replace(
            self, known=combine_known(self.partitions, syncs=self.syncs, digests=self.digests, kept=self.kept)
        )
