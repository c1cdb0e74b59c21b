"""The command ``connect-offsets``: as KIP-199 describes it, and as subcommands.

Exit code 0: done. 1: refused or failed, and nothing is written (or all was undone). 2: wrong usage, or input that can't
be read. 3: failed, and what was written could not be undone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from airflow_provider_connect_offsets import __version__
from airflow_provider_connect_offsets.cli.audit.commands import audit
from airflow_provider_connect_offsets.cli.live.commands import COMMANDS
from airflow_provider_connect_offsets.cli.messages import tell
from airflow_provider_connect_offsets.cli.options import (
    BACKUP,
    CONFIG,
    CONNECTORS,
    DOCUMENT,
    DRY_RUN,
    FLOW,
    FORCE,
    FROM_BEGINNING,
    WORKSPACE,
    with_options,
)
from airflow_provider_connect_offsets.cli.recover import recover
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, InvalidInput, LeftStopped

# A comma that does not follow a backslash.
_SEPARATOR = re.compile(r"(?<!\\),")

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.cli.opened import WorkerStorage


@click.group(
    invoke_without_command=True,
    epilog="As in KIP-199: connect-offsets --export|--import --config worker.properties. Details: COMMAND --help.",
)
@click.version_option(__version__, prog_name="connect-offsets")
@click.option("--export", "exports", is_flag=True, help="Write the offsets of source connectors as JSON.")
@click.option("--import", "imports", is_flag=True, help="Read the offsets from JSON, and write them to the storage.")
@with_options(CONFIG, CONNECTORS, FROM_BEGINNING, DRY_RUN, DOCUMENT, FLOW, FORCE, BACKUP, WORKSPACE)
@click.pass_context
def cli(context: click.Context, /, *, exports: bool, imports: bool, **options: Any) -> None:
    """Export and import the offsets of Kafka Connect's source connectors, in their workers' storage.

    Other commands show connectors that run, and request their states.
    """
    given = [name for name, value in options.items() if value not in (None, False, ())]
    if context.invoked_subcommand is not None:
        if exports or imports or given:
            raise click.UsageError(f"Give the options after {context.invoked_subcommand}, not before it.")
        return
    if exports and imports:
        raise click.UsageError("Give --export or --import, not both.")
    mode = "export" if exports else "import"
    if not (exports or imports) or options["config"] is None:
        click.echo(context.get_help(), err=True)
        raise click.UsageError("Give --export or --import with --config, or a command.")
    imports_only = {"dry_run", "force", "backup", "workspace"}
    command, unfit = (export, imports_only) if mode == "export" else (import_, {"from_beginning"})
    misfit = next((name for name in given if name in unfit), None)
    if misfit is not None:
        raise click.UsageError(f"--{misfit.replace('_', '-')} makes no sense with --{mode}.")
    context.invoke(command, **{name: value for name, value in options.items() if name not in unfit})


@cli.command()
@with_options(CONFIG, CONNECTORS, FROM_BEGINNING, DOCUMENT, FLOW)
def export(
    config: Path | None, connectors: tuple[str, ...], *, from_beginning: bool, document: Path | None, flow: str | None
) -> None:
    """Write the stored offsets as JSON.

    The document is sorted and has one source partition a line, so that two exports can be compared as text.
    """
    from airflow_provider_connect_offsets.cli import exporting

    opened = _open_storage(config, flow)
    exporting.export(opened, connectors=_names(connectors), from_beginning=from_beginning, target=document)


@cli.command("import")
@with_options(CONFIG, CONNECTORS, DRY_RUN, DOCUMENT, FLOW, FORCE, BACKUP, WORKSPACE)
def import_(  # noqa: PLR0913 - one for each option
    config: Path | None,
    connectors: tuple[str, ...],
    *,
    dry_run: bool,
    document: Path | None,
    flow: str | None,
    force: bool,
    backup: Path | None,
    workspace: str | None,
) -> None:
    """Write the offsets of a JSON document to the storage.

    Listed offsets are overwritten, null removes an offset, and all others stay. The import is refused while a worker
    runs a listed connector: stop the connector, or the process. What a killed import has left is undone first.
    """
    from airflow_provider_connect_offsets.cli import importing

    if dry_run and backup is not None:
        raise click.UsageError("--backup makes no sense with --dry-run: nothing is overwritten.")
    opened = _open_storage(config, flow, forced=force or dry_run)
    offsets = importing.read_document(_text(document), _names(connectors))
    importing.check(opened, offsets)
    if not dry_run and (settled := importing.settle(opened, workspace)):
        tell(settled)
    changes = importing.plan(opened, offsets)
    importing.show(changes)
    if dry_run or not changes:
        tell("Nothing was written.")
        return

    def keep() -> None:
        prior = {change.connector: change.prior_offsets for change in changes}
        importing.keep_before(prior, importing.backup_file(backup))

    importing.write(opened, changes, workspace=workspace, keep=keep)
    tell(f"Written to {opened.name}, and read back.")


@cli.command()
@click.argument("first", metavar="A", type=click.Path(exists=True, allow_dash=True, dir_okay=False, path_type=Path))
@click.argument("second", metavar="[B]", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@with_options(CONFIG, CONNECTORS, FLOW)
def diff(first: Path, second: Path | None, config: Path | None, connectors: tuple[str, ...], flow: str | None) -> None:
    """Show how export A differs from export B, or from the storage.

    Without B, A is compared with what is stored now; that needs --config.
    """
    from airflow_provider_connect_offsets.cli import comparing, importing

    if (second is None) == (config is None):
        raise click.UsageError("Give two exports, or one export and the --config of the storage to compare it with.")
    if flow is not None and config is None:
        raise click.UsageError("--flow makes no sense without --config.")
    names = _names(connectors)
    left = importing.read_document(_text(first), frozenset())
    right = (
        importing.read_document(_text(second), frozenset())
        if second is not None
        else dict(_open_storage(config, flow).read_all())
    )
    comparing.show(left, right, connectors=names)


@cli.command()
@with_options(CONFIG, CONNECTORS, FLOW, BACKUP, WORKSPACE)
@click.option("--remove", is_flag=True, help="Remove the listed offsets, and keep a copy in a file.")
def orphans(
    config: Path | None,
    connectors: tuple[str, ...],
    flow: str | None,
    *,
    backup: Path | None,
    workspace: str | None,
    remove: bool,
) -> None:
    """List offsets whose connector no longer exists."""
    from airflow_provider_connect_offsets.cli import orphaned

    if backup is not None and not remove:
        raise click.UsageError("--backup makes no sense without --remove: nothing is overwritten.")
    if workspace is not None and not remove:
        raise click.UsageError("--workspace makes no sense without --remove: a list needs no journal.")
    opened = _open_storage(config, flow)
    orphaned.show(opened, connectors=_names(connectors), remove=remove, backup=backup, workspace=workspace)


@cli.command()
@with_options(CONFIG, FLOW, FORCE)
@click.option(
    "--connectors", multiple=True, metavar="NAME,NAME", required=True, help="The connectors with a new offsets topic."
)
def copy(config: Path | None, connectors: tuple[str, ...], flow: str | None, *, force: bool) -> None:
    """Copy offsets to the topic that a connector has just been given.

    That topic is the connector's offsets.storage.topic. Connect itself does not read the offsets from the workers'
    topic, so without the copy the connector would begin anew.
    """
    from airflow_provider_connect_offsets.cli import copying

    copying.copy(_open_storage(config, flow, forced=force), sorted(_names(connectors)))


for other in (recover, audit, *COMMANDS):
    cli.add_command(other)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit."""
    try:
        cli.main(arguments, prog_name="connect-offsets", standalone_mode=True)
    except ConnectOffsetsError as error:
        tell(f"connect-offsets: {error}")
        sys.exit(_exit_code(error))
    except OSError as error:
        tell(f"connect-offsets: {error.filename or 'a file'}: {error.strerror}")
        sys.exit(1)


