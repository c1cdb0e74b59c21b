"""Run a real Airflow with all its files in one directory, and call its REST API."""

from __future__ import annotations

import json
import os
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests

from sandbox import tree
from sandbox.errors import SandboxError
from sandbox.process import ServerProcess
from sandbox.sandbox import Sandbox
from sandbox.tether import PROCESSES
from sandbox.waiting import wait_until

if TYPE_CHECKING:
    from airflow.sdk import DAG

DAGS = Path(__file__).resolve().parents[1] / "dags"
_LOCAL_SETTINGS = Path(__file__).with_name("airflow_local_settings.py")
_START_TIMEOUT = 90.0  # without progress
_PARSED = 120.0
_LOCAL = "127.0.0.1"
_QUICK_START = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"  # as the package gives it to short jobs
_PARTS = ("metadatabase", "scheduler", "triggerer", "dag_processor")


def airflow_environment(home: Path, *, sandbox_env: Mapping[str, str], workspace: Path) -> dict[str, str]:
    """The environment variables of an Airflow with a home of its own.

    ``home`` is its AIRFLOW_HOME; ``sandbox_env`` are the connections, as ``Sandbox.to_connections`` gives them.
    """
    exempt = [name for name in (os.environ.get("NO_PROXY"), _LOCAL, "localhost") if name]
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        # On a busy machine a task needs more than 30 s to parse its DAG file, and fails for good if it happens twice.
        "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "300",
        "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": "330",
        # By default, all files are parsed every 30 s, which takes half a core. A changed file is parsed at once anyway;
        # the watchers of a DAG that is no longer paused begin at the next parsing.
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "120",
        # By default, a worker repeats a request after 5 s, which keeps a busy server busy, and fails after 5 of them.
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",  # the button in the connection's form
        "AIRFLOW__API__DEFAULT_WRAP": "True",  # a message is longer than the log's view is wide
        "AIRFLOW__CONNECT_OFFSETS__WORKSPACE": workspace.absolute().as_uri(),
        # A failover's job also ends before the JVM's second compiler pays off: flows are small here.
        "SPARK_SUBMIT_OPTS": f"{_QUICK_START} {os.environ.get('SPARK_SUBMIT_OPTS', '')}".rstrip(),
        # Airflow calls the `airflow` and `spark-submit` that were installed with this Python.
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
        "NO_PROXY": ",".join(exempt),
        "NO_COLOR": "1",
        "SPARK_LOCAL_IP": _LOCAL,  # whatever this machine's name leads to
        "SPARK_LOCAL_DIRS": str(home / "spark"),  # removed with the rest, also if Spark is killed
        **sandbox_env,
    }


@dataclass(frozen=True, slots=True)
class Login:
    """A user of Airflow's simple auth manager."""

    username: str
    password: str


def parse_dags(path: Path) -> dict[str, DAG]:
    """Parse a DAG file, or a folder of them, so that ``DAG.test()`` can run its DAGs in this process.

    Raises:
        SandboxError: a file can't be parsed; the message names it, and shows the traceback.
    """
    try:
        from airflow.dag_processing.dagbag import DagBag  # noqa: PLC0415 - takes seconds
    except ModuleNotFoundError:  # before Airflow 3.2
        return _parse_and_enter(path)
    return _parse(DagBag(str(path)))


def _parse_and_enter(path: Path) -> dict[str, DAG]:
    """Enter the DAGs into the database as well, without which ``DAG.test()`` of Airflow 3.1.0 does not run them."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager  # noqa: PLC0415
    from airflow.models.dagbag import DagBag, sync_bag_to_db  # noqa: PLC0415

    bag = DagBag(str(path))
    dags = _parse(bag)
    bundles = DagBundlesManager()  # type: ignore[no-untyped-call]
    bundles.sync_bundles_to_db()
    sync_bag_to_db(bag, next(iter(bundles.get_all_dag_bundles())).name, None)
    return dags


def _parse(bag: Any) -> dict[str, DAG]:
    if bag.import_errors:
        raise SandboxError("\n".join(f"{file}: {why}" for file, why in bag.import_errors.items()))
    return dict(bag.dags)


class Airflow(ABC):
    """A client of a running Airflow at :attr:`url`."""

    @property
    @abstractmethod
    def url(self) -> str:
        """The address of its UI and its REST API, without a slash at the end."""

    @property
    def login(self) -> Login | None:
        """Who makes the requests; None if Airflow needs no password."""
        return None

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Make a request of the REST API (``/api/v2`` is put before ``path``) and return the answer's JSON."""
        with _session() as session:
            session.headers["Authorization"] = f"Bearer {self._token(session)}"
            response = session.request(method, f"{self.url}/api/v2{path}", json=body, timeout=60)
        response.raise_for_status()
        return response.json() if response.content else None

    def _token(self, session: requests.Session) -> str:
        method, body = ("POST", asdict(self.login)) if self.login else ("GET", None)
        response = session.request(method, f"{self.url}/auth/token", json=body, timeout=30)
        response.raise_for_status()
        return str(response.json()["access_token"])

    def log(self, *, dag_id: str, run_id: str, task: str) -> str:
        """Get the log of a task's last attempt."""
        path = f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task}"
        number = self.call("GET", path)["try_number"]
        return str(self.call("GET", f"{path}/logs/{number}"))

    def is_healthy(self) -> bool:
        """Whether all its parts work."""
        try:
            with _session() as session:
                health = session.get(f"{self.url}/api/v2/monitor/health", timeout=20).json()
        except (requests.RequestException, ValueError):
            return False
        return all((health.get(part) or {}).get("status") == "healthy" for part in _PARTS)

    def has_dag(self, dag_id: str) -> bool:
        """Whether a DAG can be triggered: Airflow parses files a moment after its start."""
        return dag_id in self._dags()

    def wait_for_dag(self, dag_id: str) -> None:
        """Wait until a DAG can be triggered."""
        late = f"Airflow has not found the DAG {dag_id}"
        wait_until(lambda: self.has_dag(dag_id), _PARSED, late, progress={"DAGs": self._dags}, interval=0.5)

    def _dags(self) -> set[str]:
        return {dag["dag_id"] for dag in self.call("GET", "/dags")["dags"]}


