"""Each task of each task group fails, times out or is killed under a real scheduler."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sandbox import Sandbox
from tests.support.airflow.task_cell_runner import CellRunner, scheduler
from tests.support.airflow.task_cells import Cell, each_cell
from tests.support.programs.warm_spark import WarmSpark

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def lanes(
    request: pytest.FixtureRequest, sandbox: Sandbox, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CellRunner]:
    """All cells of this session, under way."""
    own = [
        item for item in request.session.items if isinstance(item, pytest.Function) and item.module is request.module
    ]
    cells = [cell for item in own if isinstance(cell := item.callspec.params["cell"], Cell)]
    folder = tmp_path_factory.mktemp("tasks")
    with (
        # A socket's path is limited to about 100 characters, which pytest's own folders may exceed.
        tempfile.TemporaryDirectory(prefix="connect-offsets-") as beside,
        WarmSpark(spark).serve(Path(beside)) as spark_submit,
        scheduler(sandbox, folder, spark_submit) as runs,
        CellRunner(sandbox, runs, cells).running() as started,
    ):
        yield started


@pytest.mark.parametrize("cell", each_cell())
def test_a_task_that_breaks_leaves_all_or_nothing(
    cell: Cell, lanes: CellRunner, record_property: Callable[[str, object], None]
) -> None:
    """Its run's state is true, what ran before runs, and the operation is in effect as a whole or not at all."""
    ending = lanes.ending(cell)

    record_property("task", (cell.dag_id, cell.name, str(cell.fault), ending))
