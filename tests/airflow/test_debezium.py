"""Debezium's connector for PostgreSQL, both real: where it resumes, and what its replication slot makes of that."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.exceptions import Drift
from airflow_provider_connect_offsets.offsets.families import family_named
from airflow_provider_connect_offsets.offsets.families.postgres import lsn_text, parse_lsn
from sandbox import ConnectWorker, Sandbox, wait_for, wait_until
from sandbox.jars import connector_plugins
from sandbox.postgres import DATABASE, PASSWORD, USER, Postgres, postgres_programs
from tests.support.airflow.dag_runs import Ran
from tests.support.flows.debezium import DatabaseChanger, OrdersConnector

pytestmark = [
    pytest.mark.jobs,
    pytest.mark.skipif(postgres_programs() is None, reason="PostgreSQL is not installed: apt-get install postgresql"),
]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL with logical decoding."""
    server = Postgres(Path(tempfile.mkdtemp(prefix="connect-offsets-postgres-")))
    try:
        server.process.start()
        yield server
    finally:
        server.process.close()


@pytest.fixture(scope="module")
def worker(sandbox: Sandbox) -> Iterator[ConnectWorker]:
    """A Connect worker that has the connector."""
    plugins = connector_plugins("debezium-postgres-3.4.3")
    running = sandbox.another_cluster("debezium", {"plugin.path": str(plugins), "offset.flush.interval.ms": "500"})
    yield running
    running.process.close()


@pytest.fixture
def changer(
    spark: SparkSession, workspace: str, worker: ConnectWorker, sandbox: Sandbox, postgres: Postgres
) -> DatabaseChanger:
    """Changes connectors with a connection of their database."""
    return DatabaseChanger(spark, workspace, worker.url, sandbox.target, postgres=postgres)


def test_a_rewind_delivers_the_changes_after_the_lsn(
    sandbox: Sandbox, worker: ConnectWorker, postgres: Postgres, changer: DatabaseChanger
) -> None:
    """Those of transactions that committed from there on, in order, as long as the slot has not confirmed them."""
    orders = OrdersConnector.start(worker, sandbox.target, postgres, lsn_flush_mode="manual")
    orders.insert(1, 2, 3)
    lsn = orders.end_of_log()
    orders.insert(4, 5, 6)
    wait_for(orders.delivered, [0, 1, 2, 3, 4, 5, 6], 60, "it does not deliver")
    orders.wait_stored(lsn)

    outcome = changer.change(orders.name, to="offset", value=lsn)

    assert outcome.final_state == "RUNNING"
    wait_for(orders.delivered, [0, 1, 2, 3, 4, 5, 6, 4, 5, 6], 60, "it does not deliver again")
    orders.insert(7)
    wait_for(lambda: orders.delivered()[-1], 7, 60, "it does not go on")
    [entry] = worker.offsets(orders.name)
    assert list(family_named("debezium_postgres").check(entry["partition"], entry["offset"], orders.config())) == []
    orders.remove()


def test_an_lsn_outside_of_what_the_slot_delivers_is_refused(
    sandbox: Sandbox, worker: ConnectWorker, postgres: Postgres, changer: DatabaseChanger
) -> None:
    """Before the connector is stopped: behind what the slot has confirmed, beyond the log, and no LSN at all."""
    orders = OrdersConnector.start(worker, sandbox.target, postgres)
    before = orders.deliver_confirmed(1, 2, 3)
    beyond = lsn_text(parse_lsn(orders.end_of_log()) + 2**30)

    for value, rule, said in (
        (before, "before_slot", f", which the replication slot `{orders.name}` has confirmed"),
        (beyond, "beyond_wal", "lies beyond the end of PostgreSQL's write-ahead log"),
        ("16B3748:0", "no_position", "is not an LSN"),
    ):
        _, summary = changer.plan(orders.name, to="offset", value=value)
        [error] = summary["errors"]
        assert said in error, (rule, error)

    assert worker.status(orders.name)["connector"]["state"] == "RUNNING"
    orders.remove()


