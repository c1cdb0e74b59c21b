"""Logs that change or do not answer while a change observes them; the offsets are in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.protocols import WriteReply
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.connect.storage.offsets_file import write_mappings
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.connect.storage.storage_control import StorageControl
from airflow_provider_connect_offsets.exceptions import Drift, NotApplied, RecordsDeleted, Unreachable
from airflow_provider_connect_offsets.kafka.logs import LogBounds, Retention
from airflow_provider_connect_offsets.kafka.remaining import Remaining
from airflow_provider_connect_offsets.kafka.spans import Isolation
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result
from tests.support.rows.made_up_cluster import AllSeen

PARTITION = '{"cluster":"source","partition":0,"topic":"orders"}'
KEY = b'["flow",{"cluster":"source","partition":0,"topic":"orders"}]'
BEFORE, REQUESTED = '{"offset":99}', '{"offset":9}'  # positions 100 and 10
# The reads of a change: before the write, before the resume, after it.
THERE, DOWN = 0, None


@dataclass
class Logs(AllSeen):
    """A log that starts at another offset, or does not exist, at each call; the last answer is repeated."""

    starts: Iterator[int | None]
    servers: str = "scripted:9092"
    _start: int | None = None

    def cluster_id(self) -> str:
        return "scripted"

    def topics(self) -> Mapping[str, int]:
        return {"orders": 1}

    def bounds(
        self, partitions: Iterable[TopicPartition], *, moment: datetime | None = None
    ) -> Mapping[TopicPartition, LogBounds]:
        del moment
        self._start = next(self.starts, self._start)
        if self._start is None:
            raise Unreachable("no answer from Kafka.")
        return {where: LogBounds(self._start, 100) for where in partitions}

    def retention(
        self, bounds: Mapping[TopicPartition, Any], *, now: datetime, soon: timedelta
    ) -> Mapping[TopicPartition, Retention]:
        raise NotImplementedError

    def first_remaining(
        self, positions: Mapping[TopicPartition, int], *, isolation: Isolation = Isolation.READ_UNCOMMITTED
    ) -> Mapping[TopicPartition, Remaining]:
        raise NotImplementedError


class Lying(StandaloneFile):
    """Writes a wrong offset, once."""

    lied = False

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        wrong = Offsets.of([Entry(PARTITION, '{"offset":1}')])
        changes, self.lied = (changes if self.lied else wrong), True
        return super().write_offsets(connector, changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a worker that is down."""
    write_mappings(tmp_path / "connect.offsets", {KEY: BEFORE.encode()})
    return tmp_path / "connect.offsets"


def change(store: StandaloneFile, *starts: int | None) -> Outcome:
    """Set position 10, on a log that starts at each of ``starts`` in turn."""
    where: dict[str, Any] = {"topic": "orders", "kafka_partition": 0, "before": BEFORE, "before_position": 100}
    row = PlanRow(
        "flow", "mirror_source", PARTITION, **where, after=REQUESTED, after_position=10, action=Action.SET, reason=""
    )
    request = Request.parse(connector="flow", to="offset", value="10", now=datetime.now(tz=UTC))
    control = StorageControl(store, lambda urls, timeout: ConnectRest(ConnectEndpoint(urls), timeout=timeout))
    known = Clients(store, control, cluster="alone", workspace=store.path.parent.as_uri())
    clients = replace(known, logs=Logs(iter(starts)), timeout=0.05, origin=Origin.FILE)
    return apply_plan(OffsetPlan.of(request, [row]), clients, Owner.here(run="test/run", task="apply"))


def stored_in(store: StandaloneFile) -> str | None:
    return store.read_offsets("flow").by_partition()[PARTITION]


@pytest.mark.parametrize(
    ("starts", "kind", "message", "offset"),
    [
        ((25,), Drift, "Nothing was written: 'flow', topic 'orders', partition 0: .*position 10 was deleted", BEFORE),
        ((THERE, 11), NotApplied, r"record 10 is gone.*Its prior offsets were restored", BEFORE),
        (
            (THERE, 101, 101),
            NotApplied,
            r"Records at its prior positions were deleted meanwhile: .*position 100",
            BEFORE,
        ),
        ((THERE, THERE, 25), RecordsDeleted, "the log starts at 25 now, so records 10 to 24 are gone", REQUESTED),
        ((DOWN,), Unreachable, "no answer", BEFORE),
        ((THERE, DOWN), NotApplied, "no answer.*Its prior offsets were restored", BEFORE),
    ],
)
def test_what_becomes_of_the_change(
    path: Path, starts: tuple[int | None, ...], kind: type[Exception], message: str, offset: str
) -> None:
    """Nothing is written, or it is undone, or it is not called applied; through a worker as in its storage."""
    store = StandaloneFile(path)

    with pytest.raises(kind, match=message):
        change(store, *starts)

    assert stored_in(store) == offset


def test_logs_that_can_not_be_read_after_the_resume(path: Path) -> None:
    """The offsets are verified and it has resumed, so this is a warning: an error would suggest a repetition."""
    store = StandaloneFile(path)

    outcome = change(store, THERE, THERE, DOWN)

    assert (outcome.result, stored_in(store)) == (Result.APPLIED, REQUESTED)
    assert "It is unknown whether records at the positions of 'flow' were deleted" in outcome.warnings[0]


def test_logs_that_can_not_be_read_before_the_undo_resumes(path: Path) -> None:
    """They are verified, and brokers that are down are no reason to keep a connector down as well."""
    store = Lying(path)

    with pytest.raises(NotApplied, match="Its prior offsets were restored and read back"):
        change(store, THERE, DOWN)

    assert stored_in(store) == BEFORE


def test_brokers_that_come_back_are_waited_for(path: Path) -> None:
    """An answer within the timeout counts like an immediate one."""
    store = StandaloneFile(path)

    assert change(store, DOWN, THERE, DOWN, THERE).result is Result.APPLIED
