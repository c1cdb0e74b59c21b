"""Stages that change settings of a connector, for good or for a run with one record a poll; prior values are kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import (
    Drift,
    NotApplied,
    OutcomeUnknown,
    Rejected,
    UnknownConnector,
)
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.failed_records import FailedSink, observe_sink
from airflow_provider_connect_offsets.offsets.family import Config
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.operations.stages.captured import CONFIGURE, ONE_BY_ONE, TRY
from airflow_provider_connect_offsets.operations.stages.connector_stages import StartConnector, deletion_error
from airflow_provider_connect_offsets.operations.stages.reached import ConnectorStage
from airflow_provider_connect_offsets.saga import Captures, Done, Found, JsonMap, Kind, StageState, Undoing

log = logging.getLogger(__name__)
#: Setting → its value; None: the connector has no such setting.
Settings = Mapping[str, str | None]


class SettingsStage(ConnectorStage):
    """Changes settings of a connector; only these are captured, as a whole configuration may have secrets.

    Args:
        connector: Its name.
        clients: Clients of its Connect cluster.
        settings: The new values.
    """

    kind = Kind.UNDOABLE

    def __init__(self, connector: str, clients: Clients, settings: Settings) -> None:
        super().__init__(connector, clients)
        self.settings = dict(settings)

    def capture(self, earlier: Captures) -> JsonMap:
        """Capture the prior values of the settings."""
        config = self._clients.control.info(self.subject).config
        return {"prior": {name: config.get(name) for name in self.settings}}

    def configure(self, settings: Settings) -> None:
        """Give settings these values, and read them back; raises :class:`NotApplied` and store errors."""
        config = self._clients.control.info(self.subject).config
        others = {name: value for name, value in config.items() if name not in settings}
        given = {name: value for name, value in settings.items() if value is not None}
        try:
            self._clients.registry().update_config(self.subject, {**others, **given})
        except OutcomeUnknown as error:
            log.warning("%s Reading back the configuration.", error)

        def read() -> dict[str, str]:
            now = self._clients.control.info(self.subject).config
            return {name: now[name] for name in settings if name in now}

        if self._clients.settle(read, until=lambda now: now == given) != given:
            named = ", ".join(settings)
            raise NotApplied(f"New settings of {self.subject!r} were written, but are not read back: {named}.")

    def restore(self, captured: JsonMap, *, always: bool = False) -> str:
        """Restore the prior values, and read them back.

        Settings that have neither value are someone else's, and stay.

        Args:
            captured: What :meth:`capture` returned.
            always: Whether they are written even if they are read back already.

        Returns:
            A sentence about settings that someone else has changed; empty if nobody has.
        """
        config = self._clients.control.info(self.subject).config
        prior: Settings = captured["prior"]
        theirs = [name for name, value in prior.items() if config.get(name) not in {value, self.settings[name]}]
        ours = {name: value for name, value in prior.items() if name not in theirs}
        if always or self.list_left(config, captured):
            self.configure(ours)
        if not theirs:
            return ""
        return f" Meanwhile someone else has changed {', '.join(theirs)} of {self.subject!r}. This is left as it is."

    def list_left(self, config: Config, captured: JsonMap) -> list[str]:
        """Name the settings that still have the new values."""
        prior: Settings = captured["prior"]
        return [name for name, value in self.settings.items() if config.get(name) == value and prior[name] != value]


class ChangeSettings(SettingsStage):
    """Changes settings of a STOPPED connector; the undo gives them their prior values."""

    title = CONFIGURE
    arguments = ("settings",)

    def do(self, captured: JsonMap) -> Done:
        """Change the settings, and read them back; raises :class:`Rejected`, :class:`NotApplied` and store errors."""
        self.configure(self.settings)
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """Return DONE if the settings have the new values."""
        return self._find(NotApplied)

    def stands(self, captured: JsonMap) -> StageState:
        """Return DONE while the settings have the new values."""
        return self._find(Drift)

    def _find(self, otherwise: type[NotApplied | Drift]) -> StageState:
        try:
            config = self._clients.control.info(self.subject).config
        except UnknownConnector as error:
            return StageState(Found.FOREIGN, deletion_error(error))
        if other := [name for name, value in self.settings.items() if config.get(name) != value]:
            return StageState(Found.PARTIAL, otherwise(f"{self.subject!r} has other values of {', '.join(other)}."))
        return StageState(Found.DONE)

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Restore the prior values; raises :class:`NotApplied`, :class:`Interfered` and store errors."""
        try:
            # Even if the prior values are read back: a request that was given up may still be in flight, and Connect
            # carries this one out after it.
            return self.restore(captured, always=not undoing.returned)
        except UnknownConnector as error:
            raise deletion_error(error) from error


class TrySettings(StartConnector):
    """Brings a connector into its prior state with changed settings; the undo stops it.

    Unlike the last stage of other changes it can be undone, also by another process: what the connector fails with is
    restored.

    Args:
        connector: Its name.
        clients: Clients of its Connect cluster.
    """

    title = TRY
    arguments = ()

    def __init__(self, connector: str, clients: Clients) -> None:
        super().__init__(connector, clients)


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
