"""Who comes after an operation has ended, however it did."""

from __future__ import annotations

from enum import StrEnum


class Successor(StrEnum):
    """The same task again, the teardown of its run, another run, or a person with ``connect-offsets recover``."""

    RETRY = "retry"
    TEARDOWN = "teardown"
    STRANGER = "stranger"
    PERSON = "recover"
