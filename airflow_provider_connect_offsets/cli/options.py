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
    help="Properties of the worker: distributed, standalone, or of a dedicated MirrorMaker 2.",
)
FLOW = click.option("--flow", metavar="A->B", help="Which flow of a dedicated MirrorMaker 2, if it has several.")
CONNECTORS = click.option(
    "--connectors",
    multiple=True,
    metavar="NAME,NAME",
    help="Only these connectors; without it all of them. May be repeated; a comma in a name is written \\,.",
)
FROM_BEGINNING = click.option(
    "--from-beginning", is_flag=True, help="Export all offsets that the topic still has, also overwritten ones."
)
DRY_RUN = click.option("--dry-run", is_flag=True, help="Show what an import would change, and write nothing.")
DOCUMENT = click.option(
    "--file", "document", type=FILE, metavar="FILE", help="Instead of standard output or standard input."
)
FORCE = click.option(
    "--force", is_flag=True, help="Write although workers run, which may overwrite it with offsets of their own."
)
BACKUP = click.option(
    "--backup",
    type=FILE,
    metavar="FILE",
    help="Where to keep the prior offsets, to be imported again; without it a new file in this directory.",
)
WORKSPACE = click.option(
    "--workspace",
    metavar="URI",
    help="Where Airflow's tasks keep their journals, so that neither overlaps the other; without it your own.",
)


def with_options(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Give a command these options, in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
