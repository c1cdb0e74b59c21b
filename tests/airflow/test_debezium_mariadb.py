"""Debezium's connector for MariaDB, both real: where it resumes, and which offsets it does not forgive."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.exceptions import NotRunning
from airflow_provider_connect_offsets.offsets.families import family_named
from sandbox import ConnectWorker, Sandbox, wait_for, wait_until
from sandbox.jars import connector_plugins
from sandbox.mariadb import MariaDb, has_mariadb
from tests.support.flows.flows import Changer
from tests.support.flows.mariadb_orders import MariaDbOrders

pytestmark = [
    pytest.mark.jobs,
    pytest.mark.skipif(not has_mariadb(), reason="MariaDB is not installed: apt-get install mariadb-server"),
]


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDb]:
    """A MariaDB with a binlog of rows."""
    server = MariaDb(Path(tempfile.mkdtemp(prefix="connect-offsets-mariadb-")))
    try:
        server.start()
        yield server
    finally:
        server.process.close()


@pytest.fixture(scope="module")
def worker(sandbox: Sandbox) -> Iterator[ConnectWorker]:
    """A Connect worker that has the connector."""
    plugins = connector_plugins("debezium-mariadb-3.5.0")
    running = sandbox.another_cluster(
        "debezium-mariadb", {"plugin.path": str(plugins), "offset.flush.interval.ms": "500"}
    )
    yield running
    running.process.close()


@pytest.fixture
def changer(spark: SparkSession, workspace: str, worker: ConnectWorker, sandbox: Sandbox) -> Changer:
    return Changer(spark, workspace, worker.url, sandbox.target)


@pytest.fixture
def orders(worker: ConnectWorker, sandbox: Sandbox, mariadb: MariaDb) -> Iterator[MariaDbOrders]:
    """A connector that has delivered its snapshot, the row 0."""
    started = MariaDbOrders.start(worker, sandbox.target, mariadb)
    yield started
    started.remove()


def test_a_rewind_delivers_the_changes_after_a_position_in_the_binlog(orders: MariaDbOrders, changer: Changer) -> None:
    """MariaDB itself converts file and position to GTIDs; what comes later follows, and the offset stored is sound."""
    orders.insert(1, 2, 3)
    file, position = orders.end_of_binlog()
    orders.insert(4, 5, 6)
    wait_for(orders.delivered, [0, 1, 2, 3, 4, 5, 6], 60, "it does not deliver")

    outcome = changer.change(orders.name, to="offset", value=orders.gtids_at(file, position))

    assert outcome.final_state == "RUNNING"
    wait_for(orders.delivered, [0, 1, 2, 3, 4, 5, 6, 4, 5, 6], 60, "it does not deliver again")
    orders.insert(7)
    wait_for(lambda: orders.delivered()[-1], 7, 60, "it does not go on")
    wait_until(
        lambda: "row" in (orders.worker.stored_offsets(orders.name)[0] or {}), 30, "it stores no offset of its own"
    )
    [entry] = orders.worker.offsets(orders.name)
    assert list(family_named("debezium_mariadb").check(entry["partition"], entry["offset"], orders.config())) == []


def test_offsets_that_the_connector_can_not_read_are_refused(
    orders: MariaDbOrders, changer: Changer, tmp_path: Path
) -> None:
    """Before it is stopped: a position in the binlog instead of GTIDs, GTIDs of MySQL, and an offset without GTIDs."""
    file, position = orders.end_of_binlog()
    listed = tmp_path / "offsets.json"
    offsets: list[tuple[dict[str, str | int], str]] = [
        ({"file": file, "pos": position}, "must have the keys gtids, pos"),
        ({"file": file, "pos": position, "gtids": " 0-1-8 "}, "'gtids' must be GTIDs"),
    ]
    for value in (f"{file}:{position}", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"):
        _, summary = changer.plan(orders.name, to="offset", value=value)
        assert "is not GTIDs, one for each domain" in summary["errors"][0]
    for offset, said in offsets:
        content = {"offsets": [{"partition": {"server": orders.name}, "offset": offset}]}
        listed.write_text(json.dumps(content))
        _, summary = changer.plan(orders.name, to="file", value=listed.as_uri())
        assert said in summary["errors"][0]

    assert orders.worker.status(orders.name)["connector"]["state"] == "RUNNING"


def test_gtids_that_the_server_never_had_fail_the_change(orders: MariaDbOrders, changer: Changer) -> None:
    """Only the server knows that, and says it when the connector resumes; another change mends it."""
    gtids = orders.gtids_at(*orders.end_of_binlog())
    domain, server, number = gtids.split("-")

    with pytest.raises(NotRunning, match="this is no longer available on the server"):
        changer.change(orders.name, to="offset", value=f"{domain}-{server}-{int(number) + 1000}")

    changer.change(orders.name, to="offset", value=gtids)
    orders.insert(1)
    wait_for(orders.delivered, [0, 1], 60, "it does not go on")


def test_what_the_connector_does_with_offsets_that_are_refused_here(orders: MariaDbOrders) -> None:
    """Without GTIDs its task fails, with any file and position; GTIDs with a space make it deliver all again."""
    file, position = orders.end_of_binlog()
    gtids = orders.gtids_at(file, position)

    orders.alter({"file": file, "pos": position})
    orders.worker.wait_state(orders.name, "FAILED")
    orders.alter({"file": file, "pos": position, "gtids": f"{gtids} "})
    wait_for(orders.delivered, [0, 0], 60, "it does not begin again")
