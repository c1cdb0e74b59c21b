"""The emptying of a flow's offset syncs, as a single step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.hooks.flow import open_flow
from airflow_provider_connect_offsets.hooks.runs import directory_of
from airflow_provider_connect_offsets.offsets.requests.flags import is_true
from airflow_provider_connect_offsets.operators.flow import CONNECTIONS, FlowOperator, asked_of, reset_directory
from airflow_provider_connect_offsets.operators.shared.common import owner_of

if TYPE_CHECKING:
    from airflow.sdk import Context


class ClearOffsetSyncsOperator(FlowOperator):
    """Empty a flow's offset-syncs topic, with ``checkpoints`` true its checkpoints too; a single step.

    The connectors must be STOPPED, or with ``control`` storage their process down: the step neither stops nor starts
    them. First the records are kept in the run's directory. The topic's cleanup policy is switched while its records
    are deleted, and put back whatever happens; no tombstones are written, as MirrorMaker 2 can't read them.

    Fails before anything is touched where the topic holds syncs of topics that ``source_connector`` does not
    replicate, unless ``foreign`` is true: flows with the same aliases share it. Does not change the MirrorSource's
    offsets: a flow that only has its syncs emptied replicates nothing again.

    Returns the topics, how many offsets of each were emptied, and where the records are kept.
    """

    template_fields: Sequence[str] = (
        *CONNECTIONS,
        "source_connector",
        "checkpoint_connector",
        "checkpoints",
        "foreign",
        "part",
    )
    ui_color = "#f3e3d3"

    def __init__(
        self,
        *,
        source_connector: str,
        checkpoint_connector: str = "",
        checkpoints: bool | str = False,
        foreign: bool | str = False,
        part: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source_connector = source_connector
        self.checkpoint_connector = checkpoint_connector
        self.checkpoints = checkpoints
        self.foreign = foreign
        self.part = part

    def execute(self, context: Context) -> dict[str, Any]:
        """Keep the records, and empty the topics."""
        from airflow_provider_connect_offsets.observe.flow.flow_snapshot import find_flow
        from airflow_provider_connect_offsets.operations.flow.clear_syncs import clear_syncs

        run = reset_directory(directory_of(context, part=self.part).uri)
        with failing_clearly():
            asked = asked_of(self.source_connector, self.checkpoint_connector, checkpoints=self.checkpoints)
            foreign = is_true(self.foreign)
            with open_flow(self.connections) as opened:
                reset = find_flow(asked, opened.clients)
                held = opened.held(reset)
                emptied = clear_syncs(reset, opened.clients, held, owner_of(context), run, foreign=foreign)
        self.log.info("Emptied: %s. Their records are kept under %s", emptied, run.uri)
        return {"emptied": emptied, "kept": run.uri}
