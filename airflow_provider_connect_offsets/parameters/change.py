"""Where connectors resume: one, several, or one again and again."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import ClassVar

from airflow_provider_connect_offsets.offsets.families import ConnectorType
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.parameters.fields import (
    Flag,
    Parameters,
    Section,
    Text,
    argument,
    choice,
    count,
    flag,
    optional,
    required,
)

#: ``to`` of a request, and what the form calls it.
TO: dict[str, str] = {
    "earliest": "earliest: the first record that is still there",
    "latest": "latest: after the last record",
    "datetime": "datetime: the first record at or after a moment",
    "duration": "duration: that long before now",
    "shift": "shift: this many offsets back or forward",
    "offset": "offset: that very record, or an LSN",
    "skip": "skip: the next record, or so many offsets from it on",
    "clear": "clear: store nothing, so that auto.offset.reset decides",
    "file": "file: what a file says",
    "query": "query: what a query in Spark SQL returns",
    "connector": "connector: where another connector resumes",
    "current": "current: change nothing, show positions and log offsets",
}


class TopicsParams(Parameters, section=Section.WHERE):
    """Which topics are concerned."""

    topics: Text = optional(
        "Topics", "Regular expression that matches whole names. Empty: all topics.", example="orders-.*"
    )


class SelectionParams(TopicsParams, section=Section.WHERE):
    """Which partitions are concerned."""

    partitions: Text = optional("Partitions", "Numbers and ranges. Empty: all partitions.", example="0,3-5")


class PlaceParams(SelectionParams, section=Section.WHERE):
    """Where to resume."""

    first: ClassVar[tuple[str, ...]] = ("connector", "connectors", "groups", "to", "value")

    to: Text = choice("Resume at", "Where to resume.", section=Section.WHAT, values=TO, default="current")
    value: Text = optional(
        "Value",
        "What goes with it: a moment, a duration (PT2H), a number of offsets, a position, a URI, a query, or a "
        "connector's name. Empty for earliest, latest, current and clear.",
        section=Section.WHAT,
        example="2026-01-31T03:00:00+01:00",
    )
    columns: Text = optional(
        "Columns of the table",
        "For file and query: which columns have topic, partition, and either position (the next offset to be read) or "
        "last (the last one that was delivered). Empty: they are called so.",
        example="topic=kafka_topic, partition=part, last=max_offset",
    )
    only_back: Flag = argument(
        "Whether partitions that have not come that far stay where they are, so that nothing unread is skipped.",
        default=False,
    )

    def request(self, connector: str, *, now: datetime, noun: str = ConnectorType.SINK.noun) -> Request:
        """Parse the request for ``connector``; ``noun``: what that is. Raises :class:`InvalidRequest`."""
        place = self.model_dump(include=PlaceParams.model_fields.keys() - {"only_back"})
        requested = Request.parse(connector=connector, noun=noun, now=now, **place)
        return replace(requested, only_back=self.only_back)


class ConnectorChangeParams(PlaceParams, section=Section.WHAT):
    """Where one connector resumes."""

    connector: Text = required("Connector", "Name of the connector.", example="orders-mirror")


class FleetChangeParams(PlaceParams, section=Section.WHAT):
    """Where many connectors resume."""

    connectors: Text = required(
        "Connectors", "Regular expression that matches whole names of connectors.", example="orders-.*"
    )


class GroupChangeParams(PlaceParams, section=Section.WHERE):
    """Where many consumer groups resume."""

    groups: Text = required(
        "Consumer groups",
        "Regular expression that matches whole names of consumer groups. None of them may have members.",
        section=Section.WHAT,
        example="billing-.*",
    )
    to: Text = choice(
        "Resume at",
        "Where to resume.",
        section=Section.WHAT,
        values={**TO, "connector": "connector: where another consumer group resumes"},
        default="current",
    )
    value: Text = optional(
        "Value",
        "What goes with it: a moment, a duration (PT2H), a number of offsets, a position, a URI, or for connector the "
        "name of another consumer group. Empty for earliest, latest, current and clear.",
        section=Section.WHAT,
        example="2026-01-31T03:00:00+01:00",
    )


class GroupLimitsParams(Parameters, section=Section.LIMITS):
    """How many consumer groups are changed at once, or may fail."""

    max_down: int = count("At once", "How many consumer groups are changed at the same time.", default=5)
    max_failures: int = count(
        "Failures", "How many consumer groups may fail; after that no further one is changed.", default=5
    )


class FleetLimitsParams(Parameters, section=Section.LIMITS):
    """How many connectors of a fleet may be down, or fail."""

    max_down: int = count("Down at once", "How many connectors may be stopped at the same time.", default=5)
    max_failures: int = count(
        "Failures", "How many connectors may fail; after that no further one is stopped.", default=5
    )


class ApprovalParams(Parameters, section=Section.SAFETY):
    """Whether to ask a person, and whether to change anything."""

    approval: Flag = flag(
        "Ask for approval", "Whether someone has to approve the plan before anything is stopped.", default=True
    )
    dry_run: Flag = flag(
        "Dry run", "Whether to stop after the plan; nothing is stopped or changed then.", default=False
    )
