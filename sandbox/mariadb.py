"""A MariaDB server with a binlog, as a process of the sandbox; its programs are Debian's ``mariadb-server``."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.process import ServerProcess
from sandbox.tether import PROCESSES

#: The login of a connector, and its password, which only this machine can use; and its database.
USER, PASSWORD, DATABASE = "debezium", "s3cret-word", "orders"
_OWNER = "mysql"  # Debian's user of the server, if the sandbox runs as root
_WITHIN = 30.0  # seconds for one statement


def has_mariadb() -> bool:
    """Whether the server's programs are installed."""
    return _program("mariadbd") is not None and _program("mariadb-install-db") is not None


class MariaDb:
    """A server whose binlog has rows, with its files below ``root``; ``close`` its process to end and remove it."""

    def __init__(self, root: Path) -> None:
        home = root / PROCESSES / "mariadb"
        self.process = ServerProcess("mariadb", home, _MariaDbRecipe())
        self._socket = home / "socket"

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return self.process.ports[0]

    def start(self) -> None:
        """Start the server, and create the connector's login and database."""
        self.process.start()
        self.query(
            f"CREATE DATABASE IF NOT EXISTS {DATABASE}; "
            f"CREATE USER IF NOT EXISTS {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; "
            f"GRANT ALL ON *.* TO {USER}@'127.0.0.1'",
            database="mysql",
        )

    def query(self, statement: str, *, database: str = DATABASE) -> list[list[str]]:
        """Run statements, and return the rows of the last one, as strings."""
        done = _mariadb(self._socket, statement, database)
        if done.returncode != 0:
            raise SandboxError(f"MariaDB refused {statement!r}: {done.stderr}")
        return [line.split("\t") for line in done.stdout.splitlines()]


@dataclass(frozen=True, slots=True)
class _MariaDbRecipe:
    ports: int = 1

    def prepare(self, home: Path, ports: Sequence[int]) -> list[list[str]]:
        data = home / "data"
        data.mkdir()
        if os.geteuid() == 0:
            # The server does not run as root by itself; its own user needs a way to its files.
            shutil.chown(data, _OWNER, _OWNER)
            shutil.chown(home, _OWNER, _OWNER)
            for folder in (home, *home.parents[:2]):
                folder.chmod(0o755)
        settings = home / "mariadb.cnf"
        settings.write_text(_SETTINGS.format(port=ports[0], data=data, socket=home / "socket"))
        # It runs the server itself, which must not write its bootstrap to the binlog.
        return [[str(_find("mariadb-install-db")), f"--defaults-file={settings}", *_AS_ROOT_DOES, *_owner()]]

    def command(self, home: Path) -> list[str]:
        return [str(_find("mariadbd")), f"--defaults-file={home / 'mariadb.cnf'}", *_owner()]

    def is_ready(self, ports: Sequence[int]) -> bool:
        command = [str(_find("mariadb-admin")), "--no-defaults", "-h", "127.0.0.1", "-P", str(ports[0]), "ping"]
        # A login that does not exist yet is refused, by a server that is ready.
        return subprocess.run(command, capture_output=True, check=False, timeout=_WITHIN).returncode == 0


_AS_ROOT_DOES = ("--auth-root-authentication-method=normal", "--skip-test-db")


def _program(name: str) -> Path | None:
    # Debian keeps the server's own program in a folder that not every user's path has.
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/usr/local/bin")
    return Path(found) if found else None


def _find(name: str) -> Path:
    program = _program(name)
    if program is None:
        raise SandboxError("MariaDB is not installed: apt-get install mariadb-server")
    return program


def _owner() -> list[str]:
    return [f"--user={_OWNER}"] if os.geteuid() == 0 else []


def _mariadb(socket: Path, statement: str, database: str) -> subprocess.CompletedProcess[str]:
    command = [str(_find("mariadb")), "--no-defaults", "-S", str(socket), "-u", "root"]
    command += ["--batch", "--skip-column-names", "-e", statement, database]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_WITHIN)


_SETTINGS = """\
[mariadbd]
datadir = {data}
socket = {socket}
bind_address = 127.0.0.1
port = {port}
pid_file = {data}/mariadb.pid
server_id = 1
log_bin = binlog
binlog_format = ROW
binlog_row_image = FULL
innodb_buffer_pool_size = 16M
innodb_flush_log_at_trx_commit = 0
skip_name_resolve
"""
