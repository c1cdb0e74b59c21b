"""Waits for a resource by watching it."""

from __future__ import annotations

import logging
from collections.abc import Callable

import tenacity

from airflow_provider_connect_offsets.clock import Clock, make_attempts
from airflow_provider_connect_offsets.connect.strimzi.kubernetes_api import KubernetesApi
from airflow_provider_connect_offsets.connect.strimzi.resources import CustomResource
from airflow_provider_connect_offsets.exceptions import Unreachable

log = logging.getLogger(__name__)

# Seconds of one watch: a connection that died without a sign must not cost the whole timeout.
_LONGEST = 30.0
# Seconds between watches that end before their time.
_SHORTEST, _PAUSE = 0.05, 0.5
_BETWEEN_READS = tenacity.wait_exponential(multiplier=0.1, max=2.0)


def await_resource(
    api: KubernetesApi,
    read: Callable[[], CustomResource],
    until: Callable[[CustomResource], bool],
    *,
    timeout: float,
    clock: Clock,
    nudge: tuple[float, Callable[[CustomResource], object]] | None = None,
) -> CustomResource:
    """Watch a resource until ``until`` accepts it, or until the timeout.

    Args:
        api: The API server.
        read: Reads the resource; its errors end the wait, except :class:`Unreachable` before the timeout.
        until: Whether the resource is as awaited; its errors end the wait.
        timeout: Seconds to wait.
        clock: Measures the timeout.
        nudge: A number of seconds, and a function that is called after them and makes the operator check again. After
            each call the seconds double, up to 30. None: no function. A watch that ends early, because a proxy ends it,
            does not lead to a call.

    Returns:
        The resource as awaited, or as it was at the timeout.
    """
    deadline, longest, pauses = clock.now() + timeout, nudge[0] if nudge else _LONGEST, 0
    due = clock.now() + longest
    while True:
        left = max(0.0, deadline - clock.now())
        resource = make_attempts(
            tenacity.retry_if_exception_type(Unreachable), timeout=left, clock=clock, wait=_BETWEEN_READS
        )(read)
        if until(resource) or clock.now() >= deadline:
            return resource
        resource = _watch(api, resource, until, seconds=min(due, deadline) - clock.now())
        if until(resource) or clock.now() >= deadline:
            return resource
        if clock.now() < due:
            pauses += 1
            clock.sleep(min(_SHORTEST * 2**pauses, _PAUSE, max(0.0, due - clock.now())))
            continue
        if nudge:
            nudge[1](resource)
            longest = min(_LONGEST, longest * 2)
        due, pauses = clock.now() + longest, 0


def _watch(
    api: KubernetesApi, resource: CustomResource, until: Callable[[CustomResource], bool], *, seconds: float
) -> CustomResource:
    """Return the resource as it was when ``until`` accepted it, or when the watch ended."""
    try:
        for changed in api.changes_of(resource, seconds=seconds):
            resource = changed
            if until(resource):
                break
    except Unreachable as error:
        log.warning("%s Reading it again.", error)
    return resource
