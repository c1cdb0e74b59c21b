"""Shows the records of the audit log, and verifies that they are those that were written."""

from __future__ import annotations

import click

from airflow_provider_connect_offsets.cli.live.tables import Format, Row, write
from airflow_provider_connect_offsets.cli.messages import tell
from airflow_provider_connect_offsets.cli.options import WORKSPACE, with_options
from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.journals.audit import AuditLog, AuditRecord, Head

LISTED = ("number", "at", "event", "resource", "operation", "result", "run", "triggered_by", "approved_by")
# Problems that the error names.
_NAMED = 20


@click.group()
def audit() -> None:
    """Show who has changed what, and verify the records of it."""


@audit.command("list")
@click.option("--resource", metavar="NAME", help="Only operations on this connector or other resource.")
@click.option(
    "--format", "form", type=click.Choice([one.value for one in Format]), default=Format.TABLE.value, show_default=True
)
@with_options(WORKSPACE)
def list_(resource: str | None, form: str, workspace: str | None) -> None:
    """List the records, the oldest first: each operation has one for its beginning and one for its end.

    As JSON, they are complete, with what was captured before each step, like prior offsets.
    """
    kept = (one for one in _open(workspace).records() if resource in {None, one.resource})
    if form == Format.JSON:
        write([one.as_json() for one in kept], Format.JSON, columns=LISTED, nothing="")
    else:
        write([_row(one) for one in kept], Format(form), columns=LISTED, nothing="There are no records.")


@audit.command()
@click.option(
    "--known",
    metavar="NUMBER:DIGEST",
    help="What an earlier verification has named as the newest record. Then records that were cut off, or written "
    "anew, are found, too.",
)
@with_options(WORKSPACE)
def verify(known: str | None, workspace: str | None) -> None:
    """Verify that no record was changed, removed or exchanged."""
    try:
        noted = None if known is None else Head.parse(known)
    except ValueError as error:
        raise click.UsageError(f"--known: {error}.") from error
    found = _open(workspace).verify(known=noted)
    if found.problems:
        more = len(found.problems) - _NAMED
        others = [f"And {quantify(more, 'more problem')}."] if more > 0 else []
        raise DatasetError(" ".join(["The audit log is not what was written.", *found.problems[:_NAMED], *others]))
    if not found.first:
        tell("There are no records.")
        return
    count = quantify(found.head.number - found.first + 1, "record")
    tell(f"{count}, from {found.first} to {found.head.number}: none was changed. Note the newest one elsewhere:")
    click.echo(found.head)


def _open(workspace: str | None) -> AuditLog:
    from airflow_provider_connect_offsets.cli.configured import journal_store
    from airflow_provider_connect_offsets.cli.journals import own_workspace

    return AuditLog.of(journal_store(workspace or own_workspace()))


def _row(record: AuditRecord) -> Row:
    fields = record.as_json()
    return {name: fields[name] for name in LISTED}
