"""A Spark standalone cluster: a master and workers, whose Python has none of the project's packages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

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
    """A master, or a worker, whose ``arguments`` then name its master; its web page shows its state as JSON."""

    main_class: str
    arguments: tuple[str, ...] = ()
    ports: int = 2
    chosen: Sequence[int] = ()

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
    with ExitStack() as cluster:
        root = Path(
            cluster.enter_context(TemporaryDirectory(prefix="connect-offsets-spark-", ignore_cleanup_errors=True))
        )
        master = cluster.enter_context(_started("master", root, _Daemon("master.Master")))
        address = f"spark://127.0.0.1:{master.ports[0]}"
        room = ("--cores", "1", "--memory", "1g", "--work-dir", "{home}/work", address)
        for number in range(workers):
            cluster.enter_context(_started(f"worker-{number}", root, _Daemon("worker.Worker", room)))
        late = "the workers have not joined the master"
        wait_until(lambda: _state(master.ports[1]).get("aliveworkers") == workers, 60, late, progress=master.work)
        yield address


@contextmanager
def _started(name: str, root: Path, recipe: _Daemon) -> Iterator[ServerProcess]:
    server = ServerProcess(name, root / PROCESSES / name, recipe)
    with closing(server):
        server.start()
        yield server


def _state(page: int) -> dict[str, object]:
    """What the web page of a daemon says; nothing before it answers."""
    with requests.Session() as session:
        session.trust_env = False  # a proxy of the environment can't reach 127.0.0.1
        try:
            state: dict[str, object] = session.get(f"http://127.0.0.1:{page}/json/", timeout=20).json()
        except requests.RequestException:
            return {}
    return state
