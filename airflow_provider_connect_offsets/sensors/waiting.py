"""What the sensors have in common: one look at a time, in a worker's slot or, deferred, in a triggerer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, conf
from airflow.sdk import BaseSensorOperator

from airflow_provider_connect_offsets.hooks.failures import failing_clearly

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.triggers.waiting import WaitingTrigger


class WaitingSensor(BaseSensorOperator, ABC):
    """Waits for what its trigger looks at; ``deferrable`` frees the worker's slot meanwhile.

    ``poke_interval`` is the longest time between two looks; a deferred sensor begins with short ones.
    """

    def __init__(
        self,
        *,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.deferrable = deferrable

    @abstractmethod
    def trigger(self) -> WaitingTrigger:
        """What is waited for."""

    def execute(self, context: Context) -> None:
        """Wait here, or look once and leave the rest to a triggerer."""
        if not self.deferrable:
            super().execute(context)
        elif not self.poke(context):
            self.defer(
                trigger=self.trigger(), method_name="execute_complete", timeout=timedelta(seconds=float(self.timeout))
            )

    def execute_complete(self, context: Context, event: dict[str, Any]) -> None:
        """Go on; fails where it can never be reached."""
        del context
        if not event["reached"]:
            raise AirflowFailException(event["message"])
        self.log.info(event["message"])

    def poke(self, context: Context) -> bool:
        """Look once."""
        del context
        with failing_clearly():
            seen = self.trigger().look()
        self.log.info(seen.sentence)
        return seen.reached
