"""Fencing: every request that changes a system first asks whether this process may still change it.

The door (``saga.door``) sets the question for as long as an operation has its lease; all clients ask it right before
each changing request, and before each repeat of one. Outside of an operation nothing is asked. Kafka Connect itself
knows no fencing tokens, so a request that is already on the wire can't be called back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

#: Raises :class:`~.exceptions.Overlap` or :class:`~.exceptions.JournalLost` if nothing may be changed any more.
Question: TypeAlias = Callable[[], None]

# Of a thread, so that each connector of a fleet, whose clients may be shared, is fenced by its own lease.
_QUESTION: ContextVar[Question | None] = ContextVar("fencing question", default=None)


@contextmanager
def fenced(question: Question) -> Iterator[None]:
    """Ask ``question``, besides that of an enclosing block, before each changing request in this block."""
    enclosing = _QUESTION.get()

    def both() -> None:
        if enclosing is not None:
            enclosing()
        question()

    token = _QUESTION.set(both)
    try:
        yield
    finally:
        _QUESTION.reset(token)


def ask() -> None:
    """Raise what the question raises; called by clients right before each request that changes something."""
    question = _QUESTION.get()
    if question is not None:
        question()
