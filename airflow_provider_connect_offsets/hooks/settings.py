"""The options of ``[connect_offsets]``, which no Param overrides."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import conf

from airflow_provider_connect_offsets.offsets.requests.fields import fields_of
from airflow_provider_connect_offsets.offsets.requests.guards import Guards, NamePatterns
from airflow_provider_connect_offsets.offsets.requests.values import URI
from airflow_provider_connect_offsets.parameters.taking import Model, TakesParameters
from airflow_provider_connect_offsets.settings import parse_days
from airflow_provider_connect_offsets.workspace.files import refuse_login
from airflow_provider_connect_offsets.workspace.journals.journal_store import JournalStore
from airflow_provider_connect_offsets.workspace.layout import audit_root, journal_root

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.observe.clients import Clients


def workspace_uri() -> str:
    """Return the URI under which datasets, journals and reports are stored; default: a folder in ``AIRFLOW_HOME``.

    Raises :class:`DatasetError` for a URI with a login.
    """
    configured = _option("workspace")
    if configured:
        refuse_login(configured)
        return configured
    home = os.environ.get("AIRFLOW_HOME") or Path("~/airflow").expanduser()
    return Path(home, "connect_offsets").absolute().as_uri()


def class_archive() -> str:
    """Return the path of the class-data archive that Spark's driver starts from; empty: it starts without one."""
    return _option("class_archive")


def four_eyes() -> bool:
    """Whether a run must be approved by someone other than the person who triggered it.

    (``[connect_offsets] four_eyes``, default false)
    """
    return bool(conf.getboolean("connect_offsets", "four_eyes", fallback=False))


def poison_days() -> float | None:
    """Return for how many days the content of poison records is kept (``poison_days``); None: for ever.

    Raises :class:`InvalidInput` if the option is not a number of days.
    """
    return parse_days(_option("poison_days") or "30", option="poison_days")


def guards() -> Guards:
    """Return what may be read and changed here; raises :class:`InvalidInput` for a pattern that can't be read."""
    return Guards(
        readable=(workspace_uri(), *_option("readable").split()),
        catalogs=tuple(_option("queries").split()),
        protected=NamePatterns.parse(_option("protected"), option="protected"),
        allowed=NamePatterns.parse(_option("allowed"), option="allowed"),
    )


def journal_store() -> JournalStore:
    """Return where journals and the audit log are kept, and the key that signs them."""
    workspace = workspace_uri()
    return JournalStore(
        _option("journal") or journal_root(workspace),
        _option("journal_key"),
        audit=_option("audit") or audit_root(workspace),
        audit_days=parse_days(_option("audit_days"), option="audit_days"),
    )


def configure_clients(clients: Clients) -> Clients:
    """Return ``clients`` with what is configured for all operations: workspace, journals, and what is allowed."""
    return replace(clients, workspace=workspace_uri(), guards=guards(), journal=journal_store())


class GuardedParameters(TakesParameters):
    """Base of operators and sensors that accept readable URIs only, whoever gives them."""

    def parse_as(self, model: type[Model]) -> Model:
        """Parse as the base class does; also raises :class:`InvalidRequest` for a URI that may not be read."""
        values = super().parse_as(model)
        for name, field in fields_of(model).items():
            if URI in field.marks and (uri := getattr(values, name)):
                guards().refuse_unreadable(uri, param=name)
        return values


def _option(name: str) -> str:
    return str(conf.get("connect_offsets", name, fallback="") or "")
