"""Turns of a scheduled backfill: which run is at work on a connector, and which data intervals a rewind has delivered.

``<workspace>/_backfill/<dag_id>/<connector>/`` holds a file for each turn, and one for each interval that was decided;
the turns of all fleets are in ``<dag_id>/_fleet/``, and the turns of replays in ``_replay`` instead of ``_backfill``::

    000001.turn.json                 the run that took the turn, and the URI of its outcome; created exclusively
    000001.ended.json                the run was cleared since, and waits for another turn
    interval-<its start>.json        the run that decided last about the interval
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime

from airflow_provider_connect_offsets.exceptions import DatasetError, InvalidRequest
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.values import ago
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment

_TURN = re.compile(r"(\d+)\.turn\.json")
# How many turns back a rewind is searched; an interval waits for days, not for years.
REMEMBERED = 50
_FLEET = "_fleet"
_DELIVERS = (Result.APPLIED, Result.UNCHANGED)


@dataclass(frozen=True, slots=True)
class Interval:
    """The data interval of a run: records from ``begins`` on, before ``ends``."""

    begins: datetime
    ends: datetime

    @classmethod
    def parse(cls, begins: datetime | None, ends: datetime | None) -> Interval:
        """Parse the data interval of a run; raises :class:`InvalidRequest` if it is empty.

        Airflow 3 turns a cron text into a ``CronTriggerTimetable``, whose intervals are empty.
        """
        if begins is None or ends is None or begins >= ends:
            raise InvalidRequest(
                "Nothing was changed: this run has no data interval, so there is no start to rewind to. Give the DAG a "
                'schedule with intervals, like CronDataIntervalTimetable("0 3 * * *", timezone="UTC") of airflow.sdk '
                "(in Airflow 3, a cron text has no intervals), and trigger the DAG with a logical date."
            )
        return cls(begins, ends)

    def refuse_further_than(self, max_rewind: str, *, now: datetime) -> None:
        """Raise :class:`InvalidRequest` if ``begins`` is longer ago than ``max_rewind`` (ISO 8601 duration)."""
        try:
            furthest = ago(max_rewind, now=now)
        except ValueError as error:
            raise InvalidRequest(f"max_rewind: {max_rewind!r} is not an ISO 8601 duration like P7D or PT36H") from error
        if self.begins < furthest:
            raise InvalidRequest(
                f"Nothing was changed: the interval begins at {self.begins.isoformat()}, and max_rewind={max_rewind} "
                f"allows no rewind before {furthest.isoformat(timespec='seconds')}. Give the run a larger max_rewind, "
                "or rewind with connector_offsets_change."
            )

    def __str__(self) -> str:
        """Return both ends, in ISO 8601."""
        return f"{self.begins.isoformat()} to {self.ends.isoformat()}"


@dataclass(frozen=True, slots=True)
class RewindRun:
    """A run that requests its turn.

    Attributes:
        run_id: Its id.
        run_uri: URI of its directory.
        interval: Its data interval.
        topics: The topics that it rewinds.
        connectors: Pattern of the connectors that it rewinds; empty: a single one.
        started_at: When it was started; None: unknown.
        cleared: How often it was cleared.
    """

    run_id: str
    run_uri: str
    interval: Interval
    topics: str
    started_at: datetime | None
    cleared: int = 0
    connectors: str = ""


@dataclass(frozen=True, slots=True)
class Turn(JsonRecord):
    """A turn that a run has taken.

    The attributes are as in :class:`RewindRun`, except these: ``begins`` is the start of its interval, ``number`` the
    number of its file, and ``ended`` is true if the run was cleared since.
    """

    run_id: str
    run_uri: str
    begins: datetime
    topics: str
    cleared: int
    connectors: str = ""
    number: int = 0
    ended: bool = False

    def is_of(self, run: RewindRun) -> bool:
        """Whether ``run`` itself has taken this turn; a run that was cleared since requests another turn."""
        return (self.run_id, self.cleared) == (run.run_id, run.cleared)

    def rewound_at(self) -> datetime | None:
        """Return when the run began to rewind; None if it has not ended, or has not rewound everything."""
        outcomes = [files.read_json_if_any(run.outcome) for run in self._directories()]
        parsed = [Outcome.from_json(fields) for fields in outcomes if fields is not None]
        if not parsed or len(parsed) < len(outcomes) or any(one.result not in _DELIVERS for one in parsed):
            return None
        return min(one.started_at for one in parsed)

    def _directories(self) -> list[RunDirectory]:
        if not self.connectors:
            return [RunDirectory(self.run_uri)]
        try:
            return list(FleetDirectory(self.run_uri).members().values())
        except DatasetError:  # it ended before its snapshot
            return []

    def delivers(self, run: RewindRun) -> datetime | None:
        """Return when this turn's run rewound the connector; None if that does not deliver all of ``run``'s interval.

        A rewind before the end of the interval does not deliver the rest of the interval again.
        """
        if self.begins > run.interval.begins or (self.topics, self.connectors) != (run.topics, run.connectors):
            return None
        at = self.rewound_at()
        return None if at is None or at < run.interval.ends else at


class Turns:
    """All turns on one connector by the runs of one DAG.

    Args:
        workspace: URI of the workspace.
        dag_id: The DAG.
        connector: The connector; empty: the turns of all runs on several connectors, of which one is at work at a time.
        replay: Whether its intervals are replayed; else it is rewound.
    """

    def __init__(self, workspace: str, *, dag_id: str, connector: str, replay: bool = False) -> None:
        self._root = join(workspace, "_replay" if replay else "_backfill", unique_segment(dag_id))
        # No segment of a connector's name begins with an underscore.
        self._uri = join(self._root, unique_segment(connector) if connector else _FLEET)

    def other_turns(self) -> list[Turn]:
        """Return the newest turn of each other queue that may concern the same connectors.

        A fleet's runs may be on any connector; a connector is rewound by its own runs and by those of fleets.
        """
        is_fleet = self._uri.endswith(f"/{_FLEET}")
        names = files.list_names(self._root) if is_fleet else [_FLEET]
        uris = [join(self._root, name) for name in names]
        found = [self._read_newest(uri) for uri in uris if uri != self._uri]
        return [turn for turn in found if turn is not None]

    def newest_turn(self) -> Turn | None:
        """Return the turn that was taken last; None if no turn was taken yet."""
        return self._read_newest(self._uri)

    def find_delivering(self, run: RewindRun) -> Turn | None:
        """Return the turn that has delivered the interval of ``run`` while the run waited; None if no turn has.

        An interval that was decided before and is requested again (cleared, reprocessed) waits only since its run was
        started: an earlier delivery does not count.
        """
        newest = self.newest_turn()
        if newest is None:
            return None
        first_time = self._is_first_time(run)
        for number in range(newest.number, max(newest.number - REMEMBERED, 0), -1):
            turn = self._read(self._uri, number)
            at = turn.delivers(run) if turn is not None and turn.run_id != run.run_id else None
            if turn is not None and at is not None:
                waited = run.started_at is not None and run.started_at <= at
                return turn if first_time or waited else None
        return None

    def take(self, run: RewindRun, *, after: Turn | None) -> bool:
        """Take the turn after ``after``; False if another run has taken it. Only one of several callers gets it."""
        number = 1 if after is None else after.number + 1
        turn = Turn(run.run_id, run.run_uri, run.interval.begins, run.topics, run.cleared, run.connectors, number)
        return files.create_bytes(join(self._uri, f"{number:06d}.turn.json"), files.to_json(turn.as_json()))

    def end(self, turn: Turn) -> None:
        """Record that the run of ``turn``, the newest here, was cleared: it is no longer at work, others may be."""
        files.write_json(join(self._uri, f"{turn.number:06d}.ended.json"), {"run_id": turn.run_id})

    def note(self, run: RewindRun) -> None:
        """Record that something was decided for the run's interval."""
        files.write_json(self._interval(run), {"run_id": run.run_id, "cleared": run.cleared})

    def _is_first_time(self, run: RewindRun) -> bool:
        decided = files.read_json_if_any(self._interval(run))
        return decided in (None, {"run_id": run.run_id, "cleared": run.cleared})

    def _interval(self, run: RewindRun) -> str:
        return join(self._uri, f"interval-{unique_segment(run.interval.begins.isoformat())}.json")

    def _read_newest(self, uri: str) -> Turn | None:
        names = files.list_names(uri)
        number = max((int(match[1]) for match in map(_TURN.fullmatch, names) if match), default=0)
        turn = self._read(uri, number) if number else None
        return turn and replace(turn, ended=f"{number:06d}.ended.json" in names)

    def _read(self, uri: str, number: int) -> Turn | None:
        fields = files.read_json_if_any(join(uri, f"{number:06d}.turn.json"))
        return None if fields is None else replace(Turn.from_json(fields), number=number)
