"""Outages of a worker or broker that end by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from sandbox import Sandbox, wait_until
from sandbox.process import ServerProcess
from tests.support.faults.faulty_clients import Outage


@dataclass
class Outages:
    """Starts outages of brokers, and of workers if there are two; each ends by itself, see :meth:`wait`."""

    sandbox: Sandbox
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(max_workers=1))
    _under_way: Future[None] | None = None

    def begin(self, outage: Outage) -> None:
        """Begin an outage; on return the server is starting again."""
        first, second = self.sandbox.workers[0].process, self.sandbox.workers[-1].process
        broker = self.sandbox.target.process
        away: dict[Outage, tuple[Callable[[], None], tuple[ServerProcess, ...]]] = {
            Outage.WORKER_KILLED: (first.kill, (first,)),
            Outage.WORKER_LEFT: (first.stop, (first,)),
            Outage.ROLLING: (first.stop, (first, second)),
            Outage.BROKER_KILLED: (broker.kill, (broker,)),
        }
        end, gone = away[outage]
        end()
        self._under_way = self._pool.submit(_back, gone)

    def wait(self) -> None:
        """Wait until the outage is over."""
        if self._under_way is not None:
            self._under_way.result()
            wait_until(self.sandbox.target.serves_groups, 60, "no coordinator of groups answers")

    def close(self) -> None:
        """End all threads."""
        self._pool.shutdown()


def _back(gone: tuple[ServerProcess, ...]) -> None:
    """Start the first worker again, and restart all others one after the other."""
    for process in gone:
        if process.is_alive:
            process.stop()
        process.start()


@contextmanager
def two_workers(sandbox: Sandbox) -> Iterator[Outages]:
    """A second worker during the block."""
    sandbox.add_worker()
    outages = Outages(sandbox)
    try:
        yield outages
    finally:
        outages.close()
        while len(sandbox.workers) > 1:
            sandbox.remove_worker()
