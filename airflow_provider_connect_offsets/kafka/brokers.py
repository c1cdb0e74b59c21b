"""A Kafka cluster, asked through an admin client: it joins no group, never waits for ever, and fails by meaning."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from airflow_provider_connect_offsets.exceptions import AccessDenied, InvalidInput, StoreError, Unreachable

log = logging.getLogger(__name__)
Result = TypeVar("Result")

_DENIED = frozenset(
    {
        KafkaError._AUTHENTICATION,  # noqa: SLF001 - librdkafka's own codes begin with an underscore
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
_NO_ANSWER = frozenset(
    {
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._TIMED_OUT,  # noqa: SLF001
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError._RESOLVE,  # noqa: SLF001
        KafkaError._SSL,  # noqa: SLF001
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)


class Brokers:
    """An admin client for one cluster; ``config`` holds librdkafka's settings, ``timeout`` bounds every request.

    Use it as a context manager. librdkafka offers nothing to close a client with: its threads and connections end
    when the last reference to it goes, so leaving the block drops it.
    """

    def __init__(self, config: Mapping[str, Any], *, timeout: float = 15.0) -> None:
        servers = config.get("bootstrap.servers") or config.get("metadata.broker.list")
        if not servers:
            raise InvalidInput("The Kafka settings name no brokers: set bootstrap.servers.")
        self.servers = str(servers)
        self.timeout = timeout
        self._heard: dict[int, str] = {}
        self._client: AdminClient | None = self._open(config)

    def __enter__(self) -> Self:
        """Give the cluster itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Drop the client."""
        self.close()

    def close(self) -> None:
        """Drop the client; it can't be used any more."""
        self._client = None

    def cluster_id(self) -> str:
        """The id that the cluster gave itself; raises as :meth:`ask` does."""
        told = self.ask("ask for the cluster's id", lambda client: client.list_topics(timeout=self.timeout))
        return str(told.cluster_id)

    def ask(self, purpose: str, question: Callable[[AdminClient], Result]) -> Result:
        """Put ``question`` to the client; ``purpose`` says what for ("list the topics").

        Raises :class:`Unreachable`, :class:`AccessDenied`, or another :class:`StoreError`, with Kafka's reason.
        """
        if self._client is None:
            raise StoreError(f"Can't {purpose}: the client of {self.servers} is closed.")
        try:
            return question(self._client)
        except KafkaException as error:
            raise self.meaning(f"Can't {purpose}", error) from error

    def meaning(self, failed: str, error: KafkaException) -> StoreError:
        """Give the error that ``error`` means; ``failed`` begins its sentence."""
        reason: KafkaError = error.args[0]
        if self._client is not None:
            self._client.poll(0)  # hands over what librdkafka said meanwhile: a timeout alone doesn't tell why
        heard = [self._heard[code] for code in self._heard if code in _DENIED]
        if reason.code() in _DENIED or (reason.code() in _NO_ANSWER and heard):
            text = f"{failed}: Kafka at {self.servers} refuses these credentials ({(heard or [reason.str()])[0]})."
            return AccessDenied(f"{text} Check the security settings and the ACLs of the connection.")
        if reason.code() in _NO_ANSWER:
            why = "; ".join([reason.str(), *self._heard.values()])
            text = f"{failed}: no answer from Kafka at {self.servers} within {self.timeout:g} s ({why})."
            return Unreachable(f"{text} Check bootstrap.servers and security.protocol.")
        return StoreError(f"{failed}: Kafka at {self.servers} says: {reason.str()}")

    def _open(self, config: Mapping[str, Any]) -> AdminClient:
        try:
            settings: dict[str, Any] = {**config, "error_cb": self._hear}
            return AdminClient(settings, logger=_DebugOnly())
        except (KafkaException, TypeError, ValueError) as error:
            reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
            raise InvalidInput(f"The Kafka settings for {self.servers} can't be used: {reason}") from error

    def _hear(self, error: KafkaError) -> None:
        """Keep the last thing librdkafka said for each kind of error; "all brokers are down" says nothing more."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001
            self._heard[error.code()] = error.str().partition(" (after ")[0]


class _DebugOnly:
    """Where librdkafka logs to: it tells of every attempt to connect, at level ERROR, and what counts is raised."""

    def log(self, level: int, text: str, *args: object) -> None:
        del level
        log.debug(text, *args)
