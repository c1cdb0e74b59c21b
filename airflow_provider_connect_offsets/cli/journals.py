"""Where operations of the shell keep their journals, and who they say they are there."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.saga.lease import Owner


def shell_owner(command: str) -> Owner:
    """This process, as others are told of it."""
    run = f"connect-offsets {command}, process {os.getpid()} on {socket.gethostname()}"
    return Owner.here(run=run, task=command)


def own_workspace() -> str:
    """Where this user's operations keep their journals unless a workspace is named: in ``XDG_STATE_HOME``.

    Raises :class:`InvalidInput` for a user without a home.
    """
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():  # then it counts as not set (XDG Base Directory Specification)
        try:
            state = Path.home() / ".local" / "state"
        except RuntimeError as error:
            raise InvalidInput("This user has no home to keep a journal in: name a place with --workspace.") from error
    return (state / "connect-offsets").absolute().as_uri()
