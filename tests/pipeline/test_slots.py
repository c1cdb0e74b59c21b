"""Plans for Debezium's connector for PostgreSQL: LSNs, and the replication slot that they are compared with."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.observe.slots import Slot
from airflow_provider_connect_offsets.offsets.document import JsonMap
from airflow_provider_connect_offsets.offsets.verdicts import Rule
from tests.support.rows.lists import text
from tests.support.rows.planning import ERROR, WARNING, Planner, Row, sink, source

POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"
STORED: tuple[JsonMap, JsonMap] = ({"server": "db"}, {"lsn": 0x500, "lsn_proc": 0x500, "txId": 7})
ORDERS = source(POSTGRES, STORED, topic_prefix="db", slot_name="orders")
SLOT = Slot("orders", 0x200, 0x300, "reserved", active=True, current_wal_lsn=0x900)
AT_DB = '{"server":"db"}'


def test_an_lsn_is_stored_alone(planner: Planner) -> None:
    """Both notations work. The connector delivers each transaction that commits from the LSN on, from its start."""
    for value in ("0/400", str(0x400)):
        plan = planner.plan(ORDERS, logs={}, slots=[SLOT], to="offset", value=value)

        before = '{"lsn":1280,"lsn_proc":1280,"txId":7}'
        assert plan.rows == [Row(AT_DB, before, '{"lsn":1024}', None, "set", f"to=offset {value}")]
        assert plan.rules == {Rule.EXTERNAL_OFFSETS, Rule.REWIND}
        [again] = plan.of(Rule.REWIND)
        assert "transactions that committed between LSN 0/400 and 0/500 are delivered again" in again.message


def test_a_connector_without_an_offset_gets_one_for_its_prefix(planner: Planner) -> None:
    """Its only partition follows from its configuration, whatever other partitions it has had before."""
    renamed = source(POSTGRES, ({"server": "old"}, {"lsn": 1}), topic_prefix="db", slot_name="orders")

    plan = planner.plan(renamed, logs={}, slots=[SLOT], to="offset", value="0/400")

    assert [(row.partition, row.after, row.action) for row in plan.rows] == [
        (AT_DB, '{"lsn":1024}', "set"),
        ('{"server":"old"}', '{"lsn":1}', "keep"),
    ]


@pytest.mark.parametrize(
    ("lsn", "slot", "rule", "said"),
    [
        (
            "0/2FF",
            SLOT,
            Rule.BEFORE_SLOT,
            "0/2FF lies before LSN 0/300, which the replication slot `orders` has confirmed ",
        ),
        (
            "0/901",
            SLOT,
            Rule.BEYOND_WAL,
            "0/901 lies beyond the end of PostgreSQL's write-ahead log, LSN 0/900",
        ),
        ("0/400", replace(SLOT, wal_status="lost"), Rule.SLOT_LOST, "`orders` does not exist, or"),
        (
            "0/400",
            replace(SLOT, restart_lsn=None, confirmed_flush_lsn=None, wal_status=None),
            Rule.SLOT_LOST,
            "`orders` does not exist, or",
        ),
    ],
)
def test_an_lsn_that_the_slot_does_not_deliver_is_an_error(
    planner: Planner, lsn: str, slot: Slot, rule: Rule, said: str
) -> None:
    """PostgreSQL itself would deliver later changes only, or none, and say nothing."""
    plan = planner.plan(ORDERS, logs={}, slots=[slot], to="offset", value=lsn)

    [found] = [verdict for verdict in plan.verdicts if verdict.severity == ERROR]
    assert (found.rule, found.partition) == (rule, AT_DB)
    assert re.search(said, found.message)


def test_both_ends_of_what_the_slot_delivers_can_be_requested(planner: Planner) -> None:
    """What it has confirmed, and the end of the log."""
    for lsn in ("0/300", "0/900"):
        plan = planner.plan(ORDERS, logs={}, slots=[SLOT], to="offset", value=lsn)
        assert [found for found in plan.verdicts if found.severity == ERROR] == []


def test_without_a_database_the_plan_warns(planner: Planner) -> None:
    """It says what could not be checked, also for an offset from a list."""
    copied = source(POSTGRES, ({"server": "db"}, {"lsn": 0x400}), name="copied", topic_prefix="db")
    for to, value in (("offset", "0/400"), ("connector", "copied")):
        [found] = planner.plan(ORDERS, copied, logs={}, to=to, value=value).of(Rule.SLOT_UNCHECKED)

        assert found.severity == WARNING
        assert "database_conn_id" in found.message
        assert "from LSN 0/400 on" in found.message


@pytest.mark.parametrize("value", ["mysql-bin.000003:154", "0/XYZ", "FFFFFFFF/FFFFFFFF"])
def test_what_is_no_lsn_is_refused(planner: Planner, value: str) -> None:
    """With what is expected instead."""
    [found] = planner.plan(ORDERS, logs={}, slots=[SLOT], to="offset", value=value).verdicts

    assert (found.rule, found.severity) == (Rule.NO_POSITION, ERROR)
    assert value in found.message
    assert "LSN" in found.message


def test_an_lsn_is_no_position_in_a_kafka_log(planner: Planner) -> None:
    """A sink has no use for it."""
    [found] = planner.plan(sink({("orders", 0): 40}), to="offset", value="0/400").verdicts

    assert (found.rule, found.severity) == (Rule.NO_POSITION, ERROR)
    assert "'0/400' is not a position in a Kafka log" in found.message


def test_a_relative_request_names_what_is_possible(planner: Planner) -> None:
    """Counting records needs a Kafka log; an LSN does not."""
    [found] = planner.plan(ORDERS, logs={}, slots=[SLOT], to="shift", value="-5").verdicts

    assert found.rule == Rule.NO_POSITION
    assert "Use to=offset with an LSN, like 0/16B3748 or 23803720, to=clear, to=file or to=connector." in found.message


@pytest.mark.parametrize(("offset", "rule"), [('{"txId": 7}', Rule.WRONG_KEYS), ('{"lsn": "0/400"}', Rule.WRONG_TYPE)])
@pytest.mark.parametrize("slots", [[], [SLOT]], ids=["no database", "slot"])
def test_an_offset_without_an_lsn_is_not_compared(
    planner: Planner, tmp_path: Path, slots: list[Slot], offset: str, rule: Rule
) -> None:
    """It is wrong, which is said once; there is no LSN that a verdict on the slot could name."""
    uri = text(tmp_path / "no_lsn.json", f'{{"postgres": [{{"partition": {{"server": "db"}}, "offset": {offset}}}]}}')

    plan = planner.plan(replace(ORDERS, name="postgres"), logs={}, slots=slots, to="file", value=uri)

    assert [found.rule for found in plan.verdicts if found.severity == ERROR] == [rule]
    assert [found for found in plan.verdicts if found.message is None] == []
