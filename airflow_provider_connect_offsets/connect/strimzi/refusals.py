"""The meaning of a failed offset operation, by the condition that Strimzi's operator sets.

Connect's own error body is not passed on. Sources: Strimzi's ``AbstractConnectOperator`` and ``KafkaConnectApiImpl``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.strimzi.places import Place
from airflow_provider_connect_offsets.connect.strimzi.resources import Condition, CustomResource
from airflow_provider_connect_offsets.exceptions import (
    NotStopped,
    OutcomeUnknown,
    Rejected,
    StoreError,
    UnknownConnector,
)

#: Reasons of conditions that are about offset operations.
REASONS = frozenset({"ListOffsets", "AlterOffsets", "ResetOffsets", "ManageOffsets"})
# The reason for a KafkaMirrorMaker2 that has only one of the two annotations.
_BOTH_ANNOTATIONS = "ManageOffsets"
#: Parts of messages about a ConfigMap that is not there as the operator needs it.
NO_DOCUMENT = ("does not exist", "is missing")

# The reason of a condition about an answer of Connect's, and the answers that the same request would get again.
_BY_CONNECT = "ConnectRestException"
_REFUSED = re.compile(r"returned 4(?!09)\d\d\b")

_RUNS = "not in STOPPED state"
# Part of a condition's message → meaning, and what a person does.
_MEANINGS: Mapping[str, tuple[type[StoreError], str]] = {
    _RUNS: (NotStopped, "Stop the connector first, by setting its spec.state to stopped."),
    "returned 404": (UnknownConnector, "The Connect cluster has no such connector."),
    "returned 400": (
        Rejected,
        "Strimzi does not pass on Connect's reason. See the log of the Connect workers.",
    ),
    "returned 5": (OutcomeUnknown, "Read the offsets to see whether anything was written."),
}
# What to say of a resource whose state is no longer the one that was requested.
_REVERTED = (
    "The resource now requests {}: someone else has changed its spec.state. GitOps tools (Argo CD, Flux) do so within "
    "seconds. Configure them to ignore spec.state, or suspend them while the change runs."
)

# Parts of messages about a failure that passes: the workers are rebalancing; or the operator could not remove the
# annotation, since the resource had changed (the operation itself was done). The annotation stays: it will try again.
_PASSING = ("returned 409", "the object has been modified", "Conflict")


def offset_failures(resource: CustomResource, operation: str) -> list[Condition]:
    """Return the status conditions that report a failed operation (list, alter, reset).

    Leaves out conditions of another operation, which a late reconciliation may set, and failures that the operator's
    next attempt may mend.
    """
    reasons = {f"{operation.capitalize()}Offsets", _BOTH_ANNOTATIONS}
    of_this = [one for one in offset_warnings(resource) if one.reason in reasons]
    return [one for one in of_this if not any(part in one.message for part in _PASSING)]


def offset_warnings(resource: CustomResource) -> list[Condition]:
    """Return the current warnings about offset operations in the resource's status."""
    return [one for one in resource.conditions("Warning") if one.reason in REASONS]


def is_refused(resource: CustomResource) -> bool:
    """Whether Connect has refused what a resource requests, which the operator's next attempt can't mend.

    Anything else may pass: workers that can't be reached (``ConnectException``, with an empty message), that restart
    (5xx), or that rebalance (409), and a resource that was not ready in time.
    """
    return resource.is_observed and any(
        one.reason == _BY_CONNECT and _REFUSED.search(one.message) for one in resource.conditions("NotReady")
    )


def refusal_of(purpose: str, place: Place, condition: Condition) -> StoreError:
    """Return the error for a failed operation; ``purpose`` says what it was for: "alter the offsets of …"."""
    for part, (kind, advice) in _MEANINGS.items():
        if part in condition.message:
            is_reverted = part == _RUNS and place.requested_state is not State.STOPPED
            then = _REVERTED.format(place.requested_state) if is_reverted else advice
            return kind(f"Strimzi can't {purpose} ({place.resource}): {_sentence(condition)} {then}")
    return Rejected(f"Strimzi can't {purpose} ({place.resource}): {condition}")


def _sentence(condition: Condition) -> str:
    return f"{str(condition).rstrip('.')}."
