"""Connectors that are created at offsets, configured, copied or renamed with their offsets, and deleted with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_provider_connect_offsets.exceptions import InvalidRequest, LeftStopped
from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.operators.connector import (
    ConnectorOperator,
    own_file,
    parse_offsets,
    parse_state,
)
from airflow_provider_connect_offsets.operators.shared.approval import AskOperator
from airflow_provider_connect_offsets.operators.shared.common import Interruptible, owner_of
from airflow_provider_connect_offsets.operators.shared.events import ChangeKind, TellsChanges
from airflow_provider_connect_offsets.parameters.connections import StepConnectionParams
from airflow_provider_connect_offsets.parameters.copying import (
    ChangedSettingsParams,
    CheckOnlyParams,
    CopyParams,
    NewConnectorParams,
)
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import QuestionParams, WaitingParams
from airflow_provider_connect_offsets.words import quantify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Context

    from airflow_provider_connect_offsets.observe.clients import Clients
    from airflow_provider_connect_offsets.offsets.document import Offsets
    from airflow_provider_connect_offsets.operations.existence.copy_check import Copying


class CreateConnectorOperator(Interruptible, TellsChanges, ConnectorOperator):
    """Create a connector that resumes at given offsets: created STOPPED, offsets written and read back, then started.

    If anything fails, nothing is left of it, and offsets that were stored under its name before are restored. Needs
    Kafka 3.7 or later. Returns how many partitions have an offset. The creation is an event of the connector's asset.
    """

    parameters: ClassVar[Models] = (NewConnectorParams, StepConnectionParams, WaitingParams)
    template_fields_renderers: ClassVar[dict[str, str]] = {"config": "json", "offsets": "json"}

    def step(self, clients: Clients, context: Context) -> int:
        """Create the connector, write its offsets and read them back, and bring it into its state."""
        from airflow_provider_connect_offsets.operations.existence.create_delete import create
        from airflow_provider_connect_offsets.operations.existence.new_connector import NewConnector

        given = self.parse_as(NewConnectorParams)
        state = parse_state(given.connector, given.state)
        config = given.settings
        offsets = _starting_offsets(given, config, clients)
        new = NewConnector(given.connector, config, offsets, state, given.inherit)
        count = create(new, clients, owner_of(context))
        whose = quantify(count, "partition")
        self.log.info("%r was created with offsets of %s, and is %s.", new.name, whose, new.state)
        self.tell_change(context, clients, new.name, kind=ChangeKind.CREATED, partitions=count)
        return count


class UpdateConnectorConfigOperator(Interruptible, TellsChanges, ConnectorOperator):
    """Change some settings of a connector, and let it run with them, or restore the settings that it had.

    The worker validates the new configuration first. Then the connector is stopped, its settings are changed and read
    back, and it gets its prior state again. If it fails with the new settings, the prior ones are restored. ``name``,
    ``connector.class`` and secrets can't be changed, nor an address if the connector has secrets that would be sent
    there. Needs ``control`` rest, strimzi+rest or strimzi. Returns what was changed, a text for each setting; an empty
    list if the connector had these settings already. The change is an event of the connector's asset.
    """

    parameters: ClassVar[Models] = (*ConnectorOperator.parameters, ChangedSettingsParams)
    template_fields_renderers: ClassVar[dict[str, str]] = {"config": "json"}

    def step(self, clients: Clients, context: Context) -> list[str]:
        """Change the settings."""
        from airflow_provider_connect_offsets.operations.existence.configuring import configure

        settings = self.parse_as(ChangedSettingsParams).settings
        changed = configure(self.connector, settings, clients, owner_of(context))
        if not changed:
            self.log.info("%r has these settings already, so nothing was changed.", self.connector)
            return []
        self.log.info("%r has other settings now: %s", self.connector, "; ".join(changed))
        self.tell_change(context, clients, self.connector, kind=ChangeKind.CONFIGURED, settings=list(changed))
        return list(changed)


class _CopyOperator(TellsChanges, ConnectorOperator):
    """A task on a connector and its copy."""

    parameters: ClassVar[Models] = (CopyParams, StepConnectionParams, WaitingParams)
    template_fields_renderers: ClassVar[dict[str, str]] = {"config": "json"}

    def make_copying(self) -> Copying:
        """Return what is copied, and how; raises :class:`InvalidRequest`."""
        from airflow_provider_connect_offsets.operations.existence.copy_check import Copying

        given = self.parse_as(CopyParams)
        return Copying(
            given.connector,
            given.new_name,
            given.overrides,
            rename=given.rename,
            stop_original=given.stop_original,
        )

    def tell_copied(self, context: Context, clients: Clients, what: Copying, count: int) -> None:
        """Add the events of a copy that has offsets of ``count`` partitions, and of an original that is deleted."""
        self.tell_change(context, clients, what.new_name, kind=ChangeKind.CREATED, partitions=count)
        if what.rename:
            self.tell_change(context, clients, what.connector, kind=ChangeKind.DELETED, partitions=count)


class CopyConnectorOperator(Interruptible, _CopyOperator):
    """Create a connector with the settings and offsets of another one; with ``rename`` it takes that one's place.

    The copy is created STOPPED, gets the offsets of the original, which are read back, and then the state that the
    original has. If anything fails before the original is deleted or resumed, the original is as it was, and nothing is
    left of the copy. Needs Kafka 3.7 or later. Returns in one sentence what was done; ``CheckCopyOperator`` says
    beforehand what would be done. The creation of the copy is an event of its asset, and so is the deletion of the
    original.
    """

    def step(self, clients: Clients, context: Context) -> str:
        """Copy the connector."""
        from airflow_provider_connect_offsets.operations.existence import copy_check, copying

        what = self.make_copying()
        count = copying.copy(what, clients, owner_of(context))
        self.tell_copied(context, clients, what, count)
        sentence = copy_check.done(what, count)
        self.log.info("%s", sentence)
        return sentence


class CheckCopyOperator(_CopyOperator):
    """Describe what a copy or rename would do, and fail if it can't work. Meant as the first task of a copy or rename.

    First undoes, or finishes, an earlier run on either connector that was killed: otherwise its half-made copy would
    occupy the name. With ``dry_run`` nothing is changed. Returns a sentence that says what would be done.
    """

    parameters: ClassVar[Models] = (*_CopyOperator.parameters, CheckOnlyParams)

    def step(self, clients: Clients, context: Context) -> str:
        """Settle an earlier run that was killed, and check the copy."""
        from airflow_provider_connect_offsets.operations.existence import copy_check, copying

        what = self.make_copying()
        if not self.parse_as(CheckOnlyParams).dry_run:
            copying.settle_left(what, clients, owner_of(context))
        sentence = copy_check.describe_copy(what, copy_check.check(what, clients))
        self.log.info("%s", sentence)
        return sentence


class RenameConnectorOperator(CopyConnectorOperator):
    """Give a connector another name: a ``CopyConnectorOperator`` that deletes the original."""

    preset: ClassVar[dict[str, Any]] = {"rename": True}


class ReleaseCopyOperator(_CopyOperator):
    """The teardown of a copy or rename: undoes whatever the same run has left.

    If the task was killed, restores the original and removes the copy, or finishes a rename that has begun to delete
    the original. Returns a sentence that says what was done. If the copy exists then, adds the event of its asset,
    which the killed task did not add.
    """

    def execute(self, context: Context) -> str:
        """Undo the copy, or finish the rename; a retry tries again what failed."""
        with fail_clearly(except_for=LeftStopped), self._open() as clients:
            return self.step(clients, context)

    def step(self, clients: Clients, context: Context) -> str:
        """Undo the copy, or finish a rename."""
        from airflow_provider_connect_offsets.operations.existence import copying

        what = self.make_copying()
        left = copying.release(what, clients, owner_of(context))
        if left is None:
            return "Nothing was left to undo."
        message, count = left
        if count is not None:
            self.tell_copied(context, clients, what, count)
        return message


class ApproveCopyOperator(AskOperator):
    """Ask a person whether a connector is to be copied or renamed, in the words of ``CheckCopyOperator`` (``summary``).

    Without ``approval`` the run goes on at once; with ``plan_only``, and after a rejection, what follows is skipped.
    """

    parameters: ClassVar[Models] = (QuestionParams,)
    preset: ClassVar[dict[str, Any]] = {"subject": "Copy a connector with its offsets?"}
    summary: Any

    def is_asked(self) -> bool:
        """Return whether a person is asked; skips what follows in a dry run."""
        given = self.parse_as(QuestionParams)
        if given.plan_only:
            raise AirflowSkipException(f"Dry run: nothing is changed. {self.summary}")
        return self.needs(approval=given.approval)

    def question(self) -> tuple[str, str]:
        """Return subject and body."""
        from airflow_provider_connect_offsets.report.question import escape_line

        return self.subject, escape_line(str(self.summary))

    def record_rejection(self) -> None:
        """Record the rejection in the log."""
        self.log.warning("Rejected, so nothing was changed: %s", self.summary)


class DeleteConnectorOperator(Interruptible, TellsChanges, ConnectorOperator):
    """Delete a connector together with its offsets: stopped, offsets removed and read back, then deleted.

    If anything fails before the deletion itself, offsets and state are restored. First the offsets are kept as KIP-199
    JSON, which ``to=file`` and ``connect-offsets import`` take. Returns the URI of that file. The deletion is an event
    of the connector's asset.
    """

    def step(self, clients: Clients, context: Context) -> str:
        """Stop the connector, remove its offsets, verify that none is left, and delete it."""
        from airflow_provider_connect_offsets.operations.existence.create_delete import delete

        kept, name = own_file(context), self.connector
        count = delete(name, clients, owner_of(context), kept=kept)
        whose = quantify(count, "partition")
        self.log.info("%r was deleted with its offsets of %s, which are kept in %s", name, whose, kept)
        self.tell_change(context, clients, name, kind=ChangeKind.DELETED, partitions=count, offsets_uri=kept)
        return kept


def _starting_offsets(given: NewConnectorParams, config: Mapping[str, str], clients: Clients) -> Offsets:
    """Return the offsets that are given, or computed for ``start_at``; raises :class:`InvalidRequest`."""
    from airflow_provider_connect_offsets.operations.existence.new_connector import StartAt, log_offsets

    if given.start_at:
        if given.offsets or given.start_at not in set(StartAt):
            raise InvalidRequest(
                f"Nothing was created: {given.connector!r} has start_at={given.start_at!r}. It must be earliest or "
                "latest, and offsets must not be given as well."
            )
        return log_offsets(given.connector, config, StartAt(given.start_at), clients)
    return parse_offsets(given.connector, given.offsets or [], nothing="Nothing was created:")
