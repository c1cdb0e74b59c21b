"""A PostgreSQL server with logical decoding, as a process of the sandbox; its programs are Debian's ``postgresql``."""

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

#: Who owns the database, and the password that is not checked: only this machine reaches the server.
USER, PASSWORD, DATABASE = "postgres", "s3cret-word", "postgres"
# Debian keeps the server's programs off the path.
_DEBIAN = "/usr/lib/postgresql"
_WITHIN = 30.0  # seconds for one statement


def postgres_programs() -> Path | None:
    """The directory with ``postgres`` and ``initdb`` of the newest installed version; None if there is none."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    installed = [program.parent for program in Path(_DEBIAN).glob("*/bin/initdb")]
    return max(installed, key=lambda programs: int(programs.parent.name), default=None)


class Postgres:
    """A server of one database, whose files are below ``root``; ``close`` its process to end it and remove them."""

    def __init__(self, root: Path) -> None:
        home = root / PROCESSES / "postgres"
        self.process = ServerProcess("postgres", home, _PostgresRecipe())

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return self.process.ports[0]

    def query(self, statement: str) -> list[list[str]]:
        """Run statements, and return the rows of the last one, as strings."""
        done = _psql(self.port, statement)
        if done.returncode != 0:
            raise SandboxError(f"PostgreSQL refused {statement!r}: {done.stderr}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def value(self, statement: str) -> str:
        """Run statements, and return the only value of the last one."""
        return self.query(statement)[0][0]


@dataclass(frozen=True, slots=True)
class _PostgresRecipe:
    ports: int = 1

    def prepare(self, home: Path, ports: Sequence[int]) -> list[list[str]]:
        data = home / "data"
        data.mkdir()
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root; its own user needs a way to its files.
            shutil.chown(data, USER, USER)
            for folder in (home, *home.parents[:2]):
                folder.chmod(0o755)
        (home / "postgres.conf").write_text(_SETTINGS.format(port=ports[0], data=data))
        program = str(_programs() / "initdb")
        return [[*_owner(), program, "-D", str(data), "-U", USER, "-A", "trust", "--no-sync"]]

    def command(self, home: Path) -> list[str]:
        return [*_owner(), str(_programs() / "postgres"), f"--config-file={home / 'postgres.conf'}"]

    def is_ready(self, ports: Sequence[int]) -> bool:
        return _psql(ports[0], "SELECT 1").returncode == 0


def _programs() -> Path:
    programs = postgres_programs()
    if programs is None:
        raise SandboxError("PostgreSQL is not installed: apt-get install postgresql")
    return programs


def _owner() -> list[str]:
    """The command that runs a program as a user other than root."""
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if os.geteuid() == 0 else []


def _psql(port: int, statement: str) -> subprocess.CompletedProcess[str]:
    url = f"postgresql://{USER}@127.0.0.1:{port}/{DATABASE}"
    command = [
        str(_programs() / "psql"),
        "-X",
        "-q",
        "-A",
        "-t",
        "-F",
        "\t",
        "-v",
        "ON_ERROR_STOP=1",
        "-c",
        statement,
        url,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_WITHIN)


_SETTINGS = """\
data_directory = '{data}'
hba_file = '{data}/pg_hba.conf'
ident_file = '{data}/pg_ident.conf'
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = ''
wal_level = logical
max_replication_slots = 10
max_wal_senders = 10
fsync = off
shared_buffers = 16MB
# The slot of a reader that is gone is soon not active any more.
wal_sender_timeout = 5s
"""
