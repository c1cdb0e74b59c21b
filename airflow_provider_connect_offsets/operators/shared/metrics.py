"""Metrics of changes, which Airflow sends to StatsD or OpenTelemetry if it is configured to."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.workspace.replay import ReplayOutcome

log = logging.getLogger(__name__)

#: How many changes ended; tags ``connector`` and ``result`` (values of ``Result``).
CHANGES = "connect_offsets.changes"
#: Time from the stop of a connector to its resume; tag ``connector``.
DOWNTIME = "connect_offsets.downtime"
#: How many offsets connectors were moved back by, so how many records at most are delivered again; tag ``connector``.
RECORDS_AGAIN = "connect_offsets.records_again"


def emit(outcome: Outcome | ReplayOutcome) -> None:
    """Emit the metrics of a change that has ended; if they can't be sent, that is only logged."""
    try:
        _emit(outcome)
    except Exception:
        log.warning("The metrics of this change could not be sent.", exc_info=True)


def _emit(outcome: Outcome | ReplayOutcome) -> None:
    # Imported late: no DAG needs it to be parsed.
    from airflow.providers.common.compat.sdk import Stats

    tags = {"connector": outcome.connector}
    Stats.incr(CHANGES, tags={**tags, "result": outcome.result.value})
    if not isinstance(outcome, Outcome):
        return
    if outcome.downtime_seconds is not None:
        Stats.timing(DOWNTIME, timedelta(seconds=outcome.downtime_seconds), tags=tags)
    if outcome.result is Result.APPLIED and (again := _moved_back(outcome)):
        Stats.incr(RECORDS_AGAIN, again, tags=tags)


def _moved_back(outcome: Outcome) -> int:
    both = ((one.before_position, one.stands_position) for one in outcome.offsets)
    return sum(before - after for before, after in both if before is not None and after is not None and before > after)
