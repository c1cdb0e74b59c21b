"""Which records of an offsets topic are orphaned: exact rows for exact records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.plan import plan_digest
from airflow_provider_connect_offsets.offsets.requests.orphans import Orphan, OrphanRequest, OrphanSearch
from airflow_provider_connect_offsets.pipeline import orphans_job
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.files import read_bytes, read_json, write_json
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory
from airflow_provider_connect_offsets.workspace.schemas import ORPHANS, STORED_RECORDS
from tests.support.programs.submitting import Cluster, UserSettings, assert_same_on_cluster, submit

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
TOPIC = "connect-offsets"
ODD = 'größe "a\\b" ☕'


class Record(NamedTuple):
    """A record of the topic; ``minute``: when it was written, after noon."""

    key: bytes
    value: bytes | None
    partition: int = 0
    offset: int = 0
    minute: float = 0


def key(connector: str, partition: str = '{"filename":"a"}') -> bytes:
    return f"[{json.dumps(connector, ensure_ascii=False)},{partition}]".encode()


class Search:
    """Runs the job on records made up for a test."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark = spark
        self.directory = OrphansDirectory(str(path))

    def run(self, records: Sequence[Record], known: Sequence[str] = (), **requested: str) -> dict[str, Any]:
        """Run the job on these records and return its summary."""
        self.prepare(records, known, **requested)
        return orphans_job.run(self.spark, self.directory)

    def prepare(
        self, records: Sequence[Record], known: Sequence[str] = (), *, connectors: str = "", older_than: str = ""
    ) -> None:
        """Write what the job reads."""
        now = NOON + timedelta(hours=1)
        search = OrphanSearch.parse(offsets_topic=TOPIC, connectors=connectors, older_than=older_than)
        request = OrphanRequest.of(search, now=now)
        write_json(self.directory.request, request.as_json())
        write_json(self.directory.known, {"connectors": list(known)})
        write_dataset(self.directory.stored_records, STORED_RECORDS, map(_row, records))

    def found(self) -> list[Orphan]:
        rows = (Orphan(**row) for row in read_dataset(self.directory.orphans, ORPHANS))
        return sorted(rows, key=lambda orphan: (orphan.connector, orphan.partition))

    def names(self) -> list[str]:
        return [orphan.connector for orphan in self.found()]


def _row(record: Record) -> dict[str, Any]:
    return {
        "topic": TOPIC,
        "kafka_partition": record.partition,
        "log_offset": record.offset,
        "written_at": NOON + timedelta(minutes=record.minute),
        "key": record.key,
        "value": record.value,
    }


@pytest.fixture
def search(spark: SparkSession, tmp_path: Path) -> Search:
    return Search(spark, tmp_path)


def test_the_last_record_of_each_key_of_a_connector_that_is_gone(search: Search) -> None:
    """Every column is right, and the summary counts exactly these rows."""
    records = [
        Record(key("gone"), b'{"position":1}', 2, 0, 1),
        Record(key("gone"), b'{"position":22}', 2, 7, 2),
        Record(key(ODD, '{"z":1,"a":"\u00fc"}'), b'{"p":1.5}', 1, 3, 3),
        Record(key("kept"), b'{"position":3}', 0, 0, 4),
    ]

    summary = search.run(records, ["kept", "sink"])

    odd = key(ODD, '{"z":1,"a":"ü"}')
    assert search.found() == [
        Orphan(
            "gone", '{"filename":"a"}', '{"position":22}', TOPIC, 2, 7, NOON + timedelta(minutes=2), 40, key("gone")
        ),
        Orphan(ODD, '{"z":1,"a":"ü"}', '{"p":1.5}', TOPIC, 1, 3, NOON + timedelta(minutes=3), len(odd) + 9, odd),
    ]
    assert read_json(search.directory.summary) == summary
    assert summary.pop("found_at") > "2026-"
    assert summary == {
        "request": {
            "connectors": None,
            "older_than": "",
            "offsets_topic": TOPIC,
            "topic": TOPIC,
            "written_before": None,
        },
        "problem": None,
        "known": 2,
        "existing": 1,
        "records": 4,
        "keys": 3,
        "passed_over": 0,
        "in_two_partitions": 0,
        "orphaned": 2,
        "partitions": 2,
        "size_bytes": 40 + len(odd) + 9,
        "digest": plan_digest(orphan.digest() for orphan in search.found()),
        "connectors": [
            {
                "connector": ODD,
                "partitions": 1,
                "size_bytes": len(odd) + 9,
                "written_at": "2026-01-31T12:03:00.000+00:00",
                "partition": '{"z":1,"a":"ü"}',
                "offset": '{"p":1.5}',
            },
            {
                "connector": "gone",
                "partitions": 1,
                "size_bytes": 40,
                "written_at": "2026-01-31T12:02:00.000+00:00",
                "partition": '{"filename":"a"}',
                "offset": '{"position":22}',
            },
        ],
        "more": 0,
    }


@pytest.mark.parametrize("nothing", [None, b"null"])
def test_a_tombstone_is_no_offset(search: Search, nothing: bytes | None) -> None:
    """A tombstone removes the offset before it; a later record is an offset again."""
    summary = search.run(
        [
            Record(key("removed"), b'{"position":1}', offset=0),
            Record(key("removed"), nothing, offset=1),
            Record(key("again"), nothing, offset=2),
            Record(key("again"), b'{"position":9}', offset=3),
        ]
    )

    assert search.names() == ["again"]
    assert (summary["records"], summary["keys"], summary["partitions"]) == (4, 2, 1)


