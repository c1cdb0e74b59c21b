"""Bounded replays: which interval is delivered once more."""

from __future__ import annotations

from airflow_provider_connect_offsets.parameters.fields import Flag, Parameters, Section, Text, argument, flag, required
from airflow_provider_connect_offsets.parameters.tasks import OneConnectorParams


class ReplayLimitsParams(Parameters):
    """How long a replay may take, and whether a part of the interval will do."""

    replay_limit: Text = required(
        "Longest replay",
        "ISO 8601 duration: after so long a replay (mode replay) that has not delivered its interval is undone.",
        section=Section.LIMITS,
        example="PT2H",
        default="PT1H",
    )
    partial: Flag = flag(
        "Replay what is left",
        "Whether to deliver the rest of an interval (mode replay) if its first records may have been deleted.",
        section=Section.LIMITS,
        default=False,
    )


class IntervalParams(OneConnectorParams, ReplayLimitsParams):
    """The interval of a connector that is delivered once more."""

    topics: Text = argument("Regular expression that matches whole names of topics; empty: all.", default="")
    begins: Text = argument("ISO 8601 time with offset: records from then on are delivered.")
    ends: Text = argument("ISO 8601 time with offset: records before then are delivered.")
