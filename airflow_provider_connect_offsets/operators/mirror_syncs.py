"""The emptying of a flow's offset syncs, as a single step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.operators.shared.common import Interruptible, new_directory, owner_of
from airflow_provider_connect_offsets.operators.shared.flow import FlowOperator, requested_flow
from airflow_provider_connect_offsets.parameters.flow import ClearedSyncsParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import PartParams
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory

if TYPE_CHECKING:
    from airflow.sdk import Context


class ClearOffsetSyncsOperator(Interruptible, FlowOperator):
    """Empty a flow's offset-syncs topic, and its checkpoints if requested; a single step.

    The connectors must be STOPPED, or with ``control`` storage their process down: the step neither stops nor starts
    them. First the records are kept in the run's directory. The topic's cleanup policy is switched while its records
    are deleted, and restored in any case; no tombstones are written, as MirrorMaker 2 can't read them.

    Fails before anything is touched if the topic holds syncs of topics that ``source_connector`` does not
    replicate, unless ``foreign`` is true: flows with the same aliases share it. Does not change the MirrorSource's
    offsets: a flow that only has its syncs emptied replicates nothing again.

    Returns the topics, how many offsets of each were emptied, and where the records are kept.
    """

    parameters: ClassVar[Models] = (ClearedSyncsParams, *FlowOperator.parameters, PartParams)

    def execute(self, context: Context) -> dict[str, Any]:
        """Keep the records, and empty the topics."""
        from airflow_provider_connect_offsets.observe.flow.flow_snapshot import find_flow
        from airflow_provider_connect_offsets.operations.flow.flow_reset import clear_syncs

        with fail_clearly():
            run = ResetDirectory(new_directory(self, context).uri)
            given = self.parse_as(ClearedSyncsParams)
            with self.open_flow() as clients:
                reset = find_flow(requested_flow(given), clients)
                emptied = clear_syncs(reset, clients, owner_of(context), run, foreign=given.foreign)
        self.log.info("Emptied: %s. Their records are kept under %s", emptied, run.uri)
        return {"emptied": emptied, "kept": run.uri}
