"""Plans of many connectors at once are those of each alone, and cost Spark few queries more."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.observe.slots import Slot
from airflow_provider_connect_offsets.offsets.families import ConnectorType
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.pipeline.plan import plan_job
from airflow_provider_connect_offsets.pipeline.plan.overall import MOST_NAMES
from airflow_provider_connect_offsets.pipeline.plan.plan import Planned, plan, plans
from airflow_provider_connect_offsets.workspace import schemas
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.files import read_json, write_json
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from tests.support.rows.lists import text
from tests.support.rows.planning import NOW, Connector, Log, Planner, at_sink, mirror, read, sink, source

pytestmark = pytest.mark.jobs

LOGS = {(topic, number): Log(10, 100, lookup=50) for topic in ("orders", "payments") for number in (0, 1)}
DATABASE = source("io.debezium.connector.postgresql.PostgresConnector", ({"server": "a"}, {"lsn": 7}), name="database")
FILES = source("FileStreamSource", ({"filename": "f"}, {"position": 7}), name="files")
# Sinks of other topics, positions and settings; families that differ in all that rules look at.
FLEET = [
    sink({("orders", 0): 40, ("orders", 1): 90}, name="orders"),
    sink({("payments", 0): 40, ("gone", 0): 5}, name="payments", topics="payments"),
    sink({("orders", 0): 100}, name="any", topics_regex="(or|pay).*"),
    sink({("orders", 1): 60}, name="latest", consumer_override_auto_offset_reset="latest"),
    sink({("orders", 1): 60}, name="failed", failed=True),
    sink({}, name="ordres", topics="ordres"),
    mirror({("orders", 0): 60, ("orders", 1): 20}, name="flow"),
    mirror({("payments", 0): 60}, name="other", topics="payments", source_cluster_alias="elsewhere"),
    FILES,
    DATABASE,
    Connector("group", ConnectorType.GROUP, "", {}, {("orders", 0): 30}, state="STOPPED"),
]


def found(planned: Sequence[Planned], name: str) -> tuple[list[Any], list[Any], Any]:
    """Rows, verdicts and counts of one connector."""
    (its,) = [one for one in planned if name in one.counts]
    frames = (its.rows, its.verdicts)
    rows, verdicts = (sorted(map(str, frame.where(frame.connector == name).collect())) for frame in frames)
    return rows, verdicts, its.counts[name]


@pytest.mark.parametrize(
    ("compared", "asked"),
    [
        (("orders", "payments", "any", "flow", "files"), {"to": "offset", "value": "101"}),
        (("orders", "latest", "group", "ordres"), {"to": "shift", "value": "-15", "topics": "or.*"}),
        (("orders", "failed"), {"to": "skip"}),
        (("payments", "other", "files", "database"), {"to": "clear", "partitions": "0-7"}),
        (("orders", "any"), {"to": "latest", "topics": "oders"}),
    ],
    ids=lambda value: value.get("to") if isinstance(value, dict) else "",
)
def test_each_plan_is_that_of_the_connector_alone(
    planner: Planner, compared: Sequence[str], asked: Mapping[str, str]
) -> None:
    """Whatever they have in common with the others: rows, verdicts with their words, counts and digest."""
    snapshot = planner.snapshot(FLEET, LOGS)
    requests = {one.name: Request.parse(connector=one.name, now=NOW, noun=one.type.noun, **asked) for one in FLEET}

    together = list(plans(planner.spark, snapshot, list(requests.values())))

    assert len(together) < len(requests)
    assert sorted(name for one in together for name in one.counts) == sorted(requests)
    for name in compared:
        assert found(together, name) == found([plan(planner.spark, snapshot, requests[name])], name)


SINKS = [
    sink({("orders", 0): 40, ("orders", 1): 90}, name="orders"),
    sink({("orders", 0): 70}, name="any", topics_regex="(or|pay).*"),
    sink({("payments", 0): 40}, name="payments", topics="payments"),
]
OF_EACH = """SELECT * FROM VALUES ('orders', 'orders', 1, 9L), ('orders', 'orders', 1, 8L), ('any', 'payments', 0, 5L)
AS landed(connector, topic, partition, last)"""
FOR_ALL = "SELECT 'orders' AS reads, 0 AS partition, CAST(19 AS STRING) AS last"
DOCUMENT = {"orders": [{"partition": {"kafka_topic": "orders", "kafka_partition": 1}, "offset": {"kafka_offset": 20}}]}
DOCUMENT |= {"any": [{"partition": {"kafka_topic": "payments", "kafka_partition": 0}, "offset": None}], "else": []}


@pytest.mark.parametrize(
    "asked",
    [
        {"to": "query", "value": OF_EACH},
        {"to": "query", "value": FOR_ALL, "columns": "topic=reads"},
        {"to": "query", "value": "SELECT 1 AS nothing"},
        {"to": "connector", "value": "template"},
        {"to": "connector", "value": "nobody"},
        {"to": "file", "value": "kip199.json"},
        {"to": "file", "value": "rest.json"},
        {"to": "file", "value": "cut.json"},
        {"to": "file", "value": "table.csv", "columns": "last=max_offset"},
        {"to": "file", "value": "lines.jsonl"},
    ],
    ids=lambda asked: f"{asked['to']} {asked['value'][:10]}",
)
def test_one_list_is_read_once_for_all(planner: Planner, tmp_path: Path, asked: Mapping[str, str]) -> None:
    """Each connector's plan is that of the connector alone, whichever list it is, and whatever is wrong with it."""
    text(tmp_path / "kip199.json", json.dumps(DOCUMENT))
    text(tmp_path / "rest.json", json.dumps({"offsets": DOCUMENT["orders"]}))
    text(tmp_path / "cut.json", json.dumps(DOCUMENT)[:-9])
    text(tmp_path / "table.csv", "connector,topic,partition,max_offset\nany,orders,0,5\norders,orders,0,x\n")
    text(tmp_path / "lines.jsonl", '{"topic": "orders", "partition": 0, "position": 5}\n')
    given = {**asked, "value": str(tmp_path / asked["value"])} if asked["to"] == "file" else asked
    parsed = [Request.parse(connector=one.name, now=NOW, **given) for one in SINKS]
    requests = [replace(request, catalogs=("spark_catalog",)) for request in parsed]
    snapshot = planner.snapshot([*SINKS, sink({("orders", 1): 33, ("gone", 0): 1}, name="template")], LOGS)

    together = list(plans(planner.spark, snapshot, requests))

    assert len(together) == 1
    for request in requests:
        alone = found([plan(planner.spark, snapshot, request)], request.connector)
        rows, verdicts, counts = found(together, request.connector)
        unlisted = f"`{request.connector}`: the file {given['value']} has no offsets of this connector."
        if given["value"].endswith("kip199.json") and request.connector == "payments":
            # Alone, it is told whose offsets the file has.
            assert any(unlisted in verdict for verdict in verdicts)
            assert any("its connectors: 'any', 'else', 'orders'" in verdict for verdict in alone[1])
            continue
        assert (rows, verdicts, counts) == alone


