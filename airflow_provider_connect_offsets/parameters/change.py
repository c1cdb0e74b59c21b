"""Where connectors resume: one, several, or one again and again."""

from __future__ import annotations

from typing import Annotated

from airflow_provider_connect_offsets.offsets.requests.fields import (
    Parameters,
    Section,
    choice,
    count,
    flag,
    optional,
    required,
)
from airflow_provider_connect_offsets.offsets.requests.place import TO, ResumePoint, To, parse_to
from airflow_provider_connect_offsets.offsets.requests.values import Flag, Text


class ConnectorChangeParams(ResumePoint, section=Section.WHAT):
    """Where one connector resumes."""

    connector: Text = required("Connector", "Name of the connector.", example="orders-mirror")


class FleetChangeParams(ResumePoint, section=Section.WHAT):
    """Where many connectors resume."""

    connectors: Text = required(
        "Connectors", "Regular expression that matches whole names of connectors.", example="orders-.*"
    )


class GroupChangeParams(ResumePoint, section=Section.WHERE):
    """Where many consumer groups resume."""

    groups: Text = required(
        "Consumer groups",
        "Regular expression that matches whole names of consumer groups. None of them may have members.",
        section=Section.WHAT,
        example="billing-.*",
    )
    to: Annotated[To, parse_to] = choice(
        "Resume at",
        "Where to resume.",
        section=Section.WHAT,
        values={**TO, "connector": "connector: where another consumer group resumes"},
        default="current",
    )
    value: Text = optional(
        "Value",
        "The value for Resume at: a time, a duration (PT2H), a number of offsets, a position, a URI, or for connector "
        "the name of another consumer group. Empty for earliest, latest, current and clear.",
        section=Section.WHAT,
        example="2026-01-31T03:00:00+01:00",
    )


class GroupLimitsParams(Parameters, section=Section.LIMITS):
    """How many consumer groups are changed at once, or may fail."""

    max_down: int = count("At once", "How many consumer groups are changed at the same time.", default=5)
    max_failures: int = count(
        "Failures",
        "How many consumer groups may fail. After that many failures, no further group is changed.",
        default=5,
    )


class FleetLimitsParams(Parameters, section=Section.LIMITS):
    """How many connectors of a fleet may be down, or fail."""

    max_down: int = count("Down at once", "How many connectors may be stopped at the same time.", default=5)
    max_failures: int = count(
        "Failures",
        "How many connectors may fail. After that many failures, no further connector is stopped.",
        default=5,
    )


class ApprovalParams(Parameters, section=Section.SAFETY):
    """Whether to ask a person, and whether to change anything."""

    approval: Flag = flag(
        "Ask for approval", "Whether someone has to approve the plan before anything is stopped.", default=True
    )
    dry_run: Flag = flag(
        "Dry run", "Whether to end the run after the plan, so that nothing is stopped or changed.", default=False
    )
