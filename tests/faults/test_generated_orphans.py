"""Each call of a removal of orphaned offsets is broken; the next one completes the removal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanRequest
from airflow_provider_connect_offsets.offsets.storage import key_bytes, parse_key
from airflow_provider_connect_offsets.operations.orphans import (
    orphans_journal,
    remove_orphans,
)
from airflow_provider_connect_offsets.operations.registry import reached
from airflow_provider_connect_offsets.operations.stages.orphans.orphaned_offsets import (
    take_orphan_snapshot,
)
from airflow_provider_connect_offsets.pipeline import orphans_job
from airflow_provider_connect_offsets.saga import settle
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory
from sandbox import Sandbox
from tests.support.faults.fault_table import Ending, Note
from tests.support.faults.faulty_clients import Fault, Faults, Killed, Outage
from tests.support.faults.outages import Outages
from tests.support.faults.recovered_by import RecoveredBy

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
FAULTS: list[Fault | Outage] = [*(fault for fault in Fault if fault is not Fault.THEIRS), Outage.BROKER_KILLED]
SHARE = 5
GONE = frozenset({"first", "second"})
# Nothing comes between a failed removal and its next attempt: no teardown undoes it.
SUCCESSORS = (RecoveredBy.RETRY, RecoveredBy.OTHER_RUN, RecoveredBy.PERSON)


@dataclass(frozen=True)
class OrphansCase:
    """An offsets topic in which two connectors that don't exist have offsets; a third is not requested."""

    sandbox: Sandbox
    spark: SparkSession
    topic: str
    folder: Path

    @classmethod
    def start(cls, sandbox: Sandbox, spark: SparkSession, folder: Path) -> OrphansCase:
        """Create the topic."""
        topic = f"orphans-{uuid4().hex[:8]}"
        sandbox.target.create_topic(topic, config={"cleanup.policy": "compact"})
        return cls(sandbox, spark, topic, folder)

    def ready(self) -> OrphansDirectory:
        """Let them have offsets again, and find them."""
        for name, number in product(("first", "second", "other"), range(2)):
            key = key_bytes(name, {"filename": f"{number}.txt"})
            self.sandbox.target.produce(self.topic, [b'{"position":5}'], keys=[key])
        directory = OrphansDirectory((self.folder / uuid4().hex).as_uri())
        requested = OrphanRequest.parse(topic=self.topic, connectors="first|second", now=datetime.now(tz=UTC))
        with self.connect() as connect, self.stored() as topic:
            take_orphan_snapshot(requested, connect, topic, directory)
        assert orphans_job.run(self.spark, directory)["orphaned"] == len(GONE)
        return directory

    def connect(self) -> ConnectRest:
        return ConnectRest(ConnectEndpoint((self.sandbox.connect.url,)), timeout=60)

    def stored(self) -> OffsetsTopic:
        return OffsetsTopic(self.sandbox.target.client_settings(), self.topic)

    def remove(self, directory: OrphansDirectory, workspace: str, faults: Faults, owner: Owner) -> None:
        """Remove what was found."""
        with ExitStack() as stack:
            opened, stored = stack.enter_context(self.connect()), stack.enter_context(self.stored())
            whole = Clients(opened, opened, topic=stored, workspace=workspace)
            faults.registry = reached(whole)
            clients, digest = (
                replace(faults.clients(whole), topic=faults.around(stored)),
                read_json(directory.summary)["digest"],
            )
            remove_orphans(directory, clients, owner, digest=digest)

    def settle(self, workspace: str, successor: RecoveredBy, owner: Owner) -> None:
        """As another removal does, or a person."""
        if successor is RecoveredBy.PERSON:
            where = {"url": self.sandbox.connect.url, "kafka": self.sandbox.target.bootstrap}
            recovering.recover_orphans(workspace, self.topic, **where, run=owner.run)
        elif successor is RecoveredBy.OTHER_RUN:
            with self.connect() as connect, self.stored() as topic:
                clients = Clients(connect, connect, topic=topic, workspace=workspace)
                settle(orphans_journal(clients), _owner(), reached(clients))

    def having_offsets(self) -> set[str]:
        """Connectors that have an offset."""
        with self.stored() as topic:
            keys = (parse_key(raw) for raw, value in topic.stored().records.items() if value is not None)
            return {key.connector for key in keys if key is not None}


@pytest.fixture(scope="module")
def case(sandbox: Sandbox, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> OrphansCase:
    return OrphansCase.start(sandbox, spark, tmp_path_factory.mktemp("orphans"))


@pytest.fixture(scope="module")
def outages(sandbox: Sandbox) -> Iterator[Outages]:
    running = Outages(sandbox)
    yield running
    running.close()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_broken_at_each_call(
    case: OrphansCase,
    outages: Outages,
    note_generated: Note,
    monkeypatch: pytest.MonkeyPatch,
    *,
    fault: Fault | Outage,
    whole: bool,
) -> None:
    """What was approved is removed, all of it, by the next who comes after the first tombstone; nothing else is."""
    counted, nth = Faults(), FAULTS.index(fault)
    case.remove(case.ready(), (case.folder / uuid4().hex).as_uri(), counted, _owner())
    moments = list(enumerate(product(range(len(counted.calls)), (False, True))))
    if not whole:
        moments = moments[(nth + int(os.environ["FAULT_SEED"])) % SHARE :: SHARE]
    endings: set[Ending] = set()
    for number, (at, after) in moments:
        faults = Faults(fault, at, after, world=lambda: outages.begin(Outage(fault)))
        successor = SUCCESSORS[(number + nth) % len(SUCCESSORS)]
        with faults.naming("removal", successor), faults.files(monkeypatch):
            endings.add(_cell(case, faults, outages, successor))
    for ending in sorted(endings):
        note_generated(fault, "removal of orphans", "offsets topic", ending)


def _cell(case: OrphansCase, faults: Faults, outages: Outages, successor: RecoveredBy) -> Ending:
    directory, workspace, owner = case.ready(), (case.folder / uuid4().hex).as_uri(), _owner()
    error: BaseException | None = None
    try:
        case.remove(directory, workspace, faults, owner)
    except (Killed, SystemExit, ConnectOffsetsError) as raised:
        error = raised
    faults.mend()
    outages.wait()
    assert error is not None or not GONE & case.having_offsets()
    before = GONE & case.having_offsets()
    case.settle(workspace, successor, owner)
    if before != GONE and successor is not RecoveredBy.RETRY:
        assert not GONE & case.having_offsets(), "a removal that was begun was not finished"
    was_removed = not GONE & case.having_offsets()
    case.remove(directory, workspace, Faults(), owner)
    assert case.having_offsets() == {"other"}
    assert set(read_json(directory.removed)) == GONE
    return Ending.APPLIED if was_removed else Ending.NEXT


def _owner() -> Owner:
    return Owner.here(run=f"test/{uuid4().hex}", task="remove")
