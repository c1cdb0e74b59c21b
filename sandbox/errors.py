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
        """Whether the same request may succeed later.

        The worker rebalances, had too much else to do, or waits for a consumer to be given up whose worker was killed.
        """
        rebalances = self.status_code == 409 and "already exists" not in self.body
        waits = any(told in self.body for told in ("timed out", "tasks haven't stopped completely yet"))
        return rebalances or (self.status_code == 500 and waits)
