"""The errors of the sandbox."""

from __future__ import annotations


class SandboxError(Exception):
    """The sandbox can't do what was requested; the message gives the reason."""


class NotInTime(SandboxError):
    """A condition did not become true in time."""


class PortTaken(SandboxError):
    """Another program took a port after the sandbox chose it and before the server bound it."""


class RestRefusal(SandboxError):
    """Connect's REST API answered with anything but success."""

    def __init__(self, request: str, status_code: int, body: str) -> None:
        super().__init__(f"{request} was answered with {status_code}: {body}")
        self.status_code = status_code
        self.body = body

    @property
    def is_for_now(self) -> bool:
        """Whether the same request may succeed later.

        The worker rebalances, is overloaded, waits until the consumer of a killed worker leaves its group, or has not
        yet written a status of a connector that it has started after its own start.
        """
        rebalances = self.status_code == 409 and "already exists" not in self.body
        texts = ("timed out", "tasks haven't stopped completely yet", "a rebalance is expected")
        waits = any(text in self.body for text in texts)
        starts = self.status_code == 404 and "No status found for connector" in self.body
        return rebalances or starts or (self.status_code == 500 and waits)