def test_a_slot_that_has_confirmed_more_since_the_plan_is_drift(
    sandbox: Sandbox, worker: ConnectWorker, postgres: Postgres, changer: DatabaseChanger
) -> None:
    """The plan was right when it was made; at the stop it would lose changes, so nothing is written."""
    orders = OrdersConnector.start(worker, sandbox.target, postgres)
    lsn = orders.end_of_log()
    run, summary = changer.plan(orders.name, to="offset", value=lsn)
    assert summary["errors"] == []
    orders.deliver_confirmed(1, 2, 3)

    sentence = f"Nothing was written: .* has meanwhile confirmed everything up to .*'{orders.name}' should resume"
    with pytest.raises(Drift, match=sentence):
        changer.apply(run)

    worker.wait_state(orders.name, "RUNNING", tasks=1)
    orders.insert(4)
    wait_for(orders.delivered, [0, 1, 2, 3, 4], 60, "it does not go on where it was")
    orders.remove()


def test_what_postgresql_does_with_an_lsn_before_the_confirmed_one(
    sandbox: Sandbox, worker: ConnectWorker, postgres: Postgres, changer: DatabaseChanger
) -> None:
    """Without a check, changes in between are never delivered, and the connector runs as if all were well."""
    orders = OrdersConnector.start(worker, sandbox.target, postgres)
    lsn = orders.deliver_confirmed(1, 2, 3)
    worker.stop(orders.name)
    confirmed = orders.confirmed()
    assert parse_lsn(lsn) < confirmed
    unchecked = DatabaseChanger(changer.spark, changer.workspace, worker.url, sandbox.target)

    run, summary = unchecked.plan(orders.name, to="offset", value=lsn)
    assert "unknown whether the replication slot" in json.dumps(summary["warnings"])
    unchecked.apply(run)
    worker.resume(orders.name)
    orders.insert(4)

    wait_until(lambda: orders.delivered()[-1] == 4, 60, "it does not go on")
    again = orders.delivered()[4:]
    assert set(again) < {1, 2, 3, 4}
    assert 1 not in again
    assert worker.status(orders.name)["tasks"][0]["state"] == "RUNNING"
    orders.remove()


@pytest.mark.skipif(
    find_spec("airflow.providers.postgres") is None, reason="Airflow's postgres provider is not installed: make setup"
)
def test_the_dag_compares_by_a_connection_of_airflow(
    sandbox: Sandbox,
    worker: ConnectWorker,
    postgres: Postgres,
    run_dag: Callable[..., Ran],
    connection: Callable[..., None],
) -> None:
    """What the slot does not allow fails with its plan, and touches nothing; anything else is done."""
    orders = OrdersConnector.start(worker, sandbox.target, postgres, lsn_flush_mode="manual")
    lsn = orders.end_of_log()
    orders.insert(1, 2)
    wait_for(orders.delivered, [0, 1, 2], 60, "it does not deliver")
    orders.wait_stored(lsn)
    rest = urlsplit(worker.url)
    connection("orders_connect", host=rest.hostname, port=rest.port)
    connection(
        "orders_database",
        conn_type="postgres",
        host="127.0.0.1",
        port=postgres.port,
        login=USER,
        password=PASSWORD,
        schema=DATABASE,
    )
    params = {"connector": orders.name, "connect_conn_id": "orders_connect", "database_conn_id": "orders_database"}

    refused = run_dag(**params, to="offset", value="0/1")
    assert (refused.state, refused.tasks["plan"]) == ("failed", "failed")
    assert f", which the replication slot `{orders.name}` has confirmed" in refused.output

    changed = run_dag(**params, to="offset", value=lsn)
    assert changed.state == "success"
    assert PASSWORD not in refused.output + changed.output
    wait_for(orders.delivered, [0, 1, 2, 1, 2], 60, "it does not deliver again")

    connection("orders_database", conn_type="postgres", host="127.0.0.1", port=1, login=USER, schema=DATABASE)
    unreachable = run_dag(**params, to="offset", value=lsn)
    assert unreachable.tasks["snapshot"] == "failed"
    assert "The database of Airflow connection 'orders_database' failed: " in unreachable.output
    orders.remove()
