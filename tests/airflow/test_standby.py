"""The driver that waits for a flow to be stopped: it never outlives its task, and no failure of it is lost."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from typing import Any, NoReturn, cast

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG

from airflow_provider_connect_offsets.exceptions import Unreachable, WorkspaceUnwritable
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.operators.failover_flow import (
    BeginFailoverOperator,
    FailoverOperator,
    ReleaseFlowOperator,
)
from airflow_provider_connect_offsets.operators.shared import standby
from airflow_provider_connect_offsets.operators.shared.spark import SparkJobOperator
from airflow_provider_connect_offsets.operators.shared.standby import Standby
from airflow_provider_connect_offsets.pipeline.class_archive import quick_start
from airflow_provider_connect_offsets.pipeline.shipping import QUICK_START
from airflow_provider_connect_offsets.task_groups.failover import mirror_failover
from airflow_provider_connect_offsets.task_groups.wiring import RETRIES
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, StandbyDirectory
from sandbox import wait_until
from tests.support.airflow.orphan_runs import execute


@dataclass
class MadeUpDriver:
    """A driver that does what a test says; ``killed``: whether its operator was told to kill it."""

    directory: StandbyDirectory
    ends: Callable[[MadeUpDriver], None]
    killed: Event = field(default_factory=Event)
    over: bool = False

    def submit(self, context: Any) -> None:
        del context
        try:
            self.ends(self)
        finally:
            self.over = True

    def on_kill(self) -> None:
        self.killed.set()

    def get_ready(self) -> None:
        files.write_bytes(self.directory.ready, b"")

    def is_observed(self) -> bool:
        """Whether it is told to translate, rather than that nobody wants it."""
        told = "nobody tells the driver anything"
        wait_until(lambda: files.exists(self.directory.observed) or not files.exists(self.directory.wanted), 60, told)
        return files.exists(self.directory.observed)


@pytest.fixture
def final(workspace: str) -> FailoverDirectory:
    return FailoverDirectory(workspace).final_directory


@pytest.fixture
def directory(final: FailoverDirectory) -> StandbyDirectory:
    return StandbyDirectory(f"{final.standby}/one")


def stand_by(driver: MadeUpDriver) -> Standby:
    return Standby(driver.directory, cast("SparkJobOperator", driver), cast("Any", None))


def _translate(driver: MadeUpDriver) -> None:
    driver.get_ready()
    assert driver.is_observed()


def _stop_waiting(driver: MadeUpDriver) -> None:
    driver.get_ready()
    assert not driver.is_observed()


def _fail(driver: MadeUpDriver) -> None:
    del driver
    raise RuntimeError("spark-submit ended with 1")


def _refuse(driver: MadeUpDriver) -> None:
    del driver
    raise AirflowFailException("there is no spark-submit on the path of this Airflow worker")


def _translate_in_vain(driver: MadeUpDriver) -> None:
    _translate(driver)
    _fail(driver)


def _hang(driver: MadeUpDriver) -> None:
    driver.killed.wait()


def test_it_is_ready_before_the_block_goes_on(directory: StandbyDirectory) -> None:
    """And has translated when ``translate`` returns; nothing of it is left."""
    driver = MadeUpDriver(directory, _translate)
    with stand_by(driver) as waiting:
        waiting.await_ready()
        assert files.exists(directory.ready)
        waiting.translate()
        assert driver.over

    assert not driver.killed.is_set()
    assert files.list_names(directory.uri) == []


def test_one_that_can_not_start_ends_the_task_before_anything_is_stopped(directory: StandbyDirectory) -> None:
    """The error is that of spark-submit."""
    with pytest.raises(RuntimeError, match="spark-submit ended with 1"), stand_by(MadeUpDriver(directory, _fail)) as it:
        it.await_ready()


def test_a_worker_without_spark_goes_on(directory: StandbyDirectory, caplog: pytest.LogCaptureFixture) -> None:
    """The tasks that run Spark may have a queue of their own; one of them translates."""
    with stand_by(MadeUpDriver(directory, _refuse)) as waiting:
        waiting.await_ready()
        waiting.translate()

    assert "there is no spark-submit on the path" in caplog.text
    assert "No Spark driver is ready" in caplog.text


def test_an_error_of_the_block_ends_it(directory: StandbyDirectory) -> None:
    """It is told that nobody needs it; the error is the block's."""
    driver = MadeUpDriver(directory, _stop_waiting)
    with pytest.raises(ZeroDivisionError), stand_by(driver):
        1 / 0  # noqa: B018 - the error counts

    assert driver.over
    assert not driver.killed.is_set()


