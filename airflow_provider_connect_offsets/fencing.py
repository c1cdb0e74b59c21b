"""Fencing: before every request that changes a system, a client checks whether this process may still change it.

``saga.door`` sets the check for as long as an operation has its lease. All clients make it right before each request
that changes something, and before each retry. Outside of an operation nothing is checked. Kafka Connect itself knows no
fencing tokens, so a request that is already on the wire can't be called back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

#: Raises :class:`~.exceptions.Overlap` or :class:`~.exceptions.JournalLost` if nothing may be changed any more.
Question: TypeAlias = Callable[[], None]

# Each thread has its own check: the connectors of a fleet may share clients, but each is fenced by its own lease.
_QUESTION: ContextVar[Question | None] = ContextVar("fencing question", default=None)


@contextmanager
def fence(question: Question) -> Iterator[None]:
    """Ask ``question`` before each changing request in this block, after the question of an enclosing block."""
    enclosing = _QUESTION.get()

    def ask_both() -> None:
        if enclosing is not None:
            enclosing()
        question()

    token = _QUESTION.set(ask_both)
    try:
        yield
    finally:
        _QUESTION.reset(token)


def ask() -> None:
    """Ask the question, and raise what it raises; clients call this right before each request that changes anything."""
    question = _QUESTION.get()
    if question is not None:
        question()
