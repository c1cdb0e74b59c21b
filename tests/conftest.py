"""Fixtures of all tests: one sandbox, one Airflow home, one Spark session, each created when a test requests it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from airflow_provider_connect_offsets.pipeline.shipping import QUICK_START
from sandbox import Sandbox
from tests.support.flows.flows import Changer, MirrorFlow, SinkFlow
from tests.support.shares import Share

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.programs.object_store import ObjectStore

# How long an example takes says how busy the machine is, and nothing about the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

#: The markers of suites: each is run by the make target that pyproject.toml names for it; `make test` runs the rest.
SUITES = {"browser", "cluster", "faults", "jobs", "kubernetes", "mirror", "processes", "quickstart", "versions"}

#: Garbage collection is a seventh of the time of a session that starts with the JVM's default sizes.
ROOMY = "-Xms1g -Xmn512m -XX:MetaspaceSize=256m"

#: Imported after this module.
pytest_plugins = ["tests.support.airflow.fixtures"]

# Airflow reads its configuration when it is first imported, so this must stand before any test module.
AIRFLOW_HOME = Path(tempfile.mkdtemp(prefix="connect-offsets-airflow-"))
DAG_FOLDERS = {
    "ready": Path(__file__).parents[1] / "dags",
    "tests": Path(__file__).with_name("airflow") / "dags",
    "written": AIRFLOW_HOME / "written",  # by tests
}
os.environ.update(
    AIRFLOW_HOME=str(AIRFLOW_HOME),
    XDG_STATE_HOME=str(AIRFLOW_HOME / "state"),  # where the shell keeps journals
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__CORE__DAGS_FOLDER=str(DAG_FOLDERS["ready"]),
    AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST=json.dumps(
        [
            {
                "name": name,
                "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
                "kwargs": {"path": str(folder)},
            }
            for name, folder in DAG_FOLDERS.items()
        ]
    ),
)


def pytest_configure() -> None:
    """Draw a share before the processes of a parallel run start, as all of them need the same one."""
    Share.of_environment()


def pytest_report_header() -> str | None:
    """Say how to run the same share again."""
    share = Share.of_environment()
    return str(share) if share.every > 1 else None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Refuse tests that belong to two suites, as both would run them. Of those that are selected, keep the share."""
    marks = {item.nodeid: SUITES & {mark.name for mark in item.iter_markers()} for item in items}
    if several := [name for name, suites in marks.items() if len(suites) > 1]:
        raise pytest.UsageError(f"Each test needs at most one of the markers {sorted(SUITES)}: {', '.join(several)}")
    yield
    items[:], left = Share.of_environment().split(items)
    config.hook.pytest_deselected(items=left)


def pytest_runtest_setup() -> None:
    """Start no test after the moment at which the share has to end."""
    if Share.of_environment().is_over:
        pytest.skip("SUITE_ENDS has passed")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print why a test that was tried once more had failed at first, as its second failure may have another cause."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"first try of {report.nodeid}")
        terminalreporter.line(report.longreprtext)


@pytest.fixture(scope="session", autouse=True)
def _airflow_home() -> Iterator[None]:
    yield
    shutil.rmtree(AIRFLOW_HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """Two real Kafka clusters and a Connect worker."""
    with Sandbox(keep_logs=Path("build/sandbox-logs")) as running:
        yield running


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A Spark session with a JVM of its own."""
    from pyspark.sql import SparkSession

    from airflow_provider_connect_offsets.pipeline.session import SMALL

    session = (
        # Each of the processes that `make test` starts has one, on two cores; what it works on is tiny.
        SparkSession.builder.master("local[1]")
        .appName("tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config(map={**SMALL})
        # The JVM's second compiler, collectors with threads of their own, and a heap and metaspace that grow in small
        # steps cost more than a third of the time.
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", f"{QUICK_START} -XX:+UseSerialGC {ROOMY}")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.python.sql.dataFrameDebugging.enabled", "false")  # a tenth of the time of a plan
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark_master() -> Iterator[str]:
    """The master of a Spark cluster with two workers."""
    from tests.support.programs.spark_cluster import spark_cluster

    with spark_cluster() as master:
        yield master


@pytest.fixture(scope="session")
def store() -> Iterator[ObjectStore]:
    """An object store, to which the environment leads."""
    from tests.support.programs.object_store import object_store

    with object_store() as started:
        yield started


@pytest.fixture
def source_changer(sandbox: Sandbox, spark: SparkSession, workspace: str) -> Changer:
    """Changes connectors whose positions refer to the source cluster."""
    return Changer(spark, workspace, sandbox.connect.url, sandbox.source)


@pytest.fixture
def target_changer(sandbox: Sandbox, spark: SparkSession, workspace: str) -> Changer:
    """Changes connectors whose positions refer to the worker's own cluster."""
    return Changer(spark, workspace, sandbox.connect.url, sandbox.target)


@pytest.fixture
def mirror(sandbox: Sandbox) -> Iterator[MirrorFlow]:
    """A running MirrorSource that has caught up."""
    flow = MirrorFlow.start(sandbox)
    yield flow
    sandbox.connect.delete(flow.name)


@pytest.fixture
def sink(sandbox: Sandbox) -> Iterator[SinkFlow]:
    """A running FileStreamSink that has caught up."""
    flow = SinkFlow.start(sandbox)
    yield flow
    sandbox.connect.delete(flow.name)
