"""Carries out one or many sagas, a limited number at a time; after too many failures no more are begun."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event
from typing import Generic, TypeVar

from airflow_provider_connect_offsets.exceptions import InvalidRequest

Member = TypeVar("Member")
Result = TypeVar("Result")


@dataclass(slots=True)
class ManySagas(Generic[Member, Result]):
    """Carries out a saga for each member.

    Args:
        saga: Changes a member; raises if it was not changed, after undoing its own change and no other.
        at_once: How many may be under way at a time.
        max_failures: After this many failures no more sagas are begun.
    """

    saga: Callable[[Member], Result]
    at_once: int
    max_failures: int
    _halted: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        """Refuse numbers below 1."""
        if self.at_once < 1 or self.max_failures < 1:
            raise InvalidRequest(
                f"max_down ({self.at_once}) and max_failures ({self.max_failures}) must be 1 or greater."
            )

    def halt(self) -> None:
        """Begin no more sagas; those under way end normally."""
        self._halted.set()

    def run(self, members: Iterable[Member]) -> Iterator[tuple[Member, Result | Exception]]:
        """Yield each member whose saga was begun, with its result or its exception, as they end.

        If ``at_once`` is 1, the sagas run in this thread, so that an interruption of it reaches them.
        """
        if self.at_once == 1:
            yield from self._one_by_one(members)
            return
        waiting, failures = iter(members), 0
        under_way: dict[Future[Result], Member] = {}
        ended: list[tuple[Member, Result | Exception]] = []
        with ThreadPoolExecutor(max_workers=self.at_once) as pool:
            while True:
                while len(under_way) < self.at_once and failures < self.max_failures and not self._halted.is_set():
                    member = next(waiting, None)
                    if member is None:
                        break
                    under_way[pool.submit(self.saga, member)] = member
                # The caller writes reports of the ended sagas while the others run.
                yield from ended
                if not under_way:
                    return
                ended.clear()
                for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                    error = done.exception()
                    if error is not None and not isinstance(error, Exception):
                        raise error
                    failures += error is not None
                    ended.append((under_way.pop(done), error if error is not None else done.result()))

    def _one_by_one(self, members: Iterable[Member]) -> Iterator[tuple[Member, Result | Exception]]:
        failures = 0
        for member in members:
            if failures >= self.max_failures or self._halted.is_set():
                return
            try:
                ended: Result | Exception = self.saga(member)
            except Exception as error:  # noqa: BLE001 - the caller gets it
                ended, failures = error, failures + 1
            yield member, ended
