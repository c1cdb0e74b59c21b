"""The request of a bounded replay: which connector delivers which interval of time once more."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Annotated, Any

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.fields import Parameters, Section, argument, flag, required
from airflow_provider_connect_offsets.offsets.requests.place import Topics
from airflow_provider_connect_offsets.offsets.requests.values import Flag, Name, Text, ago

_HASH = 8


def _moment(value: object, param: str) -> datetime:
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidRequest(f"{param}: {text!r} is not an ISO 8601 time like 2026-01-31T00:00:00+00:00.") from error
    if moment.tzinfo is None:
        raise InvalidRequest(f"{param}: {text!r} has no time zone. Add its offset from UTC, like {text}+00:00.")
    return moment


class ReplayLimits(Parameters, section=Section.LIMITS):
    """How long a replay may take, and whether a part of the interval will do."""

    replay_limit: Text = required(
        "Longest replay",
        "ISO 8601 duration. A replay that has not delivered its interval within this time is undone.",
        example="PT2H",
        default="PT1H",
    )
    partial: Flag = flag(
        "Replay what is left",
        "Whether to replay the rest of an interval if its first records may have been deleted.",
        default=False,
    )


class ReplayInterval(Topics, ReplayLimits):
    """The interval of a connector that is delivered once more, always of all partitions of its topics."""

    connector: Name = argument("Name of the connector.")
    begins: Annotated[datetime, _moment] = argument("ISO 8601 time with offset. Records from then on are delivered.")
    ends: Annotated[datetime, _moment] = argument("ISO 8601 time with offset. Records before then are delivered.")


class ReplayRequest(ReplayInterval, JsonRecord):
    """A bounded replay.

    Attributes:
        clone: Name of the temporary connector that delivers the interval.
        limit_seconds: How long the delivery may take.
    """

    clone: str
    limit_seconds: float = 3600.0

    @classmethod
    def of(cls, interval: ReplayInterval, *, run: str, now: datetime) -> ReplayRequest:
        """Return the request of a replay.

        Args:
            interval: What is delivered once more.
            run: The run that requests it, which gives the clone its name.
            now: The time now.

        Raises:
            InvalidRequest: The interval is empty or ends in the future, or its limit isn't a duration.
        """
        begins, ends, limit = interval.begins, interval.ends, interval.replay_limit
        if begins >= ends:
            raise InvalidRequest(
                f"Nothing was created: the interval from {begins.isoformat()} to {ends.isoformat()} is empty."
            )
        if ends > now:
            raise InvalidRequest(
                f"Nothing was created: the interval ends at {ends.isoformat()}, which is in the future. Replay it "
                "once it has passed."
            )
        try:
            duration = now - ago(limit, now=now)
        except ValueError as error:
            raise InvalidRequest(f"replay_limit: {limit!r} is not an ISO 8601 duration like PT1H or PT90M.") from error
        if duration <= timedelta(0):
            raise InvalidRequest(f"replay_limit: {limit!r} leaves no time to deliver anything.")
        clone = clone_name(interval.connector, run=run, begins=begins, ends=ends)
        return cls(**interval.values(), clone=clone, limit_seconds=duration.total_seconds())

    @classmethod
    def parse(cls, **given: Any) -> ReplayRequest:
        """Parse what a person typed: parameters of :class:`ReplayInterval`, and the other arguments of :meth:`of`."""
        others = {name: given.pop(name) for name in ("run", "now") if name in given}
        return cls.of(ReplayInterval.parse(**given), **others)

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
