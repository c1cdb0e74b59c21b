"""SQLite settings for an Airflow with many DAG runs at once on a busy machine."""

from __future__ import annotations

import sqlite3
import sys
from typing import Any


class Connection(sqlite3.Connection):
    """Does not wait for the disk: the database goes with its Airflow."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.execute("PRAGMA synchronous=OFF").close()


# The scheduler ends where it does not get the lock in time. The API server answers nobody while one of its requests
# waits for the lock that another one has: the sooner it gives up, the better, as whoever asked it asks again.
CONNECT_ARGS = {"timeout": 3.0 if "api-server" in sys.argv else 60.0, "factory": Connection}
