"""What the sensors have in common: one look at a time, in a worker's slot or, deferred, in a triggerer."""

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
from airflow_provider_connect_offsets.hooks.failures import failing_clearly, raise_failure
from airflow_provider_connect_offsets.parameters.fields import fields_of
from airflow_provider_connect_offsets.parameters.taking import TakesParameters

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.triggers.waiting import WaitingTrigger

_TRIGGERS = "airflow_provider_connect_offsets.triggers"


class WaitingSensor(TakesParameters, BaseSensorOperator):
    """Waits for what its trigger looks at; ``deferrable`` frees the worker's slot meanwhile.

    ``poke_interval`` is the longest time between two looks; a deferred sensor begins with short ones. Either way, what
    may pass by itself (a worker or broker that is down, a rebalance) is waited for, what waiting can't mend fails the
    task at once, and the end of ``timeout`` (seconds) fails it with what was seen last; none of these is retried.
    """

    #: Module and class of the trigger, in the room ``triggers``; imported when it is needed.
    trigger_name: ClassVar[str]
    #: Airflow ends a task whose triggerer is gone so many seconds after a living one would have.
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
        self._seen = ""

    def trigger(self) -> WaitingTrigger:
        """Return the trigger that awaits what the parameters say."""
        module, _, name = self.trigger_name.partition(".")
        awaited = {one: getattr(self, one) for one in fields_of(*self.parameters)}
        made: type[WaitingTrigger] = getattr(import_module(f"{_TRIGGERS}.{module}"), name)
        return made(**awaited, most=float(self.poke_interval), until=self.until)

    def execute(self, context: Context) -> None:
        """Wait here, or look once and leave the rest to a triggerer."""
        with self._skipping_if_asked():
            if not self.deferrable:
                try:
                    super().execute(context)
                except AirflowSensorTimeout as error:
                    raise self._too_late(self._seen) from error
            elif not self.poke(context):
                self.until = time.time() + float(self.timeout)
                grace = timedelta(seconds=float(self.timeout) + self.GRACE)
                self.defer(trigger=self.trigger(), method_name="execute_complete", timeout=grace)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> None:
        """Go on; fails where it can never be reached, and where it was not reached in time."""
        del context
        with failing_clearly():
            raise_failure(event)
        if not event["reached"]:
            raise self._too_late(event["message"])
        self.log.info(event["message"])

    def poke(self, context: Context) -> bool:
        """Look once."""
        del context
        try:
            with failing_clearly():
                seen = self.trigger().observe()
        except ConnectOffsetsError as error:
            self.log.warning("%s Looking again.", error)
            self._seen = str(error)
            return False
        self.log.info(seen.sentence)
        self._seen = seen.sentence
        return seen.reached

    def _too_late(self, seen: str) -> AirflowSensorTimeout:
        return AirflowSensorTimeout(f"It was waited for {float(self.timeout):g} s, and is not there yet: {seen}")

    @contextmanager
    def _skipping_if_asked(self) -> Iterator[None]:
        """``soft_fail`` and ``never_fail``, as Airflow has them for a task that comes back from a triggerer."""
        try:
            yield
        except (AirflowFailException, AirflowSensorTimeout) as error:
            if not self.soft_fail and not self.never_fail:
                raise
            name = "soft_fail" if self.soft_fail else "never_fail"
            raise AirflowSkipException(f"Skipping due to {name} is set to True.") from error
