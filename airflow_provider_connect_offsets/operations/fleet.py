"""The same change for many connectors: which ones, their snapshots, and the error for those that were not changed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from airflow_provider_connect_offsets.exceptions import (
    AccessDenied,
    FleetIncomplete,
    InvalidRequest,
    RecordsDeleted,
    Rejected,
    StoreError,
    UnknownConnector,
)
from airflow_provider_connect_offsets.offsets.family import Noun
from airflow_provider_connect_offsets.offsets.requests.patterns import typed_pattern
from airflow_provider_connect_offsets.words import join_first, quantify

log = logging.getLogger(__name__)
_LASTING = (AccessDenied, Rejected, UnknownConnector)
_NAMED = 5


def select(
    connectors: Iterable[str], pattern: str, *, noun: Noun = Noun.CONNECTOR, unlisted: Mapping[str, str] | None = None
) -> list[str]:
    """Return the connectors whose whole name matches ``pattern``; raises :class:`InvalidRequest` if none does.

    Args:
        connectors: All connectors.
        pattern: Regular expression.
        noun: What they are: connectors, or consumer groups.
        unlisted: Name → sentence that says why it is left out; the sentences of matching names are shown.
    """
    param = noun.param
    names, requested = sorted(connectors), typed_pattern(pattern, param=param)
    selected = [name for name in names if requested.matches(name)]
    left_out = [sentence for name, sentence in (unlisted or {}).items() if requested.matches(name)]
    if not selected:
        of_these = f"none of the {quantify(len(names), noun)}: {join_first(names, _NAMED)}"
        also = f" {join_first(left_out, _NAMED, separator=' ')}" if left_out else ""
        raise InvalidRequest(
            f"{param}: {pattern!r} matches {of_these if names else f'nothing, because there are no {noun}s'}.{also}"
        )
    if left_out:
        log.warning("%s", join_first(left_out, _NAMED, separator=" "))
    return selected


def refuse_incomplete(ended: Mapping[str, object], connectors: Sequence[str], *, noun: Noun = Noun.CONNECTOR) -> None:
    """Raise an error that names the connectors that were not begun or have failed; do nothing if there are none.

    Args:
        ended: Connector → its result, or its exception.
        connectors: All connectors of the fleet.
        noun: What they are: connectors, or consumer groups.

    Raises:
        FleetIncomplete: At least one failure needs attention.
        StoreError: All failures may pass by themselves.
    """
    failed = {name: error for name, error in ended.items() if isinstance(error, Exception)}
    waiting = [name for name in connectors if name not in ended]
    if not failed and not waiting:
        return
    deleted = sorted(name for name, error in failed.items() if isinstance(error, RecordsDeleted))
    unchanged = sorted(failed.keys() - set(deleted))
    parts = [f"{len(unchanged) + len(waiting)} of {len(connectors)} {noun}s were not changed."]
    parts += [f"Failed: {join_first(unchanged, _NAMED)}."] if unchanged else []
    parts += (
        [f"Changed, but records at their positions were deleted: {join_first(deleted, _NAMED)}."] if deleted else []
    )
    parts += [f"Not begun: {join_first(waiting, _NAMED)}."] if waiting else []
    others = len(ended) - len(failed)
    parts += [f"The other {others} {'is' if others == 1 else 'are'} as planned.", *map(str, list(failed.values())[:3])]
    text = " ".join(parts)
    passing = all(isinstance(error, StoreError) and not isinstance(error, _LASTING) for error in failed.values())
    raise (StoreError if failed and passing else FleetIncomplete)(text) from next(iter(failed.values()), None)
