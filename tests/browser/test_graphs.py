"""The graph of each DAG that docs/use-cases has, as Airflow draws it; `make pictures` copies the pictures to docs/."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import Sandbox
from sandbox.airflow import DAGS, AirflowStandalone, parse_dags
from tests.conftest import DAG_FOLDERS
from tests.support.airflow.airflow_ui import chromium_page
from tests.support.airflow.graph_picture import GraphPicture
from tests.support.airflow.pictured import refuse_old

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif("FORMS_SHARE" in os.environ, reason="for docs/ alone, and needs an Airflow of its own"),
]
PICTURES = Path("build/browser/graphs").absolute()
LARGEST = 60_000
READY = (
    "connector_offsets_backfill",
    "connector_offsets_change",
    "connector_offsets_copy",
    "connector_offsets_poison",
    "connector_offsets_restore",
    "connector_offsets_snapshot",
    "group_offsets_change",
)
OF_TESTS = ("new_mirror", "new_orders_sink", "old_orders_sink", "split_orders", "totals_again")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of these DAGs, and of no others."""
    folder = tmp_path_factory.mktemp("dags")
    for dags, names in ((DAGS, READY), (DAG_FOLDERS["tests"], OF_TESTS)):
        for name in names:
            shutil.copy(dags / f"{name}.py", folder)
    return folder


@pytest.fixture(scope="module")
def graphs(sandbox: Sandbox, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphPicture]:
    """A browser in front of an Airflow with these DAGs."""
    airflow = AirflowStandalone(sandbox, workspace=tmp_path_factory.mktemp("workspace"), dags=folder)
    airflow.start()
    try:
        for name in (*READY, *OF_TESTS):
            airflow.wait_for_dag(name)
        with chromium_page(width=1700, height=1300) as page:
            yield GraphPicture(page, airflow.url, PICTURES)
    finally:
        airflow.close()


@pytest.mark.parametrize("dag_id", [*READY, *OF_TESTS])
def test_its_graph_is_drawn(graphs: GraphPicture, folder: Path, dag_id: str) -> None:
    """All of its tasks are in the picture, which is small enough for a page."""
    tasks = {task.rpartition(".")[2] for task in parse_dags(folder / f"{dag_id}.py")[dag_id].task_ids}

    picture = graphs.draw(dag_id, tasks=tasks)

    assert picture.stat().st_size <= LARGEST
    refuse_old(dag_id, "".join(f"{task}\n" for task in sorted(tasks)), PICTURES)
