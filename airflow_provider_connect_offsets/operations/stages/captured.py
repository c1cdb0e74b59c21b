"""What the stages of a connector capture, as the journal keeps it, and how a person restores it by hand."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.observe.log_positions import LogPosition
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.operations.stages.handling import ORIGIN, handling
from airflow_provider_connect_offsets.saga import (
    Captures,
    Progress,
    SagaRecord,
    SagaState,
    StageRecord,
    Undoing,
    stage_name,
)

log = logging.getLogger(__name__)
# Titles of stages in the journal; titles of earlier versions must still be read.
STOP, ALTER, RESUME, CHECK = "stop_connector", "alter_offsets", "resume_connector", "look_at_records"
EMPTY = "empty_topics"
CREATE, DELETE = "create_connector", "delete_connector"
ONE_BY_ONE = "run_one_by_one"
# Titles of the stages of a replay's clone.
PLACE, START, DELIVER = "place_clone", "start_clone", "deliver_interval"
HALT, REMOVE = "stop_clone", "remove_clone"
SET, CONFIGURE, TRY = "set_state", "change_settings", "try_settings"
IMPORT, MOVE, ORPHANS = "import_offsets", "move_groups", "remove_orphans"
# Key of a stage's specification: the Airflow connections of what it changes.
CONNECTIONS = "connections"
# Addresses of the Connect cluster, whose name in journals another cluster may have as well.
ADDRESSES = "addresses"


@dataclass(frozen=True, slots=True)
class PriorState(JsonRecord):
    """The state that a connector had (RUNNING, PAUSED or STOPPED), how many tasks, and whether one had failed.

    A connector that had failed fails again once its prior state is restored, which isn't an error then.
    """

    state: State
    tasks: int
    failed: bool = False

    @classmethod
    def observe(cls, clients: Clients, connector: str) -> PriorState:
        """Observe a connector; raises as ``steps.await_lasting_status`` does."""
        status = steps.await_lasting_status(clients, connector)
        return cls(steps.intended_state(status), len(status.tasks), status.has_failed)

    @classmethod
    def before(cls, captures: Captures, connector: str, *, cluster: str) -> PriorState:
        """Return what the stage that stopped it captured; without such a stage it was STOPPED from the beginning."""
        captured = captures.get(stage_name(STOP, connector, cluster=cluster))
        return cls(State.STOPPED, 0) if captured is None else cls.from_json(captured)


@dataclass(frozen=True, slots=True)
class Alteration(JsonRecord):
    """What the stage that alters a connector's offsets captures.

    Attributes:
        prior_state: The state that the connector had.
        prior_offsets: All its offsets at the stop.
        changes: What is written over them.
        positions: The changed partitions and their logs; empty without logs.
    """

    prior_state: State
    prior_offsets: Offsets
    changes: Offsets
    positions: tuple[LogPosition, ...] = ()

    @property
    def expected_offsets(self) -> Offsets:
        """The offsets after the change."""
        return self.prior_offsets.with_changes(self.changes)

    @property
    def undoing_changes(self) -> Offsets:
        """What is written to undo the change."""
        return self.prior_offsets.select(change.partition for change in self.changes)


def is_of_group(record: SagaRecord) -> bool:
    """Whether a saga changes the offsets of a consumer group, which has no state to restore."""
    stage = record.of_title(ALTER)
    return stage is not None and stage.spec.get(ORIGIN) == Origin.GROUP


def alteration_in(record: SagaRecord) -> Alteration | None:
    """Return what a saga has captured of the offsets that it alters; None before it has captured them."""
    return _captured_alteration(record.of_title(ALTER))


def alteration_of(record: SagaRecord, connector: str) -> Alteration | None:
    """Return what a saga has captured of the offsets of ``connector``, as a copy's saga alters several connectors'."""
    of_connector = (one for one in record.stages if (one.title, one.subject) == (ALTER, connector))
    return _captured_alteration(next(of_connector, None))


def _captured_alteration(stage: StageRecord | None) -> Alteration | None:
    return None if stage is None or stage.progress is Progress.PENDING else Alteration.from_json(stage.captured)


def is_applied(record: SagaRecord) -> bool:
    """Whether a saga has changed something, and is done."""
    alteration = alteration_in(record)
    changes = alteration is not None and (len(alteration.changes) > 0 or record.of_title(EMPTY) is not None)
    return changes and record.state is SagaState.DONE


def prior_state_in(record: SagaRecord) -> State | None:
    """Return the state that the connector of a saga's journal had; None before it was captured, and for a group."""
    if is_of_group(record):
        return None
    of_stops = (one for one in record.stages if one.title == STOP and one.subject == record.resource)
    stop = next(of_stops, None)  # the first is that of the journal's own cluster
    if stop is not None and stop.progress is not Progress.PENDING:
        return PriorState.from_json(stop.captured).state
    alteration = alteration_in(record)
    return None if alteration is None else alteration.prior_state


def connections_of(record: SagaRecord) -> list[str]:
    """List the Airflow connections that a saga uses, like ``kafka_conn_id=kafka_default``."""
    named = {f"{name}={conn_id}" for one in record.stages for name, conn_id in one.spec.get(CONNECTIONS, {}).items()}
    return sorted(named)


def describe_deleted(record: SagaRecord) -> str:
    """Describe which records at the new positions were gone after the resume; empty if none were."""
    stage = record.of_title(CHECK)
    return "" if stage is None else str(stage.facts.get("deleted", ""))


def by_hand(clients: Clients, connector: str, alteration: Alteration, undoing: Undoing) -> str:
    """Describe how a person restores the prior offsets, and keep them in a file for that, or else in the log."""
    body = alteration.undoing_changes.as_json()
    try:
        kept = undoing.keep("prior_offsets", body)
    except Exception:  # of any file system: the message must still name what is stored
        log.exception("The prior offsets of %r could not be kept in a file. They are: %s", connector, json.dumps(body))
        kept = ""
    return handling(clients).describe_restore(connector, kept)


def describe_resume(clients: Clients, connector: str, alteration: Alteration) -> str:
    """Describe how a person restores the connector's state; empty if its workers are started by other means."""
    if not clients.origin.has_states or alteration.prior_state is State.STOPPED:
        return ""
    return f", then {clients.control.by_hand(connector, alteration.prior_state)}"