def test_one_that_gets_no_room_is_killed(directory: StandbyDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block goes on without it, and a later task translates."""
    monkeypatch.setattr(standby, "_READY_WITHIN", 0.1)
    monkeypatch.setattr(standby, "_ENDS_WITHIN", 0.1)
    driver = MadeUpDriver(directory, _hang)
    with stand_by(driver) as waiting:
        waiting.await_ready()
        waiting.translate()

    assert driver.killed.is_set()
    assert driver.over


def test_a_failure_after_the_stop_is_left_to_the_next_task(
    directory: StandbyDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    """The observation stays, and the log says why the driver failed."""
    with stand_by(MadeUpDriver(directory, _translate_in_vain)) as waiting:
        waiting.await_ready()
        waiting.translate()

    assert "The waiting Spark driver failed, so the next task translates." in caplog.text
    assert "spark-submit ended with 1" in caplog.text


def test_a_workspace_that_can_not_be_written_leaves_no_driver(
    directory: StandbyDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can't be told, so it is killed."""
    monkeypatch.setattr(standby, "_ENDS_WITHIN", 0.1)
    driver = MadeUpDriver(directory, _hang)
    with monkeypatch.context() as patch, stand_by(driver):
        patch.setattr(files, "locate", _fail_to_write)

    assert driver.killed.is_set()
    assert files.list_names(directory.uri) == ["wanted"]


@pytest.mark.parametrize("task", [BeginFailoverOperator, ReleaseFlowOperator])
def test_a_driver_whose_task_was_killed_is_ended_by_the_next_task(
    final: FailoverDirectory,
    directory: StandbyDirectory,
    workspace: str,
    monkeypatch: pytest.MonkeyPatch,
    task: type[FailoverOperator],
) -> None:
    """The next attempt does it at first, and so does the teardown. Such a driver would keep its cores for an hour."""
    files.write_bytes(directory.wanted, b"")
    driver = MadeUpDriver(directory, _stop_waiting)
    request = FailoverRequest.parse(flow=Flow(), source_connector="mirror", groups=".*")
    files.write_json(FailoverDirectory(workspace).request, request.as_json())
    monkeypatch.setattr(FailoverOperator, "open_flow", _fail_to_open)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(driver.submit, None)
        wait_until(lambda: files.exists(directory.ready), 60, "the driver is not ready")
        with pytest.raises(Unreachable, match="no answer"):
            execute(task(task_id="next", run_uri=workspace))
        waiting.result()

    assert files.list_names(final.standby) == []


def _fail_to_open(*_: Any, **__: Any) -> NoReturn:
    raise Unreachable("no answer")


def _fail_to_write(uri: str) -> NoReturn:
    raise WorkspaceUnwritable(f"{uri} can't be written")


def test_it_is_submitted_as_the_other_jobs_and_runs_where_its_task_ran_before() -> None:
    """What ``spark`` says of Spark counts for it; the queue and the limits of the tasks that run Spark do not."""
    with DAG("a_failover", schedule=None) as dag:
        mirror_failover(
            source_connector="mirror",
            spark_conn_id="yarn",
            spark={"conf": {"spark.executor.memory": "4g"}, "queue": "spark", "retries": 0},
        )

    begin, preview = (cast("Any", dag.get_task(f"failover.{name}")) for name in ("begin", "preview"))

    assert (begin.conf, begin._conn_id) == (preview.conf, preview._conn_id) == ({"spark.executor.memory": "4g"}, "yarn")
    assert (preview.queue, preview.retries) == ("spark", 0)
    assert (begin.queue, begin.retries) == ("default", RETRIES["retries"])
    assert {"source_connector", "conf", "run_uri"} & set(begin.template_fields) == {"conf", "run_uri"}


def test_a_driver_that_stands_by_has_time_for_the_second_compiler() -> None:
    """Other jobs end before it pays off."""
    assert quick_start("", is_short=BeginFailoverOperator.is_short) == {"SPARK_SUBMIT_OPTS": ""}
    assert quick_start("", is_short=SparkJobOperator.is_short) == {"SPARK_SUBMIT_OPTS": QUICK_START}
