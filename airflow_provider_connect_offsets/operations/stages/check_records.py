"""The stage that checks, after the resume, whether the records at the connector's positions exist."""

from __future__ import annotations

from airflow_provider_connect_offsets.exceptions import StoreError
from airflow_provider_connect_offsets.observe import log_positions
from airflow_provider_connect_offsets.operations.stages.captured import ALTER, CHECK, Alteration
from airflow_provider_connect_offsets.operations.stages.handling import handling
from airflow_provider_connect_offsets.operations.stages.reached import ConnectorStage
from airflow_provider_connect_offsets.saga import Captures, Done, Found, JsonMap, Kind, StageState, stage_name


class CheckRecords(ConnectorStage):
    """Checks after the resume whether the records at the new positions exist; there is nothing to undo.

    Its fact ``deleted`` is a sentence about records that don't exist; it is missing if all exist, or that is unknown.
    """

    title = CHECK
    kind = Kind.PROOF

    def capture(self, earlier: Captures) -> JsonMap:
        """Capture the same as the stage that altered the offsets."""
        return dict(earlier[stage_name(ALTER, self.subject, cluster=self.cluster)])

    def do(self, captured: JsonMap) -> Done:
        """Compare the new positions with their logs."""
        alteration = Alteration.from_json(captured)
        try:
            out_of_log = log_positions.list_requested_gone(self._clients, alteration.positions)
        except StoreError as error:
            return Done((f"{error} It is unknown whether records at the positions of {self.subject!r} were deleted.",))
        if not out_of_log:
            return Done()
        gone, handled = log_positions.describe_gone(self.subject, out_of_log), handling(self._clients)
        deleted = (
            f"The offsets of {self.subject!r} were changed and read back"
            f"{handled.describe_resumed(alteration.prior_state)}, but records at its positions were deleted "
            f"{handled.since}: {gone} Deleted records that it had not read can't be delivered any more. Compare what "
            "has arrived, and raise retention.ms of the topic before a new run."
        )
        return Done(facts={"deleted": deleted})

    def find(self, captured: JsonMap) -> StageState:
        """Return DONE: there is nothing to undo."""
        return StageState(Found.DONE)
