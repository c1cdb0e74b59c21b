"""Who recovers an operation that ended unfinished."""

from __future__ import annotations

from enum import StrEnum


class RecoveredBy(StrEnum):
    """The same task again, the teardown of its run, another run, or a person with ``connect-offsets recover``."""

    RETRY = "retry"
    TEARDOWN = "teardown"
    OTHER_RUN = "other_run"
    PERSON = "recover"
