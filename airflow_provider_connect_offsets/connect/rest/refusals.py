"""The meaning of a Connect worker's refusal, and whether the call may be repeated.

Often only Connect's text has the meaning: the same 500 means "try again", "your offset is wrong" or "it may still
happen". Only this module reads these texts (of Kafka 3.5 to 4.3; ``make test-versions`` runs such workers).
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from airflow_provider_connect_offsets.connect.rest.releases import Feature
from airflow_provider_connect_offsets.exceptions import (
    AccessDenied,
    NotReady,
    NotStopped,
    OutcomeUnknown,
    RebalanceInProgress,
    Rejected,
    StoreError,
    UnknownConnector,
    Unsupported,
)
from airflow_provider_connect_offsets.masking import one_line

_LONGEST_TEXT = 4000


@dataclass(frozen=True, slots=True)
class Call:
    """One REST call.

    Attributes:
        method: HTTP method.
        path: Path after the base URL.
        purpose: What the call is for, for messages ("stop connector 'x'").
        connector: Name of the connector; None if the call isn't about a connector.
        body: JSON body; None for none.
        needs: Feature that older workers lack; None if all have it.
        if_unknown: Call that confirms an answer that the connector is unknown.
    """

    method: str
    path: str
    purpose: str
    connector: str | None = None
    body: object = None
    needs: Feature | None = None
    if_unknown: Call | None = None

    @property
    def changes(self) -> bool:
        """Whether the call changes anything, so that it is not repeated without reading back."""
        return self.method != "GET"

    @property
    def lists_offsets(self) -> bool:
        """Whether the answer is a list of offsets, which may be long."""
        return not self.changes and self.path.endswith("/offsets")


@dataclass(frozen=True, slots=True)
class Answer:
    """A raw answer: the worker's URL, HTTP status, body and header ``Location``."""

    url: str
    status: int
    text: str
    location: str = ""

    @property
    def message(self) -> str | None:
        """The message in Connect's error body, secrets masked; None if the body is Jetty's or a proxy's."""
        try:
            body = json.loads(self.text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(body, dict) or "error_code" not in body:
            return None
        return one_line(str(body.get("message"))[:_LONGEST_TEXT])


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that did not succeed.

    Attributes:
        error: The error to raise.
        repeat: Whether the call may be sent again.
        elsewhere: Whether another worker may answer differently.
        doubted: Whether the answer is that the connector or its status is unknown, which a starting worker answers too.
        absent: Whether nobody is at the address: its name is unknown, or it refuses connections.
    """

    error: StoreError
    repeat: bool = False
    elsewhere: bool = False
    doubted: bool = False
    absent: bool = False


def refusal_of(call: Call, answer: Answer) -> Refusal:
    """Return what ``answer``, from a worker or from a proxy in front of it, means for ``call``."""
    cannot = f"Can't {call.purpose}: {answer.url}"
    if answer.status in _DENIED:
        return Refusal(AccessDenied(f"{cannot} {_DENIED[answer.status]}"))
    if answer.message is not None:
        said = _Said(call, answer.url, answer.message, f"{cannot} answers: {answer.message}")
        return _BY_STATUS.get(
            answer.status, _refusal_of_server_error if answer.status >= 500 else _refusal_of_bad_request
        )(said)
    return _refusal_of_foreign_answer(call, answer, cannot)


@dataclass(frozen=True, slots=True)
class _Said:
    """An answer of Connect itself: its ``message``, and the ``sentence`` to show."""

    call: Call
    url: str
    message: str
    sentence: str


def _refusal_of_bad_request(said: _Said) -> Refusal:
    if "must be in the STOPPED state" in said.message:
        text = f"{said.sentence} Stop connector {said.call.connector!r} and wait until it has no tasks."
        return Refusal(NotStopped(text))
    return Refusal(Rejected(said.sentence))


def _refusal_of_not_found(said: _Said) -> Refusal:
    if said.message.startswith("HTTP 404"):
        return _refusal_of_missing_call(said)
    if "No status found for connector" in said.message:
        text = f"Connector {said.call.connector!r} has no status yet on {said.url}: it was created a moment ago."
        return Refusal(NotReady(f"{text} Try again."), repeat=True, doubted=True)
    return _refusal_of_unknown_connector(said)


def _refusal_of_unknown_connector(said: _Said) -> Refusal:
    advice = f"Check the name {said.call.connector!r} (case-sensitive), and that this is the connector's cluster."
    return Refusal(UnknownConnector(f"{said.sentence}. {advice}"), doubted=True)


def _refusal_of_missing_call(said: _Said) -> Refusal:
    needs = said.call.needs
    if needs is None:
        return Refusal(Rejected(f"{said.sentence}. The worker does not have this call. Check the base URL."))
    need = f"The worker does not have this call: {needs.need}."
    advice = "If its version is recent enough, check the base URL and any proxy in front of the worker."
    return Refusal(Unsupported(f"{said.sentence}. {need} {advice}"))


def _refusal_of_conflict(said: _Said) -> Refusal:
    if "already exists" in said.message:
        return Refusal(Rejected(f"{said.sentence}. Choose another name, or delete that connector first."))
    return _refusal_of_rebalance(said)


def _refusal_of_rebalance(said: _Said) -> Refusal:
    text = f"{said.sentence} The workers are rebalancing, so nothing was done. Try again later."
    return Refusal(RebalanceInProgress(text), repeat=True)


def _refusal_of_server_error(said: _Said) -> Refusal:
    if "a rebalance is expected" in said.message:  # the herder's own check, which reading calls answer with 500
        return _refusal_of_rebalance(said)
    if said.message.startswith("No connector `"):  # a standalone worker
        return _refusal_of_unknown_connector(said)
    if "can be safely retried" in said.message:
        text = f"{said.sentence} Make sure that no task and no other client is left in the consumer group."
        return Refusal(NotStopped(text), repeat=True)
    if any(text in said.message for text in _UNFINISHED):
        return refusal_of_lost(said.call, said.sentence)
    hint = next((hint for text, hint in _HINTS if said.message.startswith(text)), "")
    return Refusal(Rejected(said.sentence + hint))


_BY_STATUS = {
    400: _refusal_of_bad_request,
    404: _refusal_of_not_found,
    405: _refusal_of_missing_call,
    409: _refusal_of_conflict,
    500: _refusal_of_server_error,
}

_DENIED = {
    401: "refuses the credentials (401). Check login and password, or the token, of the connection.",
    403: "does not allow this with these credentials (403). Get the permission, or use another connection.",
}

# The worker timed out, or forwarded the call to the leader and lost it there: the call may still be carried out.
_UNFINISHED = (
    "Request timed out",
    "Timed out while",
    "trying to forward REST request",
    "handling forwarded request",
    # The worker waits 30 seconds for its own record, which a broker may still get later
    # (``KafkaConfigBackingStore``).
    "Error writing target state to Kafka",
    "Error writing connector configuration to Kafka",
    "Error removing connector configuration from Kafka",
)

_HINTS = (
    (
        "Failed to alter consumer group offsets for connector",
        " (A topic or partition does not exist, or the worker has no right to alter this group. See the worker's log.)",
    ),
    (
        "Failed to reset consumer group offsets for connector",
        " (Most often, the worker has no right to delete this group. See the worker's log.)",
    ),
    (
        "Failed to perform zombie fencing",
        " (See the worker's log, and check that the worker has the right to fence transactional ids.)",
    ),
    ("Failed to modify offsets for source connector", " (Connect does not pass on the cause. See the worker's log.)"),
    ("Failed to modify offsets for sink connector", " (Connect does not pass on the cause. See the worker's log.)"),
)


def _refusal_of_foreign_answer(call: Call, answer: Answer, cannot: str) -> Refusal:
    """Return the meaning of an answer without Connect's body: from Jetty before the worker started, or from a proxy."""
    if answer.status >= 500 or (answer.status < 300 and call.changes):
        return refusal_of_lost(call, f"{cannot} answers {answer.status} without Connect's JSON.")
    if answer.status == 404:
        text = "answers 404 without Connect's JSON. It is not a Connect worker, or the worker is still starting."
        return Refusal(NotReady(f"{cannot} {text} Check the base URL."), repeat=True, elsewhere=True)
    if answer.status >= 400:
        text = f"answers {answer.status} without Connect's JSON."
        advice = "Check the base URL, and the connector's name: Jetty refuses '%', '\\' and control characters."
        return Refusal(Rejected(f"{cannot} {text} {advice}"))
    where = f"redirects to {answer.location or 'another address'}" if answer.status >= 300 else "answers"
    return Refusal(NotReady(f"{cannot} {where}, but is not a Connect worker ({answer.status}). Correct the base URL."))


def refusal_of_lost(call: Call, sentence: str) -> Refusal:
    """Return the meaning of an answer that is lost, or does not say what was done."""
    if call.changes:
        text = "It is unknown whether the change was made or still will be. First check the current state."
        return Refusal(OutcomeUnknown(f"{sentence} {text}"))
    return Refusal(NotReady(f"{sentence} Nothing was changed; try again later."), repeat=True, elsewhere=True)
