"""What the stages of a connector capture, as the journal keeps it, and how a person puts it back by hand."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.observe.log_positions import LogPosition
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_rest
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.saga.record import Progress, SagaRecord, SagaState
from airflow_provider_connect_offsets.saga.stage import Captures, JsonMap, Undoing, stage_name

log = logging.getLogger(__name__)
# Titles of stages, by which the journal knows them.
STOP, ALTER, RESUME, LOOK = "stop_connector", "alter_offsets", "resume_connector", "look_at_records"
EMPTY = "empty_topics"
# Of a stage's specification: the Airflow connections that lead to what it changes.
CONNECTIONS = "connections"


@dataclass(frozen=True, slots=True)
class PriorState:
    """The state that a connector had (RUNNING, PAUSED or STOPPED) and how many tasks."""

    state: State
    tasks: int

    @classmethod
    def observed(cls, clients: Clients, connector: str) -> PriorState:
        """Ask for it; raises as ``steps.lasting_status`` does."""
        status = steps.lasting_status(clients, connector)
        return cls(steps.intended_state(status), len(status.tasks))

    @classmethod
    def of(cls, captured: JsonMap) -> PriorState:
        """Read what :meth:`as_json` wrote."""
        return cls(State(captured["state"]), captured["tasks"])

    @classmethod
    def before(cls, captures: Captures, connector: str, *, cluster: str) -> PriorState:
        """What the stage that stopped it captured; without such a stage it was STOPPED from the beginning."""
        captured = captures.get(stage_name(STOP, connector, cluster=cluster))
        return cls(State.STOPPED, 0) if captured is None else cls.of(captured)

    def as_json(self) -> dict[str, Any]:
        """Write it."""
        return {"state": self.state.value, "tasks": self.tasks}


@dataclass(frozen=True, slots=True)
class Alteration:
    """The state that a connector had, all its offsets at the stop, what is written over them, and positions in logs."""

    prior_state: State
    prior: Offsets
    changes: Offsets
    positions: tuple[LogPosition, ...] = ()

    @property
    def expected(self) -> Offsets:
        """What stands after the change."""
        return self.prior.updated(self.changes)

    @property
    def back(self) -> Offsets:
        """What is written to take the change back."""
        return self.prior.only(change.partition for change in self.changes)

    def as_json(self) -> dict[str, Any]:
        """Write it; :meth:`of` reads it."""
        return {
            "prior_state": self.prior_state.value,
            "prior_offsets": self.prior.as_json(),
            "changes": self.changes.as_json(),
            "positions": [one.as_json() for one in self.positions],
        }

    @classmethod
    def of(cls, captured: Mapping[str, Any]) -> Alteration:
        """Read what :meth:`as_json` wrote."""
        return cls(
            State(captured["prior_state"]),
            parse_rest(captured["prior_offsets"]),
            parse_rest(captured["changes"]),
            tuple(map(LogPosition.from_json, captured["positions"])),
        )


def alteration_in(record: SagaRecord) -> Alteration | None:
    """What a saga has captured of the offsets that it alters; None where it has not come to that."""
    stage = record.of_title(ALTER)
    return None if stage is None or stage.progress is Progress.PENDING else Alteration.of(stage.captured)


def is_applied(record: SagaRecord) -> bool:
    """Whether a saga has changed something, and is done."""
    found = alteration_in(record)
    changes = found is not None and (len(found.changes) > 0 or record.of_title(EMPTY) is not None)
    return changes and record.state is SagaState.DONE


def prior_state_in(record: SagaRecord) -> State | None:
    """The state that the connector of a saga's journal had; None before that was captured."""
    of_stops = (one for one in record.stages if one.title == STOP and one.subject == record.resource)
    stop = next(of_stops, None)  # the first is that of the journal's own cluster
    if stop is not None and stop.progress is not Progress.PENDING:
        return PriorState.of(stop.captured).state
    found = alteration_in(record)
    return None if found is None else found.prior_state


def connections_of(record: SagaRecord) -> list[str]:
    """The Airflow connections that a saga was made through, like ``kafka_conn_id=kafka_default``."""
    told = {f"{name}={conn_id}" for one in record.stages for name, conn_id in one.spec.get(CONNECTIONS, {}).items()}
    return sorted(told)


def deleted_in(record: SagaRecord) -> str:
    """Which records at the new positions were gone after the resume; empty where none were."""
    stage = record.of_title(LOOK)
    return "" if stage is None else str(stage.facts.get("deleted", ""))


def by_hand(clients: Clients, connector: str, found: Alteration, undoing: Undoing) -> str:
    """How a person puts the prior offsets back, which are kept for that beside the journal, or else in the log."""
    body = found.back.as_json()
    try:
        kept = undoing.keep("prior_offsets", body)
    except Exception:  # whatever a file system raises: what stands is to be said all the same
        log.exception("The prior offsets of %r, which could not be kept as a file: %s", connector, json.dumps(body))
        kept = ""
    if clients.origin is Origin.REST:
        where = f"kept in {kept}" if kept else "that the log of this task shows"
        return f"send PATCH /connectors/{connector}/offsets with the body {where}"
    where = kept or "a file that holds the offsets which the log of this task shows"
    return f"run connector_offsets_change with control=storage, to=file and value={where}"


def then(clients: Clients, connector: str, found: Alteration) -> str:
    """How the connector gets its state again; what is changed in its storage is started by whoever stopped it."""
    path = f"/connectors/{connector}"
    if clients.origin is not Origin.REST or found.prior_state is State.STOPPED:
        return ""
    return f", then PUT {path}/pause" if found.prior_state is State.PAUSED else f", then PUT {path}/resume"
