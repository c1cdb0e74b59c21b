"""Two Kafka clusters and a Connect worker, started and ended together."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sandbox.broker import Broker, Secured
from sandbox.errors import SandboxError
from sandbox.jars import KAFKA_VERSION, kafka_jars
from sandbox.java import java
from sandbox.mirror_maker import MirrorMaker
from sandbox.parts import airflow_connections
from sandbox.process import ServerProcess
from sandbox.tether import PROCESSES
from sandbox.waiting import wait_until
from sandbox.worker import ConnectWorker, Mode


class Sandbox:
    """Two real Kafka clusters and a Connect worker on the second, for as long as a ``with`` block lasts.

    ``root`` holds all files; it is created, or must be empty, and goes with the sandbox, also when this process is
    killed. ``keep_logs`` is where the logs are copied to when the block is left by an exception. ``worker_properties``
    go over the worker's settings. ``version`` is Kafka's, of brokers and workers. ``secured`` are further listeners of
    both brokers, with what they need.
    """

    def __init__(
        self,
        *,
        root: Path | None = None,
        keep_logs: Path | None = None,
        worker_properties: Mapping[str, str] | None = None,
        version: str = KAFKA_VERSION,
        secured: Secured | None = None,
    ) -> None:
        self.root = _fresh_root(root)
        self.data = self.root / "data"
        self.version = version
        self.source = Broker("source", self._home("source"), secured=secured, version=version)
        self.target = Broker("target", self._home("target"), secured=secured, version=version)
        self._keep_logs = keep_logs
        self._worker_properties = dict(worker_properties or {})
        self.workers = [self._worker("connect")]
        self._others: list[ConnectWorker | MirrorMaker] = []

    @property
    def connect(self) -> ConnectWorker:
        """The first worker."""
        return self.workers[0]

    @property
    def processes(self) -> list[ServerProcess]:
        """All servers."""
        return [
            self.source.process,
            self.target.process,
            *(worker.process for worker in (*self.workers, *self._others)),
        ]

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close(failed=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(failed=kind is not None)

    def add_worker(self) -> ConnectWorker:
        """Start one more worker of the same Connect cluster, which rebalances."""
        worker = self._worker(f"connect-{len(self.workers) + 1}")
        self.workers.append(worker)
        worker.process.start()
        return worker

    def remove_worker(self) -> None:
        """End the worker that joined last, and wait until changes reach a leader among the others."""
        worker = self.workers.pop()
        if worker.process.is_alive:
            worker.process.stop()  # in order: a killed leader still gets requests until its session expires
        worker.process.close()
        wait_until(self.connect.is_led, 60, "no worker leads the others", progress=self.connect.work, interval=0.2)

    def another_cluster(
        self,
        name: str,
        properties: Mapping[str, str] | None = None,
        *,
        mode: Mode = Mode.DISTRIBUTED,
        **security: Any,
    ) -> ConnectWorker:
        """Start a worker on the target, in a Connect cluster of its own; ``close`` its process to end it.

        ``security``: ``login`` and ``options`` of the worker.
        """
        topics = {f"{kind}.storage.topic": f"{name}-{kind}" for kind in ("config", "offset", "status")}
        own = {"group.id": name, **topics, **(properties or {})}
        worker = self._worker(name, own, mode, **security)
        self._others.append(worker)
        worker.process.start()
        return worker

    def mirror_maker(self, topics: str) -> MirrorMaker:
        """Start a dedicated MirrorMaker 2 that replicates ``topics``; ``close`` its process to end it."""
        home = self._home("mirror-maker")
        maker = MirrorMaker(home, source=self.source, target=self.target, topics=topics, version=self.version)
        self._others.append(maker)
        maker.process.start()
        return maker

    def keep_logs_now(self) -> Path:
        """Copy all logs to ``keep_logs``, and return it."""
        if self._keep_logs is None:
            raise SandboxError("This sandbox has no directory for its logs: Sandbox(keep_logs=…)")
        self._keep_logs.mkdir(parents=True, exist_ok=True)
        for process in self.processes:
            if process.log_path.exists():
                shutil.copy(process.log_path, self._keep_logs / f"{process.log_path.parent.name}.log")
        return self._keep_logs

    def close(self, *, failed: bool = False) -> None:
        """End all servers and remove all files; leaving the ``with`` block does it."""
        if failed and self._keep_logs is not None:
            self.keep_logs_now()
        for process in self.processes:
            process.let_go()  # all at once, as each takes its time
        for process in self.processes:
            process.close()
        shutil.rmtree(self.root, ignore_errors=True)

    def to_connections(self) -> dict[str, str]:
        """The environment variables for Airflow's default connections to this sandbox."""
        return airflow_connections(self, spark={"host": "local[2]"})

    def _start(self) -> None:
        java()
        kafka_jars(self.version)
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.data.mkdir()
        with ThreadPoolExecutor(max_workers=2) as pool:
            source = pool.submit(self.source.process.start)
            target = pool.submit(self._start_target)
            for started in (source, target):
                started.result()

    def _start_target(self) -> None:
        self.target.process.start()
        self.connect.process.start()

    def _home(self, name: str) -> Path:
        return self.root / PROCESSES / name

    def _worker(
        self,
        name: str,
        properties: Mapping[str, str] | None = None,
        mode: Mode = Mode.DISTRIBUTED,
        **security: Any,
    ) -> ConnectWorker:
        return ConnectWorker(
            name,
            self._home(name),
            bootstrap=lambda: self.target.bootstrap,
            properties=self._worker_properties if properties is None else properties,
            mode=mode,
            version=self.version,
            **security,
        )


def _fresh_root(root: Path | None) -> Path:
    if root is None:
        return Path(tempfile.gettempdir(), f"connect-offsets-sandbox-{uuid.uuid4().hex[:12]}")
    if root.exists() and any(root.iterdir()):
        raise SandboxError(f"{root} is not empty; a sandbox needs a directory of its own, as it removes it at the end.")
    return root.absolute()
