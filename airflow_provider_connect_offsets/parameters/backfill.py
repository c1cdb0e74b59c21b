"""A connector that delivers each data interval again: rewound to its start, or by a clone that stops at its end."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from airflow_provider_connect_offsets.offsets.requests.replay import ReplayRequest
from airflow_provider_connect_offsets.parameters.change import SelectionParams, TopicsParams
from airflow_provider_connect_offsets.parameters.fields import (
    Flag,
    Parameters,
    Section,
    Text,
    argument,
    choice,
    flag,
    optional,
    required,
)
from airflow_provider_connect_offsets.parameters.tasks import OneConnectorParams, PartParams

_MODES: dict[str, str] = {
    "rewind": "rewind: from the start of the interval on",
    "replay": "replay: the interval only, by a temporary connector",
}


class WindowParams(Parameters, section=Section.LIMITS):
    """When a change may begin."""

    window: Text = optional(
        "Window",
        "Part of the day in which this may begin, with a time zone (default UTC). Empty: any time.",
        example="22:00-06:00 Europe/Berlin",
    )


class DeliveredAgainParams(WindowParams, section=Section.WHAT):
    """Which connectors deliver each data interval again, when, and how far back at most."""

    # A scheduled DAG must be valid without anyone filling in its form; a run without a connector fails.
    connector: Text = optional(
        "Connector",
        "Name of the connector. Set it, or connectors, in the DAG file, for scheduled runs.",
        example="orders-mirror",
    )
    connectors: Text = optional(
        "Connectors",
        "Regular expression that matches whole names of connectors, in place of one connector (mode rewind).",
        example="orders-.*",
    )
    max_rewind: Text = required(
        "Furthest back",
        "ISO 8601 duration: how far back from now an interval may begin.",
        section=Section.LIMITS,
        example="P7D",
        default="P7D",
    )


class ReplayLimitsParams(Parameters, section=Section.LIMITS):
    """How long a replay may take, and whether a part of the interval will do."""

    replay_limit: Text = required(
        "Longest replay",
        "ISO 8601 duration: a replay that has not delivered its interval by then is undone.",
        example="PT2H",
        default="PT1H",
    )
    partial: Flag = flag(
        "Replay what is left",
        "Whether to replay the rest of an interval if its first records may have been deleted.",
        default=False,
    )


class BackfillParams(SelectionParams, DeliveredAgainParams, ReplayLimitsParams, section=Section.WHAT):
    """What the form of the backfill shows."""

    first: ClassVar[tuple[str, ...]] = ("connector", "connectors", "mode")

    mode: Text = choice("Mode", "What is delivered again.", values=_MODES, default="rewind")


class BackfillTurnParams(SelectionParams, DeliveredAgainParams, PartParams):
    """A run's turn to deliver its interval again; its ``mode`` is here ``kind``, as sensors have another one."""

    kind: Text = argument("What is delivered again: ``rewind`` or ``replay``.", default="rewind")


class IntervalParams(OneConnectorParams, TopicsParams, ReplayLimitsParams):
    """The interval of a connector that is delivered once more, always of all partitions of its topics."""

    begins: Text = argument("ISO 8601 time with offset: records from then on are delivered.")
    ends: Text = argument("ISO 8601 time with offset: records before then are delivered.")

    def request(self, *, run: str, now: datetime) -> ReplayRequest:
        """Parse the request of ``run``; raises :class:`InvalidRequest`."""
        given = self.model_dump(exclude={"replay_limit"})
        return ReplayRequest.parse(run=run, limit=self.replay_limit, now=now, **given)