def test_keys_of_another_shape_are_passed_over(search: Search) -> None:
    """A worker passes over them, too; they are counted."""
    others = [
        b"",
        b"no json",
        b'"gone"',
        b'{"gone":{}}',
        b'["gone"]',
        b'["gone",null]',
        b'["gone","{}"]',
        b'["gone",[{}]]',
        b'["gone",{},null]',
        b'["gone",{"a":1}',
        b'[1,{"a":1}]',
        b'[["gone"],{"a":1}]',
        b'["gone\xff",{"a":1}]',
        b'["gone","x",{"a":1}]',
        b'["gone,{"a":1}]',
    ]

    summary = search.run([Record(raw, b"{}", offset=place) for place, raw in enumerate([key("gone"), *others])])

    assert search.names() == ["gone"]
    assert (summary["keys"], summary["passed_over"]) == (len(others) + 1, len(others))


def test_a_very_long_name(search: Search) -> None:
    """Java's patterns have a stack, which a name must not exhaust."""
    name = 'ä"' * 20_000

    search.run([Record(key(name), b"{}")])

    assert search.names() == [name]


def test_a_key_in_two_partitions(search: Search) -> None:
    """The record that was written later counts, whatever its offset; in one partition the offset decides."""
    summary = search.run(
        [
            Record(key("twice"), b'{"position":1}', 0, offset=900, minute=1),
            Record(key("twice"), b'{"position":2}', 1, offset=3, minute=2),
            Record(key("removed"), b'{"position":1}', 0, offset=901, minute=1),
            Record(key("removed"), None, 1, offset=4, minute=2),
            Record(key("clock"), b'{"position":1}', 2, offset=1, minute=5),
            Record(key("clock"), b'{"position":2}', 2, offset=2, minute=4),
        ]
    )

    assert summary["in_two_partitions"] == 2
    assert [(one.connector, one.kafka_partition, one.log_offset) for one in search.found()] == [
        ("clock", 2, 2),
        ("twice", 1, 3),
    ]


def test_only_connectors_whose_whole_name_matches(search: Search) -> None:
    """The pattern must match the whole name, in Java's syntax."""
    records = [
        Record(key(name), b"{}", offset=place) for place, name in enumerate(["files-a", "files-b", "my-files-a"])
    ]

    search.run(records, connectors="files-.|other")

    assert search.names() == ["files-a", "files-b"]


def test_a_pattern_that_is_none(search: Search) -> None:
    """It is said in the summary, and nothing is found."""
    summary = search.run([Record(key("gone"), b"{}")], connectors="files-[")

    assert summary["problem"].startswith(
        "connectors: 'files-[' is not a valid regular expression: Unclosed character class"
    )
    assert read_bytes(f"{search.directory.orphans}/_SUCCESS") is None


def test_only_connectors_of_which_nothing_was_written_since(search: Search) -> None:
    """All offsets of a connector or none: one partition that was written lately keeps the others."""
    records = [
        Record(key("old"), b"{}", offset=0, minute=29.9),
        Record(key("edge"), b"{}", offset=1, minute=30),
        Record(key("half", '{"n":1}'), b"{}", offset=2, minute=1),
        Record(key("half", '{"n":2}'), b"{}", offset=3, minute=40),
    ]

    search.run(records, older_than="PT30M")

    assert search.names() == ["old"]


def test_nothing_at_all(search: Search) -> None:
    """An empty topic and no connectors give empty counts."""
    summary = search.run([])

    assert (summary["records"], summary["keys"], summary["orphaned"], summary["size_bytes"]) == (0, 0, 0, 0)
    assert (summary["connectors"], summary["digest"]) == ([], plan_digest([]))


def test_the_summary_lists_the_largest(search: Search) -> None:
    """It also says how many more there are."""
    records = [Record(key(f"gone-{n:03d}"), b"%d" % 10**n, offset=n) for n in range(103)]

    summary = search.run(records)

    assert [one["connector"] for one in summary["connectors"]] == [f"gone-{n:03d}" for n in range(102, 2, -1)]
    assert (summary["orphaned"], summary["more"]) == (103, 3)
    assert summary["digest"] == plan_digest(orphan.digest() for orphan in search.found())


@pytest.mark.processes
def test_spark_submit(search: Search, tmp_path: Path) -> None:
    """The job runs where nothing of ours is installed, with the user's settings."""
    user = UserSettings(tmp_path / "log")
    search.prepare([Record(key("gone"), b"{}"), Record(key("kept"), b"{}")], ["kept"])

    submit("orphans", search.directory.uri, tmp_path, user.settings)

    user.assert_kept()
    assert search.names() == ["gone"]
    assert read_json(search.directory.summary)["digest"] == plan_digest(orphan.digest() for orphan in search.found())


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong arguments end before Spark starts."""
    assert orphans_job.JOB.main([]) == 2
    assert capsys.readouterr().err == "usage: job.py orphans RUN_DIRECTORY\n"


@pytest.mark.cluster
def test_on_a_cluster(search: Search, tmp_path: Path, cluster: Cluster) -> None:
    """The datasets are those that one machine gives."""
    search.run([Record(key("gone"), b"{}"), Record(key("kept"), b"{}")], ["kept"])

    assert_same_on_cluster("orphans", tmp_path, cluster)
