"""The process in which the demo's DAG runs take place, one after the other, so that Airflow is imported only once.

Orders come as lines of JSON: ``{"dag_id": …, "conf": {…}, "log": path}``. The answer is a line each:
``{"run_id": …, "state": …, "tasks": {…}}``. All output of Airflow and Spark goes to the log of the run.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow.sdk import DAG

_STDOUT, _STDERR = 1, 2


def main(log: Path) -> None:
    """Make Airflow ready, then carry out orders until standard input ends."""
    answers = os.fdopen(os.dup(_STDOUT), "w")
    _write_all_to(log)
    orders: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    _make_ready()
    while True:
        order = orders.get()
        _write_all_to(Path(order["log"]))
        print(json.dumps(_run(order["dag_id"], order["conf"])), file=answers, flush=True)


def _listen(orders: queue.Queue[dict[str, Any]]) -> None:
    for line in sys.stdin:
        orders.put(json.loads(line))
    # The demo has ended: end all children as well, spark-submit included.
    os.killpg(0, signal.SIGKILL)


def _write_all_to(log: Path) -> None:
    """Redirect this process's output, and that of its children, to a file."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(file, _STDOUT)
    os.dup2(file, _STDERR)
    os.close(file)


def _make_ready() -> None:
    from airflow.utils.db import initdb  # noqa: PLC0415 - takes seconds, and writes

    initdb()


def _load_dag(dag_id: str) -> DAG:
    from sandbox.airflow import DAGS, parse_dags  # noqa: PLC0415

    return parse_dags(DAGS / f"{dag_id}.py")[dag_id]


def _run(dag_id: str, conf: dict[str, Any]) -> dict[str, Any]:
    dag = _load_dag(dag_id)  # anew, as `test` leaves its Params in the DAG
    ended = dag.test(run_conf=conf)
    if ended is None:
        return {"run_id": "", "state": "failed", "tasks": {}}
    states = {task.task_id: str(task.state) for task in ended.get_task_instances()}
    tasks = {task_id.rpartition(".")[2]: states[task_id] for task_id in dag.task_ids}
    return {"run_id": ended.run_id, "state": str(ended.state), "tasks": tasks}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
