"""The stage that lets a sink run with one record a poll until it fails, with its own configuration restored."""

from __future__ import annotations

import logging
from collections.abc import Callable

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import NotApplied, Rejected, UnknownConnector
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.failed_records import FailedSink, observe_sink
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.operations.stages.captured import ONE_BY_ONE
from airflow_provider_connect_offsets.operations.stages.connector_stages import deletion_error
from airflow_provider_connect_offsets.operations.stages.settings_stages import SettingsStage
from airflow_provider_connect_offsets.saga import Done, Found, JsonMap, StageState, Undoing

log = logging.getLogger(__name__)


def one_by_one(topic: str) -> dict[str, str]:
    """Return the settings of a run with one record a poll, in which Connect reports failures to ``topic``.

    With one record a poll, all records before the one that fails are delivered and committed. Connect creates the
    topic, with the brokers' default replication factor.
    """
    return {
        "consumer.override.max.poll.records": "1",
        "errors.deadletterqueue.topic.name": topic,
        "errors.deadletterqueue.topic.replication.factor": "-1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }


class RunOneByOne(SettingsStage):
    """Lets a stopped sink run with one record a poll until it fails again, and stops it.

    The settings that it changes have their prior values again when it is done, and when it is undone.

    Args:
        connector: Name of the sink, which is STOPPED.
        clients: Clients of its Connect cluster.
        topic: Where Connect reports the record.
    """

    title = ONE_BY_ONE
    arguments = ("topic",)

    def __init__(self, connector: str, clients: Clients, topic: str) -> None:
        super().__init__(connector, clients, one_by_one(topic))
        self.topic = topic

    def do(self, captured: JsonMap) -> Done:
        """Change the settings, run, stop, and restore the settings; raises :class:`NotApplied` and store errors.

        Warns of settings that someone else has changed meanwhile.
        """
        self.configure(self.settings)
        before = observe_sink(self._clients, self.subject)
        steps.request_state(self._clients, self.subject, State.RUNNING)
        ended = self._clients.settle(lambda: observe_sink(self._clients, self.subject), until=_has_ended(before))
        steps.stop(self._clients, self.subject)
        left = self.restore(captured).strip()
        return Done((left,) if left else (), {"failed": ended.has_failed})

    def find(self, captured: JsonMap) -> StageState:
        """Return DONE if the settings have their prior values."""
        try:
            config = self._clients.control.info(self.subject).config
        except UnknownConnector as error:
            return StageState(Found.FOREIGN, deletion_error(error))
        if self.list_left(config, captured):
            return StageState(
                Found.PARTIAL,
                NotApplied(f"{self.subject!r} does not have its own settings again: {', '.join(self.settings)}."),
            )
        return StageState(Found.DONE)

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Stop the sink, and restore the settings.

        Returns:
            A sentence about settings that someone else has changed meanwhile, which are left as they are.

        Raises:
            NotApplied: The prior values could not be read back.
            Interfered: Someone has deleted the sink.
            StoreError: Connect does not answer, or refuses.
        """
        try:
            self._stop(captured)
            # Even if the prior values are read back: a request that was given up may still be in flight, and Connect
            # carries this one out after it.
            return self.restore(captured, always=not undoing.returned)
        except UnknownConnector as error:
            raise deletion_error(error) from error

    def _stop(self, captured: JsonMap) -> None:
        """Stop the sink; with settings that Connect refuses, Strimzi's operator does so only once they are restored."""
        try:
            steps.stop(self._clients, self.subject)
        except Rejected as error:
            log.warning("%s Restoring its settings first.", error)
            self.restore(captured, always=True)
            steps.await_stopped(self._clients, self.subject)


def _has_ended(before: FailedSink) -> Callable[[FailedSink], bool]:
    """Return a test for the end of a run: the sink has failed again, or has read all that was there."""
    ends = {where: before.bounds[where].log_end for where in before.unread_counts}

    def has_ended(now: FailedSink) -> bool:
        return now.has_failed or all((now.positions.get(where) or 0) >= end for where, end in ends.items())

    return has_ended
