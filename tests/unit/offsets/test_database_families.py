"""Families of connectors that read databases: keys, types, LSNs, and the class names that they cover."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.document import JsonMap
from airflow_provider_connect_offsets.offsets.families import ConnectorType, family_named, family_of
from airflow_provider_connect_offsets.offsets.families.elsewhere import find_elsewhere
from airflow_provider_connect_offsets.offsets.families.mariadb import DebeziumMariaDb
from airflow_provider_connect_offsets.offsets.families.postgres import DebeziumPostgres, lsn_text, parse_lsn, slot_of
from airflow_provider_connect_offsets.offsets.family import MAX_OFFSET
from airflow_provider_connect_offsets.offsets.verdicts import Rule

DEBEZIUM = "io.debezium.connector"
CONFIG = {"topic.prefix": "db"}
SERVER: JsonMap = {"server": "db"}
JDBC_TABLE: JsonMap = {"protocol": "1", "table": "public.orders"}
BINLOG: JsonMap = {"file": "binlog.000001", "pos": 1919}
# As real connectors store them (docs/seen.md), and as in their documentation.
SOUND: list[tuple[str, JsonMap, JsonMap]] = [
    (
        "debezium_postgres",
        SERVER,
        {"lsn": 9, "lsn_proc": 9, "lsn_commit": 8, "txId": 732, "ts_usec": 1, "messageType": "INSERT"},
    ),
    ("debezium_postgres", SERVER, {"lsn": 1, "snapshot": "INITIAL", "last_snapshot_record": True, "txId": None}),
    ("debezium_mysql", SERVER, {"file": "mysql-bin.000003", "pos": 154, "row": 1, "event": 2, "ts_sec": 1}),
    ("debezium_mysql", SERVER, {"file": "b.1", "pos": 4, "gtids": "a-b:1-5", "transaction_id": "x"}),
    ("debezium_mariadb", SERVER, {**BINLOG, "gtids": "0-1-10", "row": 1, "event": 2, "server_id": 1, "ts_sec": 1}),
    ("debezium_mariadb", SERVER, {**BINLOG, "gtids": "0-1-5", "snapshot": "INITIAL"}),
    ("debezium_mariadb", SERVER, {"file": "", "pos": 0, "gtids": "0-1-8,4294967295-2-18446744073709551615"}),
    (
        "debezium_sqlserver",
        {"server": "db", "database": "orders"},
        {"commit_lsn": "00000027:00000ac0:0003", "change_lsn": "00000027:00000AC0:0002", "event_serial_no": 1},
    ),
    ("debezium_sqlserver", {"server": "db", "database": "orders"}, {"commit_lsn": "NULL", "change_lsn": None}),
    ("debezium_mongodb", {"server_id": "db"}, {"resume_token": "8265E5", "sec": 1, "ord": 2}),
    ("debezium_mongodb", {"server_id": "db", "rs": "rs0"}, {"sec": 1, "ord": 2, "initsync": True}),
    ("debezium_oracle", SERVER, {"scn": "123", "commit_scn": "124:1:", "snapshot_scn": "1"}),
    ("jdbc_source", JDBC_TABLE, {"incrementing": 7}),
    ("jdbc_source", {"query": "query"}, {"timestamp": 5, "timestamp_nanos": 999_999_999, "incrementing": 7}),
]
BROKEN: list[tuple[str, JsonMap, JsonMap, list[str]]] = [
    ("debezium_postgres", SERVER, {"lsn_proc": 5}, ["wrong_keys"]),
    ("debezium_postgres", SERVER, {"lsn": "0/5"}, ["wrong_type"]),
    ("debezium_postgres", SERVER, {"lsn": -5}, ["negative"]),
    ("debezium_postgres", SERVER, {"lsn": 5, "last_snapshot_record": "yes"}, ["wrong_type"]),
    ("debezium_postgres", {"server": "other"}, {"lsn": 5}, ["not_consumed"]),
    ("debezium_postgres", {"sever": "db"}, {"lsn": 5}, ["wrong_keys"]),
    ("debezium_mysql", SERVER, {"file": "b.1"}, ["wrong_keys"]),
    ("debezium_mysql", SERVER, {"file": "b.1", "pos": "4"}, ["wrong_type"]),
    ("debezium_mariadb", SERVER, BINLOG, ["wrong_keys"]),
    ("debezium_mariadb", SERVER, {"gtids": "0-1-8", "pos": 4}, ["wrong_keys"]),
    ("debezium_mariadb", SERVER, {**BINLOG, "gtids": ""}, ["wrong_type", "wrong_type"]),
    ("debezium_mariadb", SERVER, {**BINLOG, "gtids": " 0-1-8 "}, ["wrong_type"]),
    ("debezium_mariadb", SERVER, {**BINLOG, "gtids": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"}, ["wrong_type"]),
    ("debezium_mariadb", SERVER, {**BINLOG, "gtids": "0-1-8,0-2-9"}, ["wrong_type"]),
    ("debezium_sqlserver", SERVER, {"commit_lsn": "NULL"}, ["wrong_keys"]),
    ("debezium_sqlserver", {"server": "db", "database": "o"}, {"commit_lsn": "27:ac0:3"}, ["wrong_type"]),
    ("debezium_mongodb", SERVER, {"sec": 1}, ["wrong_keys"]),
    ("debezium_mongodb", {"server_id": "x"}, {"sec": 1}, ["not_consumed"]),
    ("debezium_mongodb", {"server_id": "db"}, {"ord": 1}, ["wrong_keys"]),
    ("debezium_oracle", SERVER, {"scn": 123}, ["wrong_type"]),
    ("debezium_oracle", SERVER, {"scn": "12x"}, ["wrong_type"]),
    ("debezium_oracle", SERVER, {}, ["wrong_keys"]),
    ("jdbc_source", {"table": "t", "schema": "s"}, {"incrementing": 7}, ["wrong_keys"]),
    ("jdbc_source", {"query": 1}, {"incrementing": 7}, ["wrong_type"]),
    ("jdbc_source", JDBC_TABLE, {"timestamp_nanos": 7}, ["wrong_keys"]),
    ("jdbc_source", JDBC_TABLE, {"timestamp": 1, "timestamp_nanos": 1_000_000_000}, ["wrong_type"]),
]


@pytest.mark.parametrize(("name", "partition", "offset"), SOUND)
def test_what_connectors_store_is_sound(name: str, partition: JsonMap, offset: JsonMap) -> None:
    """No finding, also on keys that only some releases write; removing the offset is sound as well."""
    assert list(family_named(name).check(partition, offset, CONFIG)) == []
    assert list(family_named(name).check(partition, None, CONFIG)) == []


@pytest.mark.parametrize(("name", "partition", "offset", "rules"), BROKEN)
def test_what_a_connector_could_not_read_is_found(
    name: str, partition: JsonMap, offset: JsonMap, rules: list[str]
) -> None:
    """The verdict names the rule that the offset breaks."""
    assert [found.rule.value for found in family_named(name).check(partition, offset, CONFIG)] == rules


def test_a_prefix_that_a_config_provider_hides_is_not_compared() -> None:
    """Only workers resolve it."""
    assert list(DebeziumPostgres().check(SERVER, {"lsn": 5}, {"topic.prefix": "${env:PREFIX}"})) == []
    assert DebeziumPostgres().only_partition({"topic.prefix": "${env:PREFIX}"}) is None
    assert DebeziumPostgres().only_partition(CONFIG) == SERVER
    assert DebeziumPostgres().only_partition({"database.server.name": "old"}) == {"server": "old"}
    assert (slot_of({}), slot_of({"slot.name": "s"}), slot_of({"slot.name": "${x:y}"})) == ("debezium", "s", None)


@given(lsn=st.integers(1, MAX_OFFSET))
def test_an_lsn_is_the_same_in_both_notations(lsn: int) -> None:
    """PostgreSQL's string, in any case, and Debezium's number are equal; the offset made of them has that LSN."""
    assert parse_lsn(lsn_text(lsn)) == parse_lsn(lsn_text(lsn).lower()) == parse_lsn(str(lsn)) == lsn
    offset = DebeziumPostgres().offset_from(lsn_text(lsn))
    assert offset == {"lsn": lsn}
    assert list(DebeziumPostgres().check(SERVER, offset, CONFIG)) == []


@pytest.mark.parametrize("text", ["", "0/", "/1", "0/G", "0/123456789", "-5", "5.0", "0/0", "0", "F0000000/0", "٣"])
def test_anything_else_is_no_lsn(text: str) -> None:
    """Zero is PostgreSQL's word for no LSN, and an LSN beyond a long can't be stored."""
    with pytest.raises(InvalidRequest, match="LSN"):
        parse_lsn(text)


@pytest.mark.parametrize(
    ("text", "gtids"), [("0-1-8", "0-1-8"), (" 0-1-8, 5-2-77\n", "0-1-8,5-2-77"), ("0-0-0", "0-0-0")]
)
def test_gtids_are_stored_as_the_connector_reads_them(text: str, gtids: str) -> None:
    """Without the spaces that a person has typed or copied, with which it would begin anew."""
    offset = DebeziumMariaDb().offset_from(text)
    assert offset == {"file": "", "pos": 0, "gtids": gtids}
    assert list(DebeziumMariaDb().check(SERVER, offset, CONFIG)) == []
    assert DebeziumMariaDb().only_partition(CONFIG) == SERVER


@pytest.mark.parametrize("text", ["", "binlog.000001:1919", "0-1", "0-1-8,", "0-1-8,0-2-9", "-1-1-8", "a:1-5", "٣-1-8"])
def test_anything_else_is_no_gtid(text: str) -> None:
    """The message says how to get the GTIDs of a file and a position."""
    with pytest.raises(InvalidRequest, match=r"GTIDs, .*BINLOG_GTID_POS"):
        DebeziumMariaDb().offset_from(text)


@pytest.mark.parametrize(
    ("java_class", "name"),
    [
        (f"{DEBEZIUM}.postgresql.PostgresConnector", "debezium_postgres"),
        ("PostgresConnector", "debezium_postgres"),
        ("Postgres", "debezium_postgres"),
        (f"{DEBEZIUM}.mysql.MySqlConnector", "debezium_mysql"),
        (f"{DEBEZIUM}.mariadb.MariaDbConnector", "debezium_mariadb"),
        (f"{DEBEZIUM}.sqlserver.SqlServerConnector", "debezium_sqlserver"),
        (f"{DEBEZIUM}.mongodb.MongoDbConnector", "debezium_mongodb"),
        (f"{DEBEZIUM}.oracle.OracleConnector", "debezium_oracle"),
        ("io.aiven.connect.jdbc.JdbcSourceConnector", "jdbc_source"),
        ("io.confluent.connect.jdbc.JdbcSourceConnector", "jdbc_source"),
        ("JdbcSource", "jdbc_source"),
        ("com.example.PostgresConnector", "generic_source"),
    ],
)
def test_classes_of_connectors_that_read_databases(java_class: str, name: str) -> None:
    """A class name or its alias leads to the family; a class of another package has no special family."""
    assert family_of(ConnectorType.SOURCE, java_class) is family_named(name)


@pytest.mark.parametrize(
    ("java_class", "where"),
    [
        (f"{DEBEZIUM}.postgresql.PostgresConnector", "its PostgreSQL replication slot"),
        (f"{DEBEZIUM}.mysql.MySqlConnector", "its schema history topic"),
        (f"{DEBEZIUM}.jdbc.JdbcSinkConnector", "the rows of its tables"),
        ("io.confluent.connect.s3.S3SinkConnector", "the object names it has written"),
        ("io.confluent.connect.hdfs.HdfsSinkConnector", "the file names it has written"),
        (
            "org.apache.iceberg.connect.IcebergSinkConnector",
            "the snapshot summaries of its Iceberg tables and its control topic",
        ),
        ("com.wepay.kafka.connect.bigquery.BigQuerySinkConnector", "the rows of its BigQuery tables"),
        ("io.aiven.connect.jdbc.JdbcSinkConnector", "the rows of its tables"),
    ],
)
def test_positions_kept_elsewhere(java_class: str, where: str) -> None:
    """It is said where, and in whole sentences what a change of the offsets alone does."""
    elsewhere = find_elsewhere(java_class, is_sink="Sink" in java_class)
    assert elsewhere is not None
    assert elsewhere.where == where
    assert elsewhere.effect.endswith(".")
    assert find_elsewhere("org.apache.kafka.connect.mirror.MirrorSourceConnector", is_sink=False) is None


@pytest.mark.parametrize(
    "java_class",
    [
        "io.confluent.connect.s3.source.S3SourceConnector",
        "io.confluent.connect.gcs.GcsSourceConnector",
        "com.snowflake.kafka.connector.SnowflakeSourceConnector",
        "io.aiven.kafka.connect.s3.source.S3SourceConnector",
    ],
)
def test_a_source_keeps_nothing_where_the_sink_of_its_system_does(java_class: str) -> None:
    """Its position is Connect's offset."""
    assert find_elsewhere(java_class, is_sink=False) is None


def test_a_column_may_have_had_a_negative_value() -> None:
    """What a JDBC source has stored itself can always be restored."""
    family = family_named("jdbc_source")
    offset = {"incrementing": -5, "timestamp": -1, "timestamp_nanos": 0}

    assert list(family.check({"table": "orders"}, offset, {})) == []
    assert [one.rule for one in family.check({"table": "orders"}, {"incrementing": -(2**63)}, {})] == [Rule.WRONG_TYPE]
    assert [one.rule for one in family.check({"table": "orders"}, {"incrementing": 1, "x": 2**63}, {})] == [
        Rule.WRONG_TYPE
    ]
    assert [one.rule for one in family.check({"table": "orders"}, {"timestamp": 1, "timestamp_nanos": -1}, {})] == [
        Rule.NEGATIVE
    ]
