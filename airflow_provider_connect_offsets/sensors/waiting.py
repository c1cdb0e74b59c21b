"""The base of the sensors, which wait in a worker's slot or, deferred, in a triggerer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSensorTimeout, AirflowSkipException, conf
from airflow.sdk import BaseSensorOperator

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.hooks.failures import fail_clearly, raise_failure
from airflow_provider_connect_offsets.hooks.settings import GuardedParameters
from airflow_provider_connect_offsets.offsets.requests.fields import fields_of

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.triggers.waiting import WaitingTrigger

_TRIGGERS = "airflow_provider_connect_offsets.triggers"


class WaitingSensor(GuardedParameters, BaseSensorOperator):
    """Waits until its trigger observes the awaited state.

    ``deferrable`` frees the worker's slot while it waits. ``poke_interval`` is the longest pause between two
    observations in seconds; a deferred sensor starts with shorter ones. In either mode an error that may pass by itself
    (a worker or broker that is down, a rebalance) is waited out, and any other fails the task at once. After
    ``timeout`` seconds the task fails with the last observation. None of these failures is retried.
    """

    #: Module and class of the trigger in the package ``triggers``, which is imported only when it is needed.
    trigger_name: ClassVar[str]
    #: If the triggerer is gone, Airflow ends the task this many seconds after ``timeout``.
    GRACE = 60.0

    def __init__(
        self,
        *,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.deferrable = deferrable
        self.until: float | None = None
        self._last = ""

    def trigger(self) -> WaitingTrigger:
        """Return the trigger, with the values of ``parameters``."""
        module, _, name = self.trigger_name.partition(".")
        awaited = {field: getattr(self, field) for field in fields_of(*self.parameters)}
        trigger: type[WaitingTrigger] = getattr(import_module(f"{_TRIGGERS}.{module}"), name)
        return trigger(**awaited, most=float(self.poke_interval), until=self.until)

    def execute(self, context: Context) -> None:
        """Wait here, or observe once and then defer to a triggerer."""
        with self._soft_failing():
            if not self.deferrable:
                try:
                    super().execute(context)
                except AirflowSensorTimeout as error:
                    raise self._too_late(self._last) from error
            elif not self.poke(context):
                self.until = time.time() + float(self.timeout)
                grace = timedelta(seconds=float(self.timeout) + self.GRACE)
                self.defer(trigger=self.trigger(), method_name="execute_complete", timeout=grace)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> None:
        """Finish after the trigger's event; fails if the state was not reached in time, or never can be."""
        del context
        with fail_clearly():
            raise_failure(event)
        if not event["reached"]:
            raise self._too_late(event["message"])
        self.log.info(event["message"])

    def poke(self, context: Context) -> bool:
        """Observe once."""
        del context
        try:
            with fail_clearly():
                observed = self.trigger().observe()
        except ConnectOffsetsError as error:
            self.log.warning("%s Trying again.", error)
            self._last = str(error)
            return False
        self.log.info(observed.sentence)
        self._last = observed.sentence
        return observed.reached

    def _too_late(self, message: str) -> AirflowSensorTimeout:
        return AirflowSensorTimeout(f"Not reached after {float(self.timeout):g} s: {message}")

    @contextmanager
    def _soft_failing(self) -> Iterator[None]:
        """Apply ``soft_fail`` and ``never_fail``, also to a task that returns from a triggerer."""
        try:
            yield
        except (AirflowFailException, AirflowSensorTimeout) as error:
            if not self.soft_fail and not self.never_fail:
                raise
            name = "soft_fail" if self.soft_fail else "never_fail"
            raise AirflowSkipException(f"Skipping, because {name} is set to True.") from error
