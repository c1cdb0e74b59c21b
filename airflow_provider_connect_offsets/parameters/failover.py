"""Consumer groups that go to the other cluster of a flow, or home again."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import (
    DEFAULT_COMPARED,
    DEFAULT_COMPARED_TOTAL,
    DEFAULT_SEARCH_TIMEOUT,
    FailoverRequest,
)
from airflow_provider_connect_offsets.parameters.fields import (
    CONFIGURED,
    Configured,
    Flag,
    Parameters,
    Section,
    Text,
    Uri,
    argument,
    choice,
    count,
    flag,
    limit,
    optional,
    optional_count,
    required,
    share,
)


class GroupsToMoveParams(Parameters, section=Section.LIMITS):
    """Which groups go to the other cluster, and what has to be true for it; for failover and failback alike."""

    groups: Text = required(
        "Groups",
        "Regular expression that matches whole names of consumer groups.",
        section=Section.WHAT,
        example="orders-.*",
        default=".*",
    )
    source_connector: Text = optional(
        "MirrorSource",
        "Name of the flow's MirrorSourceConnector; needed if planned.",
        section=Section.WHAT,
        example="orders-mirror",
    )
    checkpoint_connector: Text = optional(
        "MirrorCheckpoint",
        "Name of the flow's MirrorCheckpointConnector, to be stopped as well. Empty: none.",
        section=Section.WHAT,
        example="orders-checkpoints",
    )
    topics: Text = optional(
        "Topics",
        "Regular expression that matches whole names of the source. Empty: all topics.",
        section=Section.WHAT,
        example="orders-.*",
    )
    rewind: Text = optional(
        "May go back",
        "Regular expression of groups that may be set back on the target if they are further there. Empty: none.",
        example="orders-.*",
    )
    min_coverage: Any = share(
        "Coverage", "Share of the partitions that must be translated; with less nothing is committed.", default=1.0
    )
    max_rereads: Any = optional_count(
        "Re-reads",
        "How many records may be read again, all groups together; with more nothing is committed. Empty: of each "
        "partition as many as the preview says.",
        example=500,
    )
    compared: Any = limit(
        "Records compared",
        "How many records of either log are read at most, for each partition, to prove exact offsets; of what lies "
        "before, only single records.",
        default=DEFAULT_COMPARED,
    )
    compared_total: Any = limit(
        "Records compared, in all",
        "How many records are read at most while the flow is stopped, of both logs and all partitions together: those "
        "of the groups that have least left to read. The preview names the partitions that get less than they need.",
        default=DEFAULT_COMPARED_TOTAL,
    )
    search_timeout: Any = limit(
        "Search timeout",
        "Seconds in which single records may be searched for offset mappings. After it the partitions that are left "
        "get what is known without, so that groups may read more again.",
        default=DEFAULT_SEARCH_TIMEOUT,
    )


class DrainingParams(Parameters, section=Section.LIMITS):
    """How long replication may take to catch up."""

    drain_timeout: float = count(
        "Drain timeout", "Seconds in which replication has to catch up with the source, if planned.", default=300
    )


class FlowAfterwardsParams(Parameters, section=Section.SAFETY):
    """What becomes of the flow after the commit."""

    resume_flow: Flag = flag(
        "Start the flow again", "Whether its connectors are started again after the commit.", default=False
    )


class FailoverParams(GroupsToMoveParams, section=Section.FLOW):
    """A failover, planned or not."""

    first: ClassVar[tuple[str, ...]] = ("groups", "planned")

    planned: Flag = flag(
        "Planned",
        "Whether the source is alive: replication is drained and stopped first then. Otherwise the checkpoints on "
        "the target decide.",
        section=Section.WHAT,
        default=True,
    )
    source_alias: Text = optional(
        "Source alias", "Alias of the source cluster. Empty: as the connector says.", example="primary"
    )
    target_alias: Text = optional(
        "Target alias", "Alias of the target cluster. Empty: as the connector says.", example="backup"
    )
    replication_policy: Configured = choice(
        "Replication policy",
        "How remote topics are named.",
        values={
            CONFIGURED: "as the connector says",
            "default": "default: the alias before the name",
            "identity": "identity: the same name",
        },
        default=CONFIGURED,
    )
    separator: Text = optional(
        "Separator", "replication.policy.separator. Empty: as the connector says, or a dot.", example="_"
    )
    syncs_on: Configured = choice(
        "Offset syncs are on",
        "offset-syncs.topic.location.",
        values={CONFIGURED: "as the connector says", "source": "source", "target": "target"},
        default=CONFIGURED,
    )
    trust_checkpoints: Flag = flag(
        "Trust checkpoints",
        "If the source is lost: whether groups resume where nothing but MirrorMaker 2's own checkpoints is known. "
        "These may skip records if the flow was being set back, or its topic was created anew.",
        section=Section.SAFETY,
        default=True,
    )
    forward_connector: Text = argument(
        "Of a failback, the MirrorSourceConnector that once brought the records from the target, the groups' home.",
        default="",
    )

    def request(self, flow: Flow, *, forward: Flow | None, reads_committed: bool) -> FailoverRequest:
        """Parse the request; raises :class:`InvalidRequest`.

        Args:
            flow: The flow from the cluster that the groups leave.
            forward: Of a failback, the flow that once brought the records.
            reads_committed: Whether MirrorSource reads committed records only.
        """
        described = {"source_alias", "target_alias", "replication_policy", "separator", "syncs_on"}
        typed = self.model_dump(exclude=described)
        return FailoverRequest.parse(flow=flow, forward=forward, reads_committed=reads_committed, **typed)


class FailbackParams(GroupsToMoveParams, section=Section.WHAT):
    """A failback: what the form shows of it; its operators are those of a failover."""

    first: ClassVar[tuple[str, ...]] = ("groups", "forward_connector")

    forward_connector: Text = optional(
        "MirrorSource from home",
        "Name of the MirrorSourceConnector that once brought the records from home; needed, and stopped during the "
        "run.",
        example="orders-mirror",
    )
    source_connector: Text = optional(
        "MirrorSource that leads back",
        "Name of the MirrorSourceConnector that replicates to home, if there is one; drained and stopped.",
        example="orders-mirror-back",
    )
    checkpoint_connector: Text = optional(
        "MirrorCheckpoint that leads back",
        "Name of its MirrorCheckpointConnector, to be stopped as well. Empty: none.",
        example="orders-checkpoints-back",
    )
    topics: Text = optional(
        "Topics",
        "Regular expression that matches whole names of topics as the groups read them now. Empty: all.",
        example=r"primary\.orders",
    )


class RestoredRunParams(Parameters, section=Section.WHAT):
    """The failover that is taken back."""

    run_uri: Uri = required(
        "Run",
        "Directory of the failover's final translation, as its message and its report name it.",
        example="s3://offsets/…/final",
    )
