"""Each call of a removal of orphaned offsets is broken; the next one completes the removal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import cast
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanRequest
from airflow_provider_connect_offsets.offsets.storage import key_bytes, parse_key
from airflow_provider_connect_offsets.operations.orphans import (
    orphans_journal,
    remove_orphans,
)
from airflow_provider_connect_offsets.operations.registry import make_registry
from airflow_provider_connect_offsets.operations.stages.orphans.orphaned_offsets import (
    take_orphan_snapshot,
)
from airflow_provider_connect_offsets.pipeline import orphans_job
from airflow_provider_connect_offsets.saga import settle
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory
from sandbox import Sandbox
from tests.support.faults.faulty_clients import Fault, Faults, Outage
from tests.support.faults.matrix import Generated
from tests.support.faults.outages import Outages
from tests.support.faults.recovered_by import RecoveredBy
from tests.support.faults.rows import FAULTS, Row, owner

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
GONE = frozenset({"first", "second"})


@dataclass
class RemovalOfOrphans(Row):
    """An offsets topic in which two connectors that don't exist have offsets; a third is not requested."""

    sandbox: Sandbox
    spark: SparkSession
    outages: Outages
    topic: str
    folder: Path
    directory: OrphansDirectory | None = None

    name = "removal of orphans"
    kind = "offsets topic"
    share = 5
    faults = (*FAULTS, Outage.BROKER_KILLED)
    # Nothing comes between a failed removal and its next attempt: no teardown undoes it.
    successors = (RecoveredBy.RETRY, RecoveredBy.OTHER_RUN, RecoveredBy.PERSON)
    is_made_once = False

    @classmethod
    @contextmanager
    def opened(cls, request: pytest.FixtureRequest) -> Iterator[RemovalOfOrphans]:
        sandbox, spark = request.getfixturevalue("sandbox"), request.getfixturevalue("spark")
        topic, outages = f"orphans-{uuid4().hex[:8]}", Outages(sandbox)
        sandbox.target.create_topic(topic, config={"cleanup.policy": "compact"})
        yield cls(sandbox, spark, outages, topic, request.getfixturevalue("tmp_path"))
        outages.close()

    def ready(self, turn: int) -> None:
        """Let them have offsets again, and find them."""
        del turn
        for name, number in product(("first", "second", "other"), range(2)):
            key = key_bytes(name, {"filename": f"{number}.txt"})
            self.sandbox.target.produce(self.topic, [b'{"position":5}'], keys=[key])
        self.directory = OrphansDirectory((self.folder / uuid4().hex).as_uri())
        requested = OrphanRequest(topic=self.topic, connectors="first|second")
        with self.clients() as clients:
            assert clients.topic is not None
            take_orphan_snapshot(requested, cast("ConnectRest", clients.control), clients.topic, self.directory)
        assert orphans_job.run(self.spark, self.directory)["orphaned"] == len(GONE)

    @contextmanager
    def clients(self) -> Iterator[Clients]:
        """Clients of the Connect cluster, and the topic; each attempt's journals are in the directory of its run."""
        assert self.directory is not None
        endpoint = ConnectEndpoint((self.sandbox.connect.url,))
        with (
            ConnectRest(endpoint, timeout=60) as connect,
            OffsetsTopic(self.sandbox.target.client_settings(), self.topic) as topic,
        ):
            yield Clients(connect, connect, topic=topic, workspace=self.workspace)

    @property
    def workspace(self) -> str:
        """With journals of its own."""
        assert self.directory is not None
        return f"{self.directory.uri}-workspace"

    def act(self, faults: Faults, by: Owner) -> None:
        assert self.directory is not None
        with self.clients() as clients:
            faults.registry = make_registry(clients)
            broken = replace(faults.clients(clients), topic=faults.around(clients.topic))
            remove_orphans(self.directory, broken, by, digest=read_json(self.directory.summary)["digest"])

    def check(self, error: BaseException | None) -> None:
        assert error is not None or self.is_done()

    def is_done(self) -> bool:
        """Nobody undoes a removal that has begun: it is whole, or is still to be made, in part too."""
        found = self.observed()
        assert "other" in found
        return not GONE & found

    def recover(self, by: Owner) -> None:
        where = {"url": self.sandbox.connect.url, "kafka": self.sandbox.target.bootstrap}
        with self.finishing():
            recovering.recover_orphans(self.workspace, self.topic, **where, run=by.run)

    def come_next(self, by: Owner) -> None:
        with self.finishing(), self.clients() as clients:
            left = settle(orphans_journal(clients), owner(), make_registry(clients))
            assert left is None or left.record.owner.run == by.run

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """Assert that a removal that was begun is whole at the end of the block."""
        begun = GONE & self.observed() != GONE
        yield
        assert self.is_done() or not begun, "a removal that was begun was not finished"

    def finish(self, by: Owner, error: BaseException | None, successor: RecoveredBy) -> None:
        super().finish(by, error, successor)
        assert self.directory is not None
        assert set(read_json(self.directory.removed)) == GONE

    def world(self, fault: Fault | Outage) -> None:
        self.outages.begin(Outage(fault))

    def over(self) -> None:
        self.outages.wait()

    def change_theirs(self) -> None:
        """Someone creates one of them again, which has an offset from then on: it is no orphan any more."""
        key = key_bytes("first", {"filename": "0.txt"})
        self.sandbox.target.produce(self.topic, [b'{"position":9}'], keys=[key])

    def observed(self) -> set[str]:
        """Connectors that have an offset."""
        with self.clients() as clients:
            assert clients.topic is not None
            records = clients.topic.read_stored().records.items()
            keys = (parse_key(raw) for raw, value in records if value is not None)
            return {key.connector for key in keys if key is not None}


class TestOrphans(Generated):
    """What was approved is removed, all of it, by the next who comes after the first tombstone; nothing else is."""

    rows = (RemovalOfOrphans,)
