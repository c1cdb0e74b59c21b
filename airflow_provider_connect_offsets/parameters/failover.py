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
        "Drain timeout", "Seconds in which replication has to catch up with the source, if planned.", default=300
    )


class FlowAfterwardsParams(Parameters, section=Section.SAFETY):
    """What becomes of the flow after the commit."""

    resume_flow: Flag = flag(
        "Start the flow again", "Whether its connectors are started again after the commit.", default=False
    )


class FailoverParams(GroupsToMove, section=Section.FLOW):
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
        return FailoverRequest.parse(
            planned=self.planned,
            flow=flow,
            forward=forward,
            reads_committed=reads_committed,
            **self.values(*fields_of(GroupsToMove), "trust_checkpoints", "forward_connector"),
        )


class FailbackParams(GroupsToMove, section=Section.WHAT):
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
    topics: Pattern = optional(
        "Topics",
        "Regular expression that matches whole names of topics as the groups read them now. Empty: all.",
        example=r"primary\.orders",
        default=None,
    )


class RestoredRunParams(Parameters, section=Section.WHAT):
    """The failover whose prior offsets are restored."""

    run_uri: Uri = required(
        "Run",
        "Directory of the failover's final translation, as its message and its report name it.",
        example="s3://offsets/…/final",
    )
