"""Ready DAGs whose tasks break as the run's configuration requests, in Airflow's own processes.

``{"broken": {"change.apply": {"fault": "killed", "writes": [2, 0]}}}``: the first attempt of ``change.apply`` is killed
right after its second write to a worker or broker, the second attempt before it does anything; later ones are left
alone. An attempt that writes less is broken when all of its work is done, before Airflow hears of that.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from enum import StrEnum
from functools import partial, wraps
from threading import Lock
from typing import Any
from unittest.mock import patch

from airflow.sdk import DAG

from airflow_provider_connect_offsets import dags
from airflow_provider_connect_offsets.operators.replay.made import ReplayIntervalOperator
from tests.support.airflow.replay_dag import interval_replay

BROKEN = "broken"
# How often a task is tried again at most, and how soon: what is waited for here says nothing of the code.
RETRIES, RETRY_DELAY = 1, timedelta(seconds=1)
# How long a task may take whose operator has a limit of its own, and none of Airflow's.
_LIMIT = timedelta(minutes=10)
# Seconds after which a call that was over its time is answered all the same, in a thread that Airflow can't interrupt.
_LATE = 2.0


class Fault(StrEnum):
    """How a task breaks."""

    FAILED = "failed"
    TIMED_OUT = "timed out"
    KILLED = "killed"


def breakable(dag_id: str) -> DAG:
    """A ready DAG whose tasks break as the run's configuration requests; many runs at once are allowed."""
    make: Callable[..., DAG] = interval_replay if dag_id == interval_replay.__name__ else getattr(dags, dag_id)
    dag = make(max_active_runs=16)
    for task in dag.tasks:
        if isinstance(task, ReplayIntervalOperator):
            task.execution_timeout = _LIMIT
        if task.execution_timeout is None:
            raise ValueError(f"{task.task_id} may take forever, so it can't time out")
        task.retries, task.retry_delay = min(task.retries or 0, RETRIES), RETRY_DELAY
        task.execute = _execute  # type: ignore[method-assign, union-attr]
    return dag


def _execute(context: Any) -> Any:
    task = context["task"]
    execute = partial(type(task).execute, task, context)
    broken: Mapping[str, Any] = (context["dag_run"].conf or {}).get(BROKEN, {}).get(task.task_id, {})
    writes = dict(enumerate(broken.get("writes", ()), start=1)).get(context["ti"].try_number)
    if writes is None:
        return execute()
    strike = partial(_strike, Fault(broken["fault"]))
    if writes == 0:
        strike()
    with _after_write(writes, strike):
        result = execute()
    strike()
    return result


def _strike(fault: Fault) -> None:
    if fault is Fault.KILLED:
        os.kill(os.getpid(), signal.SIGKILL)
    if fault is Fault.FAILED:
        raise RuntimeError("broken on purpose")
    # The rest of the task's time is up at once: Airflow's own alarm goes off while the call is under way.
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    time.sleep(_LATE)


@contextmanager
def _after_write(number: int, strike: Callable[[], None]) -> Iterator[None]:
    """Call ``strike`` after that many writes, before the caller gets the answer to the last one."""
    from airflow_provider_connect_offsets.connect.rest.calls import Transport
    from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
    from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
    from airflow_provider_connect_offsets.kafka.topic_writer import TopicWriter

    lock, made = Lock(), [0]
    writes: tuple[tuple[type, str, Callable[..., bool]], ...] = (
        (Transport, "send", lambda _self, call: call.changes),
        *(
            (owner, name, lambda *_: True)
            for owner, name in (
                (ConsumerGroups, "commit"),
                (ConsumerGroups, "delete"),
                (KafkaCluster, "_set"),
                (KafkaCluster, "_delete"),
                (TopicWriter, "write"),
            )
        ),
    )

    def counted(method: Callable[..., Any], is_write: Callable[..., bool]) -> Callable[..., Any]:
        @wraps(method)
        def call(*arguments: Any, **named: Any) -> Any:
            answer = method(*arguments, **named)
            if is_write(*arguments):
                with lock:
                    made[0] += 1
                    is_struck = made[0] == number
                if is_struck:
                    strike()
            return answer

        return call

    with ExitStack() as stack:
        for owner, name, is_write in writes:
            stack.enter_context(patch.object(owner, name, counted(getattr(owner, name), is_write)))
        yield
