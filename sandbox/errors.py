"""What goes wrong in a sandbox."""

from __future__ import annotations


class SandboxError(Exception):
    """The sandbox can't do what was asked; the message says why, in words for a person."""


class NotInTime(SandboxError):
    """A condition that was waited for did not come true in time."""


class PortTaken(SandboxError):
    """Another program took a port between our choosing it and the server's binding it."""


class RestRefusal(SandboxError):
    """Connect's REST API answered with anything but success."""

    def __init__(self, request: str, status_code: int, body: str) -> None:
        super().__init__(f"{request} was answered with {status_code}: {body}")
        self.status_code = status_code
        self.body = body

    @property
    def is_for_now(self) -> bool:
        """Whether the same request may succeed later: the worker rebalances, or had too much else to do."""
        rebalances = self.status_code == 409 and "already exists" not in self.body
        return rebalances or (self.status_code == 500 and "timed out" in self.body)
