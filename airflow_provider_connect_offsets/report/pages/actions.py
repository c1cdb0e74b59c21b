"""What one most often does with a connector, and the command for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_connect_offsets.offsets.families import Sink
from airflow_provider_connect_offsets.words import trigger_command

_CHANGE, _POISON = "connector_offsets_change", "connector_offsets_poison"


@dataclass(frozen=True)
class OfferedAction:
    """What a run of ``dag_id`` with these Params does, in words for who triggers it."""

    what: str
    dag_id: str
    params: Mapping[str, object]

    @property
    def command(self) -> str:
        """The shell command that triggers the run."""
        return trigger_command(self.dag_id, self.params)


def actions_on(connector: str, family: str, where: Mapping[str, str]) -> list[OfferedAction]:
    """Return what one does with a connector of this family; ``where``: the Params that name the connections."""
    where = {"connector": connector, **where}
    back: dict[str, object] = {**where, "to": "shift", "value": "-100"}
    actions = [
        OfferedAction("See what it would read again if it went 100 offsets back", _CHANGE, {**back, "dry_run": True}),
        OfferedAction("Let it go 100 offsets back, once someone approves", _CHANGE, back),
        OfferedAction("Let it read everything again", _CHANGE, {**where, "to": "earliest", "value": ""}),
    ]
    if family == Sink.name:
        skipped = "Find the record on which it has failed, and skip it once someone approves"
        actions.append(OfferedAction(skipped, _POISON, where))
    return actions
