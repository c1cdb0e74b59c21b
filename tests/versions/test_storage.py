"""Offsets in the stores of each version: exported, imported (KIP-199), and changed with control=storage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.cli.opened import open_storage
from airflow_provider_connect_offsets.kafka.remaining import RemainingRecords
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from sandbox import Sandbox
from tests.support.flows.flows import RECORDS, Changer, MirrorFlow
from tests.support.programs.kafka_versions import CHANGING, READ_ONLY, on
from tests.support.programs.shell import Shell

pytestmark = [pytest.mark.versions, on(READ_ONLY, *CHANGING)]


@dataclass(frozen=True)
class StorageChanger(Changer):
    """Changes offsets in the worker's topic; the connector must be STOPPED."""

    settings: Path = Path()

    @contextmanager
    def clients(self) -> Iterator[Clients]:
        """Open the storage that the worker's settings name."""
        opened = open_storage(self.settings, None)
        with RemainingRecords({"bootstrap.servers": self.kafka.bootstrap}) as logs:
            yield replace(opened.clients(self.workspace), logs=logs, timeout=self.timeout, origin=Origin.TOPIC)


def test_offsets_are_changed_where_they_are_stored(
    sandbox: Sandbox, mirror: MirrorFlow, spark: SparkSession, workspace: str, run: Shell
) -> None:
    """Refused while the connector runs; what was imported or applied while it is STOPPED is where it resumes."""
    settings, connect = sandbox.connect.settings, sandbox.connect
    exported = run("--export", "--config", settings, "--connectors", mirror.name)
    moved = exported.out.replace(f'"offset":{RECORDS - 1}', '"offset":59')
    assert moved.count('"offset":59') == 2
    refused = run("--import", "--config", settings, stdin=moved)
    assert (refused.code, f"Nothing was written: '{mirror.name}' is RUNNING" in refused.err) == (1, True)

    connect.stop(mirror.name)
    imported = run("--import", "--config", settings, stdin=moved)
    assert imported.code == 0, imported.err
    assert delivered_again(mirror) == list(range(60, RECORDS))

    connect.stop(mirror.name)
    changer = StorageChanger(spark, workspace, connect.url, sandbox.source, timeout=10, settings=settings)
    changer.change(mirror.name, "offset", "30")
    assert delivered_again(mirror) == list(range(30, RECORDS))


def delivered_again(mirror: MirrorFlow) -> list[int]:
    """Resume the connector; the records of partition 1 that it replicates."""
    before = mirror.target_ends()
    mirror.sandbox.connect.resume(mirror.name)
    mirror.wait_until_caught_up()
    records = mirror.sandbox.target.consume(mirror.target_topic, start=before, partition=1)
    return [int((record.value or b"").partition(b":")[2]) for record in records]
