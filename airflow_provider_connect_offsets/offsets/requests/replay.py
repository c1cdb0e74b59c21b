"""The request of a bounded replay: which connector delivers which interval of time once more."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.patterns import selection
from airflow_provider_connect_offsets.offsets.requests.values import ago

_HASH = 8


@dataclass(frozen=True, slots=True)
class ReplayRequest(JsonRecord):
    """A bounded replay.

    Attributes:
        connector: The connector whose records are delivered again; it keeps running.
        clone: Name of the temporary connector that delivers them.
        begins: Records with this timestamp or a later one are delivered.
        ends: Records before this timestamp are delivered.
        topics: Pattern for whole names of topics; None: all that the connector reads.
        partial: Whether the rest of an interval is delivered if its first records may have been deleted.
        limit_seconds: How long the delivery may take.
    """

    connector: str
    clone: str
    begins: datetime
    ends: datetime
    topics: str | None = None
    partial: bool = False
    limit_seconds: float = 3600.0

    @classmethod
    def parse(  # noqa: PLR0913 - each has its own meaning
        cls,
        *,
        connector: str,
        run: str,
        begins: str,
        ends: str,
        topics: str = "",
        partial: bool = False,
        limit: str = "PT1H",
        now: datetime,
    ) -> ReplayRequest:
        """Parse a request.

        Args:
            connector: Name of the connector.
            run: The run that requests it, which gives the clone its name.
            begins: ISO 8601 time with offset.
            ends: Likewise.
            topics: Pattern for whole names of topics; empty: all.
            partial: Whether the rest of an interval is delivered if its first records may have been deleted.
            limit: ISO 8601 duration: how long the delivery may take.
            now: The time now.

        Raises:
            InvalidRequest: A value can't be parsed, or the interval is empty or ends in the future.
        """
        if not connector.strip():
            raise InvalidRequest("Nothing was created: no connector is named, so there is nothing to replay.")
        since, until = _moment(begins, param="begins"), _moment(ends, param="ends")
        if since >= until:
            raise InvalidRequest(f"Nothing was created: the interval from {begins} to {ends} is empty.")
        if until > now:
            raise InvalidRequest(
                f"Nothing was created: the interval ends at {until.isoformat()}, which is in the future. Replay it "
                "once it has passed."
            )
        try:
            duration = now - ago(limit, now=now)
        except ValueError as error:
            raise InvalidRequest(f"replay_limit: {limit!r} is no ISO 8601 duration, like PT1H or PT90M.") from error
        if duration <= timedelta(0):
            raise InvalidRequest(f"replay_limit: {limit!r} leaves no time to deliver anything.")
        return cls(
            connector=connector,
            clone=clone_name(connector, run=run, begins=since, ends=until),
            begins=since,
            ends=until,
            topics=selection(topics, param="topics"),
            partial=partial,
            limit_seconds=duration.total_seconds(),
        )

    @property
    def interval(self) -> str:
        """Both ends, as ISO 8601."""
        return f"{self.begins.isoformat()} to {self.ends.isoformat()}"


def clone_prefix(connector: str) -> str:
    """Return how the names of all clones of ``connector`` begin."""
    return f"{connector}-replay-"


def clone_name(connector: str, *, run: str, begins: datetime, ends: datetime) -> str:
    """Return the name of the clone that a run uses for an interval: equal for each attempt, and no other run's."""
    text = f"{connector}\n{run}\n{begins.isoformat()}\n{ends.isoformat()}"
    return f"{clone_prefix(connector)}{hashlib.sha256(text.encode()).hexdigest()[:_HASH]}"


def _moment(text: str, *, param: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidRequest(f"{param}: {text!r} is no ISO 8601 time, like 2026-01-31T00:00:00+00:00.") from error
    if moment.tzinfo is None:
        raise InvalidRequest(f"{param}: {text!r} has no time zone; add its offset, like {text}+00:00.")
    return moment