def test_databases_are_planned_together(planner: Planner) -> None:
    """Each with its own replication slot, and with the partition that its own configuration names."""
    fleet = [
        source(DATABASE.java_class, ({"server": f"db{number}"}, {"lsn": 0x500}), name=f"db{number}", **settings)
        for number, settings in enumerate(
            (
                {"topic_prefix": "db0", "slot_name": "orders"},
                {"topic_prefix": "renamed", "slot_name": "payments"},
                {"topic_prefix": "db2"},
            )
        )
    ]
    slots = [
        Slot("orders", 0x200, 0x300, "reserved", active=True, current_wal_lsn=0x900),
        Slot("payments", 0x200, 0x450, "lost", active=True, current_wal_lsn=0x900),
    ]
    snapshot = planner.snapshot(fleet, LOGS, slots)
    for asked in ({"to": "offset", "value": "0/400"}, {"to": "clear"}):
        requests = [Request.parse(connector=one.name, now=NOW, **asked) for one in fleet]

        together = list(plans(planner.spark, snapshot, requests))

        assert len(together) == 1
        for request in requests:
            assert found(together, request.connector) == found(
                [plan(planner.spark, snapshot, request)], request.connector
            )


def test_one_table_for_all(planner: Planner, tmp_path: Path) -> None:
    """A file with the column connector has the offsets of each; those that it lacks are refused by name."""
    uri = f"{tmp_path.as_uri()}/offsets"
    rows = [
        ("orders", at_sink(0), read(20)),
        ("payments", at_sink(1, "payments"), read(30)),
        ("orders", "no map", None),
    ]
    planner.spark.createDataFrame(rows, "connector string, partition string, offset string").write.parquet(uri)
    snapshot = planner.snapshot(FLEET, LOGS)
    requests = [
        Request.parse(connector=name, now=NOW, to="file", value=uri) for name in ("orders", "payments", "any", "flow")
    ]

    together = list(plans(planner.spark, snapshot, requests))

    assert [sorted(one.counts) for one in together] == [["any", "orders", "payments"], ["flow"]]
    for request in requests:
        alone = plan(planner.spark, snapshot, request)
        assert found(together, request.connector) == found([alone], request.connector)
    rows_of_payments, _, counts = found(together, "payments")
    assert (counts.set, len(rows_of_payments)) == (1, 3)
    _, refused, _ = found(together, "any")
    assert len(refused) == 1
    assert f"`any`: the file {uri} has no offsets of this connector." in refused[0]
    assert any("an entry of the list: " in verdict for verdict in found(together, "orders")[1])


