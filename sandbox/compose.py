"""Commands that docker-compose.yaml runs: set up the demo's scene once, and check Airflow's health.

::

    python -m sandbox.compose scene --source HOST:PORT --target HOST:PORT --connect URL --data DIRECTORY
    python -m sandbox.compose healthy --airflow URL --passwords FILE --dag DAG_ID
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import requests
from rich.console import Console

from sandbox.airflow import AirflowAt, Login
from sandbox.connect import ConnectAt
from sandbox.errors import SandboxError
from sandbox.kafka import KafkaAt
from sandbox.parts import PartsAt
from sandbox.scene import MIRROR, MIRRORED, SINK, TOPIC, Scene
from sandbox.waiting import wait_until

_READY = 60.0
_USER = "admin"  # the one that Airflow's simple auth manager has by default

_out = Console(highlight=False, markup=False, soft_wrap=True)
_errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit code: 1 if it failed."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except (SandboxError, requests.RequestException, OSError) as error:
        _errors.print(str(error))
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sandbox.compose", description="Parts of docker-compose.yaml.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    scene = commands.add_parser("scene", help="create the demo's topic and connectors, where they are missing")
    scene.add_argument("--source", type=KafkaAt, required=True, metavar="HOST:PORT")
    scene.add_argument("--target", type=KafkaAt, required=True, metavar="HOST:PORT")
    scene.add_argument("--connect", type=ConnectAt, required=True, metavar="URL")
    scene.add_argument("--data", type=Path, required=True, help="directory for the sink's file, on the Connect worker")
    scene.set_defaults(command=_set_scene)
    healthy = commands.add_parser("healthy", help="exit 0 if all parts of Airflow work and it has found a DAG")
    healthy.add_argument("--airflow", required=True, metavar="URL")
    healthy.add_argument("--passwords", type=Path, required=True, help="the simple auth manager's file")
    healthy.add_argument("--dag", required=True, metavar="DAG_ID")
    healthy.set_defaults(command=_check_health)
    return parser


def _set_scene(options: argparse.Namespace) -> int:
    scene = Scene(PartsAt(options.source, options.target, options.connect, options.data))
    url = options.connect.url
    wait_until(options.connect.is_ready, _READY, f"Kafka Connect at {url} does not answer, or lacks a connector plugin")
    scene.set_up()
    _out.print(f"{MIRROR} replicates {TOPIC}, a year of hourly readings, to {MIRRORED}.")
    _out.print(f"{SINK} writes that topic to {scene.file}, on the Connect worker.")
    return 0


def _check_health(options: argparse.Namespace) -> int:
    password = json.loads(options.passwords.read_text())[_USER]
    airflow = AirflowAt(options.airflow, Login(_USER, password))
    if not airflow.is_healthy():
        _errors.print("Not all parts of Airflow are healthy yet.")
        return 1
    if not airflow.has_dag(options.dag):
        _errors.print(f"Airflow has not found the DAG {options.dag} yet.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
