"""Run cells of broken tasks side by side, each on a scene of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock

from sandbox import Sandbox
from sandbox.airflow import AirflowStandalone
from tests.support.airflow.task_cells import SCENES, Cell
from tests.support.airflow.task_runs import Runs
from tests.support.airflow.task_scenes import Scene

_DAG_FILE = """
from tests.support.airflow.breaking_tasks import breakable

dag = breakable({dag_id!r})  # of airflow
"""


@contextmanager
def scheduler(sandbox: Sandbox, folder: Path, spark_submit: Path) -> Iterator[Runs]:
    """A real Airflow with the DAGs whose tasks break; ``spark_submit``: the folder of that program."""
    dags, workspace = folder / "dags", folder / "workspace"
    dags.mkdir()
    for dag_id in SCENES:
        (dags / f"{dag_id}.py").write_text(_DAG_FILE.format(dag_id=dag_id))
    path = os.pathsep.join((str(spark_submit), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    settings = {
        "PATH": path,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),  # Airflow's processes import what pytest imports
        "AIRFLOW__CORE__PARALLELISM": "3",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS": "tests.support.airflow.sqlite_connect_args.CONNECT_ARGS",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS_ASYNC": "tests.support.airflow.sqlite_connect_args.CONNECT_ARGS",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",  # the files stay as they are
    }
    airflow = AirflowStandalone(sandbox, workspace=workspace, dags=dags, settings=settings)
    airflow.start()
    try:
        for dag_id in SCENES:
            airflow.wait_for_dag(dag_id)
        yield Runs(airflow, workspace.as_uri())
    finally:
        airflow.close()


class CellRunner:
    """Runs the cells of a test session in the background, one after the other on each scene."""

    def __init__(self, sandbox: Sandbox, runs: Runs, cells: Sequence[Cell]) -> None:
        self._sandbox = sandbox
        self._runs = runs
        self._queues: dict[str, SimpleQueue[tuple[Cell, Future[str]]]] = {dag_id: SimpleQueue() for dag_id in SCENES}
        self._endings: dict[Cell, Future[str]] = {}
        self._setting = Lock()
        for cell in cells:
            self._endings[cell] = self._add(cell)

    @contextmanager
    def running(self) -> Iterator[CellRunner]:
        """Run the cells until the end of the block."""
        lanes = {dag_id: min(SCENES[dag_id][1], queue.qsize()) for dag_id, queue in self._queues.items()}
        with ThreadPoolExecutor(max_workers=max(1, sum(lanes.values()))) as pool:
            try:
                for dag_id, count in lanes.items():
                    for _ in range(count):
                        pool.submit(self._work, dag_id)
                yield self
            finally:
                self._runs.close()

    def ending(self, cell: Cell) -> str:
        """Wait for a cell and return its ending, or raise its failure. A second call runs it again."""
        future = self._endings.pop(cell, None)
        if future is None:
            future = self._add(cell)
            self._work(cell.dag_id)
        return future.result()

    def _add(self, cell: Cell) -> Future[str]:
        future: Future[str] = Future()
        self._queues[cell.dag_id].put((cell, future))
        return future

    def _work(self, dag_id: str) -> None:
        """Run the queued cells of a DAG; after a failed one the next cell gets a new scene."""
        scene: Scene | None = None
        with suppress(Empty):
            while not self._runs.closed:
                cell, future = self._queues[dag_id].get_nowait()
                try:
                    scene = scene or self._set_scene(dag_id)
                    future.set_result(cell.make(scene, self._runs))
                except BaseException as error:  # noqa: BLE001 - who waits for the cell gets it
                    future.set_exception(error)
                    self._close(scene)
                    scene = None
        self._close(scene)

    def _set_scene(self, dag_id: str) -> Scene:
        with self._setting:  # all of them at once would be too much for the sandbox's servers
            return SCENES[dag_id][0].start(self._sandbox, self._runs)

    @staticmethod
    def _close(scene: Scene | None) -> None:
        if scene is not None:
            with suppress(Exception):  # the sandbox goes with all that is in it
                scene.close()
