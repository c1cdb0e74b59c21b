"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(dir_okay=False, path_type=Path)
CONFIG = click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Properties file of a distributed or standalone worker, or of a dedicated MirrorMaker 2.",
)
FLOW = click.option("--flow", metavar="A->B", help="The flow, if a dedicated MirrorMaker 2 has several.")
CONNECTORS = click.option(
    "--connectors",
    multiple=True,
    metavar="NAME,NAME",
    help="Only these connectors; default: all. May be repeated. Write a comma in a name as \\,.",
)
FROM_BEGINNING = click.option(
    "--from-beginning", is_flag=True, help="Export all offsets that the topic still has, including overwritten ones."
)
DRY_RUN = click.option("--dry-run", is_flag=True, help="Show what an import would change, and write nothing.")
DOCUMENT = click.option(
    "--file", "document", type=FILE, metavar="FILE", help="Use this file instead of standard output or standard input."
)
FORCE = click.option(
    "--force", is_flag=True, help="Write even if workers run; they may then overwrite the offsets with their own."
)
BACKUP = click.option(
    "--backup",
    type=FILE,
    metavar="FILE",
    help="File for the prior offsets, which can be imported again; default: a new file in this directory.",
)
WORKSPACE = click.option(
    "--workspace",
    metavar="URI",
    help="URI of Airflow's workspace, so that this can't run at the same time as a task; default: your own workspace.",
)
NAMESPACE = click.option(
    "--namespace", metavar="NAME", help="Namespace of --strimzi-cluster; default: the current context's."
)


def with_options(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Give a command these options, in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
