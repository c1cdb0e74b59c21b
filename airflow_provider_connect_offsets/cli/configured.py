"""What ``[connect_offsets]`` says on this machine: the shell obeys the same ``protected`` and ``allowed`` as DAGs."""

from __future__ import annotations

import os
from configparser import Error, RawConfigParser
from pathlib import Path

from airflow_provider_connect_offsets.cli.journals import own_workspace
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.requests.guards import Guards, NamePatterns
from airflow_provider_connect_offsets.workspace.journal_store import JournalStore
from airflow_provider_connect_offsets.workspace.layout import journal_root

_SECTION = "connect_offsets"


def guards() -> Guards:
    """Return the names that may be changed here; raises :class:`InvalidInput` for what can't be read."""
    return Guards(
        protected=NamePatterns.parse(_option("protected"), option="protected"),
        allowed=NamePatterns.parse(_option("allowed"), option="allowed"),
    )


def journal_store(workspace: str) -> JournalStore:
    """Return where the journals of a workspace are kept, and the key that signs them.

    ``[connect_offsets] journal`` is that of the runs of Airflow, and not of this user's own workspace.
    """
    if workspace == own_workspace():
        return JournalStore(journal_root(workspace))
    return JournalStore(_option("journal") or journal_root(workspace), _option("journal_key"))


def _option(name: str) -> str:
    """Return an option as Airflow finds it, without importing Airflow: a variable, or else ``airflow.cfg``."""
    variable = os.environ.get(f"AIRFLOW__{_SECTION.upper()}__{name.upper()}")
    if variable is not None:
        return variable
    home = os.environ.get("AIRFLOW_HOME") or "~/airflow"
    file = Path(os.environ.get("AIRFLOW_CONFIG") or Path(home, "airflow.cfg")).expanduser()
    parser = RawConfigParser()
    try:
        parser.read(file, encoding="utf-8")
    except (Error, OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} can't be read, so it is unknown what may be changed here: {error}") from error
    return parser.get(_SECTION, name, fallback="")
