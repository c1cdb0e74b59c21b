"""What was observed of a flow, as the frames that the translation of its groups is worked out from."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from airflow_provider_connect_offsets.pipeline.failover.failback import Forward
from airflow_provider_connect_offsets.pipeline.failover.unplanned import Left, Lost
from airflow_provider_connect_offsets.pipeline.translate.answers import Known, known


@dataclass(frozen=True, slots=True)
class ObservedFlow:
    """What a look at a flow has found; each a dataset of that name, ``members`` as group, on_source, on_target.

    ``latest``: the last checkpoint of each group, topic (as on the target) and partition: upstream, downstream,
    log_offset, log_timestamp.
    ``syncs``: None where they went with the source. ``claims``: dataset ``checked_claims``, where there is one.
    ``known``: what syncs, records and kept mappings tell of each partition; None where there are no syncs. ``left``: of
    a source that is gone, what looks at the flow's readiness have kept; ``lost``: what that tells, with all the rest.
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
    left: Left | None = None
    lost: Lost | None = None

    def with_known(self) -> ObservedFlow:
        """The same, with what is known of each partition worked out."""
        if self.left is not None:
            lost = self.left.lost(self.partitions, self.syncs, self.digests)
            return replace(self, lost=lost, known=lost.known)
        if self.syncs is None:
            return self
        told = known(self.partitions, syncs=self.syncs, digests=self.digests, kept=self.kept)
        return replace(self, known=told)
