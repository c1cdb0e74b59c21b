"""Consumer groups that go to the other cluster of a flow, or home again."""

from __future__ import annotations

from typing import ClassVar

from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, GroupsToMove
from airflow_provider_connect_offsets.offsets.requests.fields import (
    Parameters,
    Section,
    argument,
    choice,
    count,
    fields_of,
    flag,
    optional,
    required,
)
from airflow_provider_connect_offsets.offsets.requests.values import CONFIGURED, Configured, Flag, Pattern, Text, Uri


class DrainingParams(Parameters, section=Section.LIMITS):
    """How long replication may take to catch up."""

    drain_timeout: float = count(
        "Drain timeout",
        "Seconds in which replication must catch up with the source, if the source is alive.",
        default=300,
    )


class FlowAfterwardsParams(Parameters, section=Section.SAFETY):
    """What becomes of the flow after the commit."""

    resume_flow: Flag = flag(
        "Start the flow again", "Whether to start the connectors of the flow again after the commit.", default=False
    )


class FailoverParams(GroupsToMove, section=Section.FLOW):
    """A failover, planned or not."""

    first: ClassVar[tuple[str, ...]] = ("groups", "planned")

    planned: Flag = flag(
        "Planned",
        "Whether the source is alive. If so, replication is drained and stopped first. Otherwise, the checkpoints on "
        "the target decide.",
        section=Section.WHAT,
        default=True,
    )
    source_alias: Text = optional(
        "Source alias", "Alias of the source cluster. Empty: as in the connector's configuration.", example="primary"
    )
    target_alias: Text = optional(
        "Target alias", "Alias of the target cluster. Empty: as in the connector's configuration.", example="backup"
    )
    replication_policy: Configured = choice(
        "Replication policy",
        "How remote topics are named.",
        values={
            CONFIGURED: "as in the connector's configuration",
            "default": "default: the alias before the name",
            "identity": "identity: the same name",
        },
        default=CONFIGURED,
    )
    separator: Text = optional(
        "Separator", "replication.policy.separator. Empty: as in the connector's configuration, or a dot.", example="_"
    )
    syncs_on: Configured = choice(
        "Offset syncs are on",
        "offset-syncs.topic.location.",
        values={CONFIGURED: "as in the connector's configuration", "source": "source", "target": "target"},
        default=CONFIGURED,
    )
    trust_checkpoints: Flag = flag(
        "Trust checkpoints",
        "If the source is lost: whether groups may resume at an offset that only MirrorMaker 2's own checkpoint gives. "
        "Such an offset may skip records if the flow was rewound or the topic was recreated.",
        section=Section.SAFETY,
        default=True,
    )
    forward_connector: Text = argument(
        "Only for a failback: the MirrorSourceConnector that once replicated the records from the target, which is the "
        "groups' home.",
        default="",
    )

    def request(self, flow: Flow, *, forward: Flow | None, reads_committed: bool) -> FailoverRequest:
        """Parse the request; raises :class:`InvalidRequest`.

        Args:
            flow: The flow from the cluster that the groups leave.
            forward: Of a failback, the flow that once brought the records.
            reads_committed: Whether MirrorSource reads committed records only.
        """
        return FailoverRequest.parse(
            planned=self.planned,
            flow=flow,
            forward=forward,
            reads_committed=reads_committed,
            **self.values(*fields_of(GroupsToMove), "trust_checkpoints", "forward_connector"),
        )


class FailbackParams(GroupsToMove, section=Section.WHAT):
    """The form of a failback, which uses the operators of a failover."""

    first: ClassVar[tuple[str, ...]] = ("groups", "forward_connector")

    forward_connector: Text = optional(
        "MirrorSource from home",
        "Name of the MirrorSourceConnector that once replicated the records from home. It is required, and is stopped "
        "during the run.",
        example="orders-mirror",
    )
    source_connector: Text = optional(
        "MirrorSource that leads back",
        "Name of the MirrorSourceConnector that replicates back home. It is drained and stopped. Empty: none.",
        example="orders-mirror-back",
    )
    checkpoint_connector: Text = optional(
        "MirrorCheckpoint that leads back",
        "Name of the MirrorCheckpointConnector of the flow that leads back. It is stopped as well. Empty: none.",
        example="orders-checkpoints-back",
    )
    topics: Pattern = optional(
        "Topics",
        "Regular expression that matches whole names of topics that the groups read now. Empty: all topics.",
        example=r"primary\.orders",
        default=None,
    )


class RestoredRunParams(Parameters, section=Section.WHAT):
    """The failover whose prior offsets are restored."""

    run_uri: Uri = required(
        "Run",
        "Directory of the failover's final translation. The failover's message and report show it.",
        example="s3a://offsets/…/final",
    )