def test_a_file_without_connectors_is_for_each(planner: Planner, tmp_path: Path) -> None:
    """Its positions count for every connector of a fleet."""
    path = tmp_path / "offsets.csv"
    path.write_text("topic,partition,position\norders,0,33\n")
    requests = [
        Request.parse(connector=name, now=NOW, to="file", value=path.as_uri()) for name in ("orders", "any", "failed")
    ]

    for request in requests:
        together = list(plans(planner.spark, planner.snapshot(FLEET, LOGS), requests))
        rows, _, counts = found(together, request.connector)
        assert counts.set == 1
        assert any("after_position=33" in row for row in rows)


def test_a_fleet_of_many_kinds_is_one_dataset(planner: Planner, tmp_path: Path) -> None:
    """More groups than are written at a time: nothing is lost, and each connector has its own summary."""
    fleet = FleetDirectory(tmp_path.as_uri())
    databases = [
        source(DATABASE.java_class, ({"server": f"s{number}"}, {"lsn": number}), name=f"db{number:02}")
        for number in range(18)
    ]
    listed = [*databases, FLEET[0]]
    publish(fleet, listed, to="clear")

    plan_job.JOB.run(planner.spark, [fleet.uri])

    planned = read_dataset(fleet.offset_plan, schemas.OFFSET_PLAN)
    assert sorted(row["connector"] for row in planned) == sorted([*(one.name for one in databases), "orders", "orders"])
    summaries = {name: read_json(run.summary) for name, run in fleet.members().items()}
    assert {name: (one["connector"], one["clear"]) for name, one in summaries.items()} == {
        one.name: (one.name, 2 if one.name == "orders" else 1) for one in listed
    }
    verdicts = read_dataset(fleet.verdicts, schemas.VERDICTS, connector=("db07",))
    assert {row["connector"] for row in verdicts} == {"db07"}
    assert summaries["db07"]["verdicts"]["warning"] == sum(row["severity"] == "warning" for row in verdicts)


def test_each_connector_of_a_fleet_gets_similar_names(planner: Planner, tmp_path: Path) -> None:
    """However many unknown names the list has for the connectors before it."""
    many = [f"a,gone{number:02},0,5" for number in range(MOST_NAMES)]
    uri = text(tmp_path / "list.csv", "\n".join(["connector,topic,partition,position", *many, "b,ordres,0,5"]))
    fleet = [sink({("orders", 0): 40}, name=name) for name in ("a", "b")]
    requests = [Request.parse(connector=one.name, now=NOW, to="file", value=uri) for one in fleet]

    (planned,) = plans(planner.spark, planner.snapshot(fleet, LOGS), requests)

    messages = [row["message"] for row in planned.verdicts.where("connector = 'b'").collect()]
    assert any("Did you mean `orders`?" in message for message in messages), messages


def test_a_large_plan_is_written_by_several_tasks(
    planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The datasets have the same rows, and rows of a file are in order."""
    datasets: dict[str, list[Any]] = {}
    for where, most in (("small", plan_job.ROWS_OF_A_FILE), ("large", 1)):
        monkeypatch.setattr(plan_job, "ROWS_OF_A_FILE", most)
        fleet = FleetDirectory((tmp_path / where).as_uri())
        publish(fleet, FLEET[:3], to="offset", value="101")

        plan_job.run(planner.spark, fleet)

        files = list((tmp_path / where / "offset_plan").glob("*.parquet"))
        assert (len(files) > 1) is (where == "large")
        for uri, schema in ((fleet.offset_plan, schemas.OFFSET_PLAN), (fleet.verdicts, schemas.VERDICTS)):
            rows = sorted(map(str, read_dataset(uri, schema)))
            assert datasets.setdefault(schema.name, rows) == rows


def publish(fleet: FleetDirectory, listed: Sequence[Connector], **asked: str) -> None:
    """Write what an observing task writes, for the same request of each connector."""
    for one in listed:
        request = Request.parse(connector=one.name, now=NOW, **asked)
        write_json(fleet.member(one.name).request, request.as_json())
    write_dataset(fleet.connectors, schemas.CONNECTORS, [one.row() for one in listed])
    write_dataset(
        fleet.connector_offsets, schemas.CONNECTOR_OFFSETS, [row for one in listed for row in one.offset_rows()]
    )
    log = {"kafka_cluster": "kafka", "topic": "orders", "log_start": 10, "log_end": 100}
    write_dataset(fleet.log_bounds, schemas.LOG_BOUNDS, [{**log, "kafka_partition": number} for number in (0, 1)])
    fleet.publish(one.name for one in listed)
