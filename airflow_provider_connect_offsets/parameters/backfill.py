"""A connector that delivers each data interval again: rewound to its start, or by a clone that stops at its end."""

from __future__ import annotations

from typing import ClassVar

from airflow_provider_connect_offsets.offsets.requests.fields import (
    Parameters,
    Section,
    argument,
    choice,
    optional,
    required,
)
from airflow_provider_connect_offsets.offsets.requests.place import Selection
from airflow_provider_connect_offsets.offsets.requests.replay import ReplayLimits
from airflow_provider_connect_offsets.offsets.requests.values import Text
from airflow_provider_connect_offsets.parameters.tasks import PartParams

_MODES: dict[str, str] = {
    "rewind": "rewind: from the start of the interval on",
    "replay": "replay: the interval only, by a temporary connector",
}


class WindowParams(Parameters, section=Section.LIMITS):
    """When a change may begin."""

    window: Text = optional(
        "Window",
        "Part of the day in which a change may begin, with a time zone (default UTC). Empty: any time.",
        example="22:00-06:00 Europe/Berlin",
    )


class DeliveredAgainParams(WindowParams, section=Section.WHAT):
    """Which connectors deliver each data interval again, when, and how far back at most."""

    # A scheduled DAG must be valid without anyone filling in its form; a run without a connector fails.
    connector: Text = optional(
        "Connector",
        "Name of the connector. For scheduled runs, set it or connectors in the DAG file.",
        example="orders-mirror",
    )
    connectors: Text = optional(
        "Connectors",
        "Regular expression that matches whole names of connectors, instead of connector. Only with mode rewind.",
        example="orders-.*",
    )
    max_rewind: Text = required(
        "Furthest back",
        "ISO 8601 duration: how far back from now an interval may begin.",
        section=Section.LIMITS,
        example="P7D",
        default="P7D",
    )


class BackfillParams(Selection, DeliveredAgainParams, ReplayLimits, section=Section.WHAT):
    """What the form of the backfill shows."""

    first: ClassVar[tuple[str, ...]] = ("connector", "connectors", "mode")

    mode: Text = choice("Mode", "What is delivered again.", values=_MODES, default="rewind")


class BackfillTurnParams(Selection, DeliveredAgainParams, PartParams):
    """A run's turn to deliver its interval again; ``mode`` is called ``kind`` here, as sensors have a ``mode``."""

    kind: Text = argument("What is delivered again: ``rewind`` or ``replay``.", default="rewind")
