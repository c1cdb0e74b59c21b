"""Whose turn it is to rewind a connector to the start of its interval, and which intervals a rewind has delivered.

``<workspace>/_backfill/<dag_id>/<connector>/`` holds a file for each turn, and one for each interval that was decided::

    000001.turn.json                 who took the turn, and where that run keeps its outcome; made exclusively
    interval-<its start>.json        the run that decided last about it
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.requests.values import ago
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment

_TURN = re.compile(r"(\d+)\.turn\.json")
# How many turns back a rewind is looked for; an interval waits for days, not for years.
REMEMBERED = 50
_DELIVERS = (Result.APPLIED, Result.UNCHANGED)


@dataclass(frozen=True, slots=True)
class Interval:
    """The data interval of a run: records from ``begins`` on, before ``ends``."""

    begins: datetime
    ends: datetime

    @classmethod
    def parse(cls, begins: datetime | None, ends: datetime | None) -> Interval:
        """Read the data interval that Airflow gives a run; raises :class:`InvalidRequest` where it is empty.

        Airflow 3 makes a ``CronTriggerTimetable`` of a cron text, whose intervals are empty.
        """
        if begins is None or ends is None or begins >= ends:
            raise InvalidRequest(
                "Nothing was changed: this run has no data interval, so there is no start to rewind to. Give the DAG a "
                'schedule with intervals, like CronDataIntervalTimetable("0 3 * * *", timezone="UTC") of airflow.sdk '
                "(Airflow 3 gives none to a cron text), and trigger it with a logical date."
            )
        return cls(begins, ends)

    def refuse_further_than(self, max_rewind: str, *, now: datetime) -> None:
        """Raise :class:`InvalidRequest` where ``begins`` is longer ago than ``max_rewind`` (ISO 8601)."""
        try:
            furthest = ago(max_rewind, now=now)
        except ValueError as error:
            raise InvalidRequest(f"max_rewind: {max_rewind!r} is no ISO 8601 duration, like P7D or PT36H") from error
        if self.begins < furthest:
            raise InvalidRequest(
                f"Nothing was changed: the interval begins at {self.begins.isoformat()}, and max_rewind={max_rewind} "
                f"allows no rewind before {furthest.isoformat(timespec='seconds')}. Give the run a larger max_rewind, "
                "or rewind by connector_offsets_change."
            )

    def __str__(self) -> str:
        """Name it by both ends."""
        return f"{self.begins.isoformat()} to {self.ends.isoformat()}"


@dataclass(frozen=True, slots=True)
class Asking:
    """A run that asks for its turn: what it rewinds, when it was started, and how often it was cleared."""

    run_id: str
    run_uri: str
    interval: Interval
    topics: str
    started_at: datetime | None
    cleared: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """A run that has taken its turn."""

    number: int
    run_id: str
    run_uri: str
    begins: datetime
    topics: str
    cleared: int

    def is_of(self, asking: Asking) -> bool:
        """Whether ``asking`` itself has taken it; a run that was cleared since asks for one more."""
        return (self.run_id, self.cleared) == (asking.run_id, asking.cleared)

    def outcome(self) -> Outcome | None:
        """How its change ended; None where it hasn't, or was never applied."""
        fields = files.read_json_if_any(RunDirectory(self.run_uri).outcome)
        return None if fields is None else Outcome.from_json(fields)

    def delivers(self, asking: Asking) -> datetime | None:
        """When it rewound the connector so that all of ``asking``'s interval is delivered again; None where it didn't.

        What was produced after the rewind is delivered as ever, so an interval that ended later has to be rewound to
        by itself.
        """
        if self.begins > asking.interval.begins or self.topics != asking.topics:
            return None
        outcome = self.outcome()
        if outcome is None or outcome.result not in _DELIVERS or outcome.started_at < asking.interval.ends:
            return None
        return outcome.started_at


class Turns:
    """All turns on one connector by the runs of one DAG, under ``workspace``."""

    def __init__(self, workspace: str, *, dag_id: str, connector: str) -> None:
        self._uri = join(workspace, "_backfill", unique_segment(dag_id), unique_segment(connector))

    def newest(self) -> Turn | None:
        """The turn that was taken last; None where none was."""
        found = (_TURN.fullmatch(name) for name in files.list_names(self._uri))
        number = max((int(match[1]) for match in found if match), default=0)
        return self._read(number) if number else None

    def delivering(self, asking: Asking) -> Turn | None:
        """The turn that has delivered the interval of a run which waited then already; None where there is none.

        An interval that was decided before and is asked for anew (cleared, reprocessed) waits only since its run was
        started: what was delivered before that is not what was asked for now.
        """
        newest = self.newest()
        if newest is None:
            return None
        first_time = self._is_first_time(asking)
        for number in range(newest.number, max(newest.number - REMEMBERED, 0), -1):
            turn = self._read(number)
            at = turn.delivers(asking) if turn is not None and turn.run_id != asking.run_id else None
            if turn is not None and at is not None:
                waited = asking.started_at is not None and asking.started_at <= at
                return turn if first_time or waited else None
        return None

    def take(self, asking: Asking, *, after: Turn | None) -> bool:
        """Take the turn after ``after``; False where another run has taken it. Two callers never both get it."""
        number = 1 if after is None else after.number + 1
        fields = {
            "run_id": asking.run_id,
            "run_uri": asking.run_uri,
            "begins": asking.interval.begins.isoformat(),
            "topics": asking.topics,
            "cleared": asking.cleared,
        }
        return files.create_bytes(join(self._uri, f"{number:06d}.turn.json"), files.to_json(fields))

    def note(self, asking: Asking) -> None:
        """Keep that something was decided for this interval."""
        files.write_json(self._interval(asking), {"run_id": asking.run_id, "cleared": asking.cleared})

    def _is_first_time(self, asking: Asking) -> bool:
        decided = files.read_json_if_any(self._interval(asking))
        return decided in (None, {"run_id": asking.run_id, "cleared": asking.cleared})

    def _interval(self, asking: Asking) -> str:
        return join(self._uri, f"interval-{unique_segment(asking.interval.begins.isoformat())}.json")

    def _read(self, number: int) -> Turn | None:
        fields: dict[str, Any] | None = files.read_json_if_any(join(self._uri, f"{number:06d}.turn.json"))
        if fields is None:
            return None
        begins = datetime.fromisoformat(fields["begins"])
        return Turn(number, fields["run_id"], fields["run_uri"], begins, fields["topics"], fields["cleared"])
