"""``python -m sandbox``: a sandbox to play with."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests
from rich.console import Console
from rich.table import Column, Table

from sandbox.class_archive import write_class_archive
from sandbox.connect import ConnectAt
from sandbox.daemon import Daemon, Running
from sandbox.errors import RestRefusal, SandboxError
from sandbox.jars import KAFKA_VERSION, OLDER_VERSIONS, class_archive, kafka_jars

_out = Console(highlight=False, soft_wrap=True)
_errors = Console(stderr=True, highlight=False, soft_wrap=True)


def main(arguments: list[str] | None = None) -> int:
    """Do one command and return the exit code."""
    parsed = _parser().parse_args(arguments)
    command: Callable[[Daemon], int] = parsed.command
    try:
        return command(Daemon(parsed.state))
    except SandboxError as error:
        _errors.print(str(error), style="red", markup=False)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sandbox", description="A sandbox to play with.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, text in (
        ("up", _up, "start two Kafka clusters and a Connect worker in the background"),
        ("status", _status, "show what runs; exit 1 if nothing runs"),
        ("down", _down, "stop the sandbox and remove its files"),
        ("jars", _jars, "fetch Kafka's jars into the user's cache, and archive their classes"),
        ("older-jars", _older_jars, "fetch the jars of the older versions that `make test-versions` runs as well"),
    ):
        sub = commands.add_parser(name, help=text, description=text)
        sub.add_argument("--state", type=Path, default=Path(".sandbox"), help="state directory (default: %(default)s)")
        sub.set_defaults(command=command)
    return parser


def _up(daemon: Daemon) -> int:
    running = daemon.read_running()
    if running:
        _out.print("The sandbox is already running.")
    else:
        with _errors.status("Starting two brokers and a worker …"):
            running = daemon.up()
    _show(running)
    return 0


def _show(running: Running) -> None:
    _out.print(f"source cluster  {running.source}")
    _out.print(f"target cluster  {running.target}")
    _out.print(f"Kafka Connect   {running.connect}")
    for name, value in running.connections.items():
        _out.print(f"export {name}='{value}'", markup=False)


def _status(daemon: Daemon) -> int:
    running = daemon.read_running()
    if running is None:
        _out.print("The sandbox is not running.")
        return 1
    servers = Table("process", "pid", "ports", "state", Column("log", overflow="fold"))
    for server in running.servers:
        ports = ", ".join(map(str, server.ports))
        state = "running" if server.is_alive else "[red]gone[/red]"
        servers.add_row(server.name, str(server.pid), ports, state, server.log)
    _out.print(servers)
    _out.print(_connectors(ConnectAt(running.connect)))
    return 0


def _connectors(connect: ConnectAt) -> Table | str:
    try:
        statuses = [connect.status(name) for name in connect.connectors()]
    except (requests.RequestException, RestRefusal) as error:
        return f"Kafka Connect does not list its connectors: {error}"
    table = Table("connector", "type", "state", "tasks")
    for status in statuses:
        tasks = ", ".join(task["state"] for task in status["tasks"])
        table.add_row(status["name"], status["type"], status["connector"]["state"], tasks or "none")
    return table if statuses else "There are no connectors."


def _down(daemon: Daemon) -> int:
    _out.print("The sandbox is gone." if daemon.down() else "The sandbox was not running.")
    return 0


def _jars(_daemon: Daemon) -> int:
    _fetched(KAFKA_VERSION)
    if not class_archive().exists():
        try:
            with _errors.status("Archiving Kafka's classes once, so that its servers start sooner …"):
                write_class_archive()
        except SandboxError as error:  # all works without it
            _errors.print(str(error), style="yellow", markup=False)
    return 0


def _older_jars(_daemon: Daemon) -> int:
    return _fetched(*OLDER_VERSIONS)


def _fetched(*versions: str) -> int:
    with (
        _errors.status("Fetching Kafka's jars, which takes a minute or so …"),
        ThreadPoolExecutor(max_workers=len(versions)) as pool,  # Ivy mostly waits for one small file after another
    ):
        directories = list(pool.map(kafka_jars, versions))
    for directory in directories:
        _out.print(f"Kafka's jars are in {directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
