"""A Spark standalone cluster: a master and workers, whose Python has none of the project's packages."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark
import requests

from sandbox import wait_until
from sandbox.java import java
from sandbox.process import ServerProcess
from sandbox.tether import PROCESSES

_HOME = Path(pyspark.__file__).parent
_DEPLOY = "org.apache.spark.deploy"
_OPTIONS = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")


@dataclass
class _Daemon:
    """A master, or a worker of the master at ``master``; its web page tells its state as JSON."""

    main_class: str
    arguments: tuple[str, ...] = ()
    ports: int = 2
    chosen: Sequence[int] = field(default=())

    def prepare(self, home: Path, ports: Sequence[int]) -> list[list[str]]:
        home.joinpath("work").mkdir(exist_ok=True)
        self.chosen = ports
        return []

    def command(self, home: Path) -> list[str]:
        port, page = map(str, self.chosen)
        addressed = ["--host", "127.0.0.1", "--port", port, "--webui-port", page]
        scratch = f"-Djava.io.tmpdir={home / 'work'}"
        own = [argument.format(home=home) for argument in self.arguments]
        main = f"{_DEPLOY}.{self.main_class}"
        program = [str(java()), *_OPTIONS, scratch, "-cp", f"{_HOME / 'jars'}/*", main]
        # What a worker starts executors by; the version, of Scala, would be looked for in a built source tree.
        environment = [f"SPARK_HOME={_HOME}", "SPARK_SCALA_VERSION=2.13"]
        return ["env", *environment, *program, *addressed, *own]

    def is_ready(self, ports: Sequence[int]) -> bool:
        return bool(_state(ports[1]))


@contextmanager
def spark_cluster(workers: int = 2) -> Iterator[str]:
    """Start a cluster with one core a worker, and yield the address of its master."""
    root = Path(tempfile.mkdtemp(prefix="connect-offsets-spark-"))
    started: list[ServerProcess] = []
    try:
        master = _start("master", root, _Daemon("master.Master"), started)
        address = f"spark://127.0.0.1:{master.ports[0]}"
        room = ("--cores", "1", "--memory", "1g", "--work-dir", "{home}/work", address)
        for number in range(workers):
            _start(f"worker-{number}", root, _Daemon("worker.Worker", room), started)
        late = "the workers have not joined the master"
        wait_until(lambda: _state(master.ports[1]).get("aliveworkers") == workers, 60, late, progress=master.work)
        yield address
    finally:
        for server in reversed(started):
            server.close()
        shutil.rmtree(root, ignore_errors=True)


def _start(name: str, root: Path, recipe: _Daemon, started: list[ServerProcess]) -> ServerProcess:
    server = ServerProcess(name, root / PROCESSES / name, recipe)
    started.append(server)
    server.start()
    return server


def _state(page: int) -> dict[str, object]:
    """What the web page of a daemon says; nothing before it answers."""
    with requests.Session() as session:
        session.trust_env = False  # a proxy of the environment can't reach 127.0.0.1
        try:
            state: dict[str, object] = session.get(f"http://127.0.0.1:{page}/json/", timeout=20).json()
        except requests.RequestException:
            return {}
    return state
