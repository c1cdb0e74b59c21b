"""Fixtures of the fault matrix, and the matrix as a table at the end of the run."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sandbox import Sandbox
from tests.support.faults.fault_cell import STEPS, Scenes
from tests.support.faults.fault_table import Ending, Note, table, task_table
from tests.support.faults.rows import remove_made
from tests.support.flows.flow_changer import FlowChanger
from tests.support.flows.flows import Changer

SEED = "FAULT_SEED"
# Of these tests `FAULT_SHARE` draws a share.
_SAMPLED = ("test_generated", "test_zombies", "test_storm")


@pytest.fixture(scope="session")
def scenes(sandbox: Sandbox, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scenes]:
    """The connectors that are changed."""
    shared = Scenes(sandbox, spark, tmp_path_factory.mktemp("faults"))
    yield shared
    shared.close()


@pytest.fixture
def flows(sandbox: Sandbox, spark: SparkSession, tmp_path: Path) -> FlowChanger:
    """Resets of flows on the shared sandbox."""
    return FlowChanger.on(sandbox, tmp_path.as_uri(), spark)


@pytest.fixture
def creator(sandbox: Sandbox, tmp_path: Path) -> Iterator[Changer]:
    """Opens clients; nothing is planned on Spark here, and nothing is left at the end."""
    cluster = str(sandbox.target.cluster_id())
    spark: Any = None
    yield Changer(spark, tmp_path.as_uri(), sandbox.connect.url, sandbox.target, cluster, timeout=20)
    remove_made(sandbox)


@pytest.fixture
def note(record_property: Callable[[str, object], None]) -> Note:
    """Write into the table how a cell ended."""
    return _noting(record_property, "cell")


@pytest.fixture
def note_generated(record_property: Callable[[str, object], None]) -> Note:
    """The same, for the table of generated cells: a column for each operation."""
    return _noting(record_property, "generated")


def _noting(record_property: Callable[[str, object], None], table_of: str) -> Note:
    def write(fault: str, step: str, kind: str, ending: Ending) -> None:
        record_property(table_of, (str(fault), str(step), str(kind), str(ending)))

    return write


def pytest_configure() -> None:
    """Draw the random kill points, the same ones again where a seed is given."""
    os.environ.setdefault(SEED, str(random.SystemRandom().randrange(10**6)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With ``FAULT_SHARE=3``, of the generated cells that are not ``long`` only every third is not."""
    share, first = int(os.environ.get("FAULT_SHARE", "1")), int(os.environ[SEED])
    sampled = [item for item in items if item.path.name.startswith(_SAMPLED) and not item.get_closest_marker("long")]
    for index, item in enumerate(sampled):
        if (index + first) % share:
            item.add_marker(pytest.mark.long)


def pytest_report_header() -> str:
    """Say how to draw the same kill points again."""
    return f"random kill points: {SEED}={os.environ[SEED]}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the matrices."""
    reports = [report for found in ("passed", "failed") for report in terminalreporter.stats.get(found, [])]
    noted = [(name, tuple(value)) for report in reports for name, value in report.user_properties]
    for kind, title, columns in (("cell", "fault matrix", list(STEPS)), ("generated", "each call broken", [])):
        cells = [value for name, value in noted if name == kind]
        if cells:
            terminalreporter.section(f"{title}: {len(cells)} cells ({SEED}={os.environ[SEED]})")
            terminalreporter.write_line(table(cells, columns))
    tasks = [value for name, value in noted if name == "task"]
    if tasks:
        terminalreporter.section(f"each task broken: {len(tasks)} cells")
        terminalreporter.write_line(task_table(tasks))