def _exit_code(error: ConnectOffsetsError) -> int:
    if isinstance(error, LeftStopped):
        return 3
    return 2 if isinstance(error, InvalidInput) else 1


def _open_storage(config: Path | None, flow: str | None, *, forced: bool = False) -> WorkerStorage:
    from airflow_provider_connect_offsets.cli.opened import open_storage

    if config is None:
        raise click.UsageError("Give the worker's properties file with --config.")
    return open_storage(config, flow, forced=forced)


def _names(lists: tuple[str, ...]) -> frozenset[str]:
    """Parse the lists of connectors; empty if all are meant. Lists without any name are refused."""
    listed = (name for text in lists for name in _SEPARATOR.split(text))
    names = frozenset(name.strip().replace("\\,", ",") for name in listed if name.strip())
    if lists and not names:
        raise click.UsageError("--connectors needs at least one name. For all, leave it out (not possible with copy).")
    return names


def _text(document: Path | None) -> str:
    """Read a document; raises :class:`InvalidInput` if it can't be read, or is not UTF-8 text."""
    try:
        content = sys.stdin.buffer.read() if document is None or str(document) == "-" else document.read_bytes()
        return content.decode()
    except OSError as error:
        raise InvalidInput(f"The document {document} can't be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"The document {document or 'on standard input'} isn't UTF-8 text: {error}.") from error
