"""Airflow's simple auth manager with users who may read single DAGs only, as other auth managers have."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser


class PerDagAuthManager(SimpleAuthManager):
    """``reader-of-<dag_id>`` may read that DAG and no other; all other users have the rights of their role."""

    def is_authorized_dag(self, *, user: SimpleAuthManagerUser, details: Any = None, **requested: Any) -> bool:
        """Ask the simple auth manager, and check the user's name."""
        _, _, only = user.username.partition("reader-of-")
        if only and (details is None or details.id != only):
            return False
        return super().is_authorized_dag(user=user, details=details, **requested)
