"""What the shell's operations need for their journals: an owner, and this user's own workspace."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.saga import Owner


def shell_owner(command: str) -> Owner:
    """Return this process as the owner; its run names the command, the process and the host."""
    run = f"connect-offsets {command}, process {os.getpid()} on {socket.gethostname()}"
    return Owner.here(run=run, task=command)


def own_workspace() -> str:
    """Return the URI of this user's own workspace, in ``XDG_STATE_HOME``.

    Raises :class:`InvalidInput` for a user without a home.
    """
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():  # then it counts as not set (XDG Base Directory Specification)
        try:
            state = Path.home() / ".local" / "state"
        except RuntimeError as error:
            raise InvalidInput(
                "This user has no home directory for a journal. Give the URI of a directory with --workspace."
            ) from error
    return (state / "connect-offsets").absolute().as_uri()
