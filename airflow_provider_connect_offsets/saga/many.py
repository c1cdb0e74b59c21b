"""Many sagas: only so many under way at once, and none begun after too many have failed."""

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
    """Carries out a saga for each member, ``at_once`` at a time, and begins none after ``max_failures`` have failed.

    ``saga`` raises where its member was not changed; each undoes what is its own then, and touches no other.
    """

    saga: Callable[[Member], Result]
    at_once: int
    max_failures: int
    _halted: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        """Refuse numbers with which nothing would ever be done."""
        if self.at_once < 1 or self.max_failures < 1:
            raise InvalidRequest(
                f"max_down ({self.at_once}) and max_failures ({self.max_failures}) must be 1 or greater."
            )

    def halt(self) -> None:
        """Begin no more; those under way end in order."""
        self._halted.set()

    def run(self, members: Iterable[Member]) -> Iterator[tuple[Member, Result | Exception]]:
        """Give each member that was begun with what became of it, as they end."""
        waiting, failures = iter(members), 0
        under_way: dict[Future[Result], Member] = {}
        with ThreadPoolExecutor(max_workers=self.at_once) as pool:
            while True:
                while len(under_way) < self.at_once and failures < self.max_failures and not self._halted.is_set():
                    member = next(waiting, None)
                    if member is None:
                        break
                    under_way[pool.submit(self.saga, member)] = member
                if not under_way:
                    return
                for ended in wait(under_way, return_when=FIRST_COMPLETED).done:
                    error = ended.exception()
                    if error is not None and not isinstance(error, Exception):
                        raise error
                    failures += error is not None
                    yield under_way.pop(ended), error if error is not None else ended.result()