@dataclass(frozen=True, slots=True)
class AirflowAt(Airflow):
    """An Airflow that someone else runs."""

    url: str
    login: Login | None = None


class AirflowStandalone(Airflow):
    """``airflow standalone`` on a sandbox, on free ports.

    ``workspace`` is where the DAG runs keep their datasets and reports, ``dags`` the folder of DAG files; ``settings``
    override its environment. Without a ``login`` it asks for no password. All other files are in the sandbox and
    removed with it.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        workspace: Path,
        dags: Path = DAGS,
        settings: Mapping[str, str] | None = None,
        login: Login | None = None,
    ) -> None:
        self._home = sandbox.root / PROCESSES / "airflow"
        self._login = login
        recipe = _Recipe(sandbox, workspace, dags, dict(settings or {}), login)
        self.process = ServerProcess("airflow", self._home, recipe, grace=15)

    @property
    def url(self) -> str:
        """The address of its UI and its REST API, without a slash at the end."""
        return _url(self.process.ports)

    @property
    def login(self) -> Login | None:
        """Its only user; None if it asks for no password."""
        return self._login

    def environment(self) -> dict[str, str]:
        """The environment variables of its processes, once it has started."""
        variables: dict[str, str] = json.loads(_environment_file(self._home).read_text())
        return variables

    def start(self) -> None:
        """Start it and wait until all its parts are healthy."""
        try:
            self.process.start(_START_TIMEOUT)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End it with all its children, and remove its files."""
        self.process.close()


@dataclass(frozen=True)
class _Recipe:
    sandbox: Sandbox
    workspace: Path
    dags: Path
    settings: Mapping[str, str]
    login: Login | None = None
    ports: int = 3

    def prepare(self, home: Path, ports: Sequence[int]) -> list[list[str]]:
        own = airflow_environment(home, sandbox_env=self.sandbox.to_connections(), workspace=self.workspace)
        path = _environment_file(home)
        path.touch(mode=0o600)
        given = {"AIRFLOW__CORE__DAGS_FOLDER": str(self.dags), **self.settings}
        if self.login is not None:
            given |= _only_user(self.login, home)
        path.write_text(json.dumps({**own, **_standalone(ports), **given}, indent=1))
        _import_before_forks(home)
        return []

    def command(self, home: Path) -> list[str]:
        # -P: modules of this package must not shadow others of the same name.
        own = [sys.executable, "-P", tree.__file__, str(_environment_file(home))]
        return [*own, sys.executable, "-m", "airflow", "standalone"]

    def is_ready(self, ports: Sequence[int]) -> bool:
        return AirflowAt(_url(ports)).is_healthy()


def _standalone(ports: Sequence[int]) -> dict[str, str]:
    url = _url(ports)
    return {
        "AIRFLOW__API__HOST": _LOCAL,
        "AIRFLOW__API__PORT": str(ports[0]),
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(ports[1]),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(ports[2]),
    }


def _import_before_forks(home: Path) -> None:
    config = home / "config"
    config.mkdir(exist_ok=True)
    shutil.copy(_LOCAL_SETTINGS, config)


def _only_user(login: Login, home: Path) -> dict[str, str]:
    """Write the file with the user's password, and return the settings of the simple auth manager."""
    passwords = home / "passwords.json"
    passwords.touch(mode=0o600)
    passwords.write_text(json.dumps({login.username: login.password}))
    manager = "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER"
    return {
        f"{manager}_ALL_ADMINS": "False",
        f"{manager}_USERS": f"{login.username}:admin",
        f"{manager}_PASSWORDS_FILE": str(passwords),
    }


def _environment_file(home: Path) -> Path:
    return home / "environment.json"


def _url(ports: Sequence[int]) -> str:
    return f"http://{_LOCAL}:{ports[0]}"


def _session() -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # a proxy of the environment can't reach 127.0.0.1
    return session
