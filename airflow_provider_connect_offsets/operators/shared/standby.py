"""A Spark driver that is up before a flow is stopped, and translates as soon as the stopped flow is observed."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Self

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_connect_offsets.exceptions import WorkspaceUnwritable
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, StandbyDirectory

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.operators.shared.spark import SparkJobOperator

log = logging.getLogger(__name__)

#: Seconds that a driver waits for the observation, after the time that replication may take to catch up.
STANDS_BY = 3600.0
# Seconds within which a driver must be ready; a cluster may have no room for it.
_READY_WITHIN = 300.0
_ENDS_WITHIN, _LOOKS_EVERY = 10.0, 0.25


def dismiss_drivers(observed: FailoverDirectory) -> None:
    """End the drivers that wait for this observation: those of tasks that were killed would wait for an hour.

    One that doesn't stand by yet ends when it does. If the workspace can't be written, they are left.
    """
    with suppress(WorkspaceUnwritable):
        files.remove_tree(observed.standby)


class Standby:
    """A driver of the job ``standby`` from the beginning to the end of a block; no driver is left after the block.

    If the process is killed before the end of the block, :func:`dismiss_drivers` ends it.

    Args:
        directory: Where it says that it is ready, and is told to go on.
        operator: Submits it.
        context: Of the operator.
    """

    def __init__(self, directory: StandbyDirectory, operator: SparkJobOperator, context: Context) -> None:
        self._directory, self._operator, self._context = directory, operator, context
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="standby")
        self._driver: Future[None]

    def __enter__(self) -> Self:
        """Submit the driver."""
        files.write_bytes(self._directory.wanted, b"")
        # In this context, or Airflow would take it for an operator that another one runs.
        self._driver = self._pool.submit(copy_context().run, self._operator.submit, self._context)
        return self

    def __exit__(self, *_error: object) -> None:
        """End the driver, unless it has ended, and remove its files."""
        # If the workspace can't be written, the driver is killed, and its files stay.
        with suppress(WorkspaceUnwritable):
            files.remove(self._directory.wanted)
        if wait([self._driver], _ENDS_WITHIN).not_done:
            self._operator.on_kill()
        self._pool.shutdown()
        with suppress(WorkspaceUnwritable):
            files.remove_tree(self._directory.uri)

    def await_ready(self) -> None:
        """Wait until the driver is ready, or for five minutes; return if Spark can't be started on this worker.

        Raises what else ended the driver before it was ready.
        """
        end = time.monotonic() + _READY_WITHIN
        while not files.exists(self._directory.ready):
            if self._driver.done():
                self._raise_failure()
            if self._driver.done() or time.monotonic() > end:
                log.warning("No Spark driver is ready, so the flow will be stopped for longer.")
                return
            wait([self._driver], _LOOKS_EVERY)

    def _raise_failure(self) -> None:
        try:
            self._driver.result()
        except AirflowFailException as error:  # the tasks that run Spark may have workers of their own
            log.warning("%s", error)
        except Exception:
            log.exception("Nothing was stopped, and no group was moved: the Spark driver ended before it was ready.")
            raise

    def translate(self) -> None:
        """Let the driver translate, and wait for its end; if it is not ready or fails, a later task must translate."""
        if not files.exists(self._directory.ready):
            return
        files.write_bytes(self._directory.observed, b"")
        try:
            self._driver.result()
        except Exception:  # what a driver may meet, the later task may not
            log.warning("The waiting Spark driver failed, so the next task translates.", exc_info=True)
