"""SQLite settings for an Airflow with many DAG runs at once on a busy machine."""

from __future__ import annotations

import sqlite3
import sys
from typing import Any


class Connection(sqlite3.Connection):
    """A connection that does not wait for the disk, as the database is removed with its Airflow."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.execute("PRAGMA synchronous=OFF").close()


# The scheduler ends if it does not get the lock in time. The API server answers no request while one of them waits for
# the lock of another, so it gives up soon, and its clients retry.
CONNECT_ARGS = {"timeout": 3.0 if "api-server" in sys.argv else 60.0, "factory": Connection}
