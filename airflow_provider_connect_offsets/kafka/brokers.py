"""Base of Kafka clients: an admin client with a timeout for every request, and errors by meaning."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from enum import StrEnum
from typing import Any, Self, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from airflow_provider_connect_offsets.exceptions import (
    AccessDenied,
    InvalidInput,
    NobodyThere,
    StoreError,
    Unreachable,
)
from airflow_provider_connect_offsets.offsets.families import TopicPartition

log = logging.getLogger(__name__)
Result = TypeVar("Result")

_DENIED = frozenset(
    {
        KafkaError._AUTHENTICATION,  # noqa: SLF001 - librdkafka's own codes begin with an underscore
        KafkaError.SASL_AUTHENTICATION_FAILED,
    }
)
# What a right is missing on, by the code of the refusal.
_WITHOUT_RIGHT = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "the topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "the consumer group",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "the cluster",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "the transactional id",
}
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
_CHECK = "Check bootstrap.servers and security.protocol."


class AclOperation(StrEnum):
    """Operations that ACLs allow or deny, as ``kafka-acls`` names them (Java enum ``AclOperation``)."""

    ALTER_CONFIGS = "AlterConfigs"
    DELETE = "Delete"
    DESCRIBE = "Describe"
    DESCRIBE_CONFIGS = "DescribeConfigs"
    READ = "Read"
    WRITE = "Write"


class Brokers:
    """An admin client of one cluster, to be used as a context manager.

    librdkafka can't close an admin client: its threads and connections end with the last reference, so leaving the
    block drops it.

    Args:
        config: Settings of librdkafka, with ``bootstrap.servers``.
        timeout: Seconds after which a request fails.

    Raises:
        InvalidInput: The settings name no brokers, or librdkafka refuses them.
    """

    def __init__(self, config: Mapping[str, Any], *, timeout: float = 15.0) -> None:
        servers = config.get("bootstrap.servers") or config.get("metadata.broker.list")
        if not servers:
            raise InvalidInput("The Kafka settings have no brokers. Set bootstrap.servers.")
        self.servers = str(servers)
        self.timeout = timeout
        self._config = dict(config)
        self._errors: dict[int, str] = {}
        self._all_down = False
        self._client: AdminClient | None = self._open(config)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop the client; it can't be used any more."""
        self._client = None

    def greet(self) -> None:
        """Return when a broker answers; raise at once for an unknown name, a closed port or a certificate error.

        Any other request waits for brokers up to the timeout, as they may be restarting.

        Raises:
            NobodyThere: Every address was tried once, and no broker is there, or this client can't talk to it.
            Unreachable: No broker answered within the timeout.
            AccessDenied: Kafka refuses the credentials.
            StoreError: Kafka answered with another error, or the client is closed.
        """
        self.ask("reach the cluster", self._await_greeting)

    def _await_greeting(self, client: AdminClient) -> None:
        answer = client.describe_cluster(request_timeout=self.timeout)
        while not answer.done():
            client.poll(0.1)  # calls _keep_error
            if self._all_down:
                raise self._unreachable_error()
        answer.result()

    def _unreachable_error(self) -> StoreError:
        meant = self.meaning("Can't reach the cluster", KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN)))  # noqa: SLF001
        if not isinstance(meant, Unreachable):
            return meant
        why = "; ".join(self._errors.values())
        return NobodyThere(f"No broker can be reached at {self.servers}: {why}. {_CHECK}")

    def cluster_id(self) -> str:
        """Return the id of the Kafka cluster; raises as :meth:`ask` does."""
        metadata = self.ask("read the cluster's id", lambda client: client.list_topics(timeout=self.timeout))
        return str(metadata.cluster_id)

    def ask(
        self, purpose: str, call: Callable[[AdminClient], Result], *, right: AclOperation = AclOperation.DESCRIBE
    ) -> Result:
        """Call the admin client and return its answer.

        Args:
            purpose: What the call is for, for messages ("list the topics").
            call: Called with the client; may wait for the client's futures.
            right: What the user's ACLs must allow for it, for messages.

        Raises:
            Unreachable: No broker answered within the timeout.
            AccessDenied: Kafka refuses the credentials, or the user has no right to do that.
            StoreError: Kafka answered with another error, or the client is closed.
        """
        if self._client is None:
            raise StoreError(f"Can't {purpose}: the client of {self.servers} is closed.")
        try:
            return call(self._client)
        except KafkaException as error:
            raise self.meaning(f"Can't {purpose}", error, right=right) from error

    def request_offsets(
        self,
        client: AdminClient,
        specs: Mapping[TopicPartition, OffsetSpec],
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[TopicPartition, Future[Any]]:
        """Request an offset of each partition from its leader; an answer's ``offset`` is -1 if none fits."""
        requested = {KafkaPartition(where.topic, where.partition): spec for where, spec in specs.items()}
        answers = client.list_offsets(requested, isolation_level=isolation, request_timeout=self.timeout)
        return {TopicPartition(one.topic, one.partition): answer for one, answer in answers.items()}

    def meaning(self, failed: str, error: KafkaException, *, right: AclOperation = AclOperation.DESCRIBE) -> StoreError:
        """Return the store error for ``error``; its message starts with ``failed``. ``right``: as of :meth:`ask`."""
        reason: KafkaError = error.args[0]
        if missing := describe_missing_right(reason, right):
            return AccessDenied(f"{failed}: Kafka at {self.servers} does not allow it ({reason.str()}). {missing}")
        if self._client is not None:
            self._client.poll(0)  # calls _keep_error with the causes of a timeout
        denials = [text for code, text in self._errors.items() if code in _DENIED]
        if reason.code() in _DENIED or (reason.code() in _NO_ANSWER and denials):
            text = f"{failed}: Kafka at {self.servers} refuses these credentials ({(denials or [reason.str()])[0]})."
            return AccessDenied(f"{text} Check the security settings of the connection.")
        if reason.code() in _NO_ANSWER:
            why = "; ".join([reason.str(), *self._errors.values()])
            text = f"{failed}: no answer from Kafka at {self.servers} within {self.timeout:g} s ({why})."
            return Unreachable(f"{text} {_CHECK}")
        return StoreError(f"{failed}: Kafka at {self.servers} answers: {reason.str()}")

    def _open(self, config: Mapping[str, Any]) -> AdminClient:
        try:
            settings: dict[str, Any] = {**config, "error_cb": self._keep_error}
            return AdminClient(settings, logger=_DebugOnly())
        except (KafkaException, TypeError, ValueError) as error:
            reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
            raise InvalidInput(f"The Kafka settings for {self.servers} can't be used: {reason}") from error

    def _keep_error(self, error: KafkaError) -> None:
        """Keep the last message of each kind of error, but not "all brokers are down", which names no cause."""
        if error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001
            self._all_down = True
        else:
            self._errors[error.code()] = error.str().partition(" (after ")[0]


def describe_missing_right(refusal: KafkaError, right: AclOperation) -> str:
    """Write a sentence about the ACL that a user needs; empty if Kafka has refused something for another reason."""
    subject = _WITHOUT_RIGHT.get(refusal.code())
    return f"The user of its connection needs an ACL that allows {right} on {subject}." if subject else ""


class _DebugOnly:
    """Logger of librdkafka, which logs every attempt to connect as an error; errors that matter are raised."""

    def log(self, level: int, text: str, *args: object) -> None:
        del level
        log.debug(text, *args)
