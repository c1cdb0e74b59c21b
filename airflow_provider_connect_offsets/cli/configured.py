"""Options of ``[connect_offsets]`` on this machine: the shell obeys the same ``protected`` and ``allowed`` as DAGs."""

from __future__ import annotations

from airflow_provider_connect_offsets.cli.journals import own_workspace
from airflow_provider_connect_offsets.offsets.requests.guards import Guards, NamePatterns
from airflow_provider_connect_offsets.settings import option, parse_days
from airflow_provider_connect_offsets.workspace.journals.journal_store import JournalStore
from airflow_provider_connect_offsets.workspace.layout import audit_root, journal_root


def guards() -> Guards:
    """Return the names that may be changed here; raises :class:`InvalidInput` for an option that can't be read."""
    return Guards(
        protected=NamePatterns.parse(option("protected"), option="protected"),
        allowed=NamePatterns.parse(option("allowed"), option="allowed"),
    )


def journal_store(workspace: str) -> JournalStore:
    """Return where journals and audit log of a workspace are kept, and the key that signs them.

    ``[connect_offsets] journal`` and ``audit`` are those of Airflow's runs, not those of this user's own workspace.
    """
    if workspace == own_workspace():
        return JournalStore(journal_root(workspace), audit=audit_root(workspace))
    return JournalStore(
        option("journal") or journal_root(workspace),
        option("journal_key"),
        audit=option("audit") or audit_root(workspace),
        audit_days=parse_days(option("audit_days"), option="audit_days"),
    )
