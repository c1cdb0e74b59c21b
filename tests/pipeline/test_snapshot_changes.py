"""What changed between two snapshots: exact rows and verdicts for small frames."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.requests.snapshots import COMPARED
from airflow_provider_connect_offsets.offsets.verdicts import Rule
from airflow_provider_connect_offsets.report import SnapshotChanges
from airflow_provider_connect_offsets.workspace.files import read_bytes
from tests.support.programs.submitting import Cluster, assert_same_on_cluster
from tests.support.rows.snapshots import SINK, At, Comparison, Taken, at
from tests.support.rows.unfolded import unfolded


@pytest.fixture
def comparison(spark: SparkSession, tmp_path: Path) -> Comparison:
    return Comparison(spark, tmp_path)


def test_each_kind_of_change(comparison: Comparison) -> None:
    """Back, forward, too far, at rest with and without records left, gone, new, removed and never stored."""
    earlier = Taken(at(50, 50, 50, 50, 100, 7, None, None), [100] * 8)
    later = Taken(at(30, 60, 90, 50, 100, None, 9, None), [120, 120, 120, 120, 100, 120, 120, 120])

    comparison.run(earlier, later, max_jump=20, fail_on="moved_back, vanished")

    assert comparison.changes == {
        0: "moved_back",
        1: "moved",
        2: "jumped",
        3: "stuck",
        4: "unchanged",
        5: "vanished",
        6: "appeared",
    }
    assert comparison.verdicts == [
        ("appeared", "info", "`sink`: 1 partition has an offset for the first time."),
        (
            "jumped",
            "warning",
            (
                "`sink`, orders-2: moved from position 50 to 90: 40 records, more than max_jump=20. If the connector "
                "did not read these records, they were skipped."
            ),
        ),
        (
            "moved_back",
            "error",
            "`sink`, orders-0: moved back from position 50 to 30: 20 records are delivered again.",
        ),
        (
            "stuck",
            "warning",
            "`sink`, orders-3: still at position 50, though the connector was RUNNING and 70 records are left to read.",
        ),
        (
            "vanished",
            "error",
            (
                '`sink`, orders-5: its offset {"kafka_offset":7} is no longer stored. Without an offset, '
                "auto.offset.reset decides where a consumer starts, and any other source decides itself where it "
                "starts."
            ),
        ),
    ]
    assert comparison.summary["worst"]["rule"] == "vanished"
    once = ("vanished", "moved_back", "jumped", "stuck", "appeared", "moved", "unchanged")
    assert comparison.summary["changes"] == {**dict.fromkeys(once, 1), "not_compared": 0}
    moved = next(row for row in comparison.rows() if row["kafka_partition"] == 1)
    assert (moved["before_position"], moved["after_position"], moved["moved"], moved["lag"]) == (50, 60, 10, 60)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (Taken(at(50), [100], {SINK: "PAUSED"}), Taken(at(50), [100])),
        (Taken(at(50), [100]), Taken(at(50), [100], {SINK: "STOPPED"})),
        (Taken(at(50), [50]), Taken(at(50), [100])),
        (Taken(at(50)), Taken(at(50))),
    ],
    ids=["was paused", "is stopped", "the records are new", "the log ends are unknown"],
)
def test_nobody_is_stuck_who_had_no_reason_to_move(comparison: Comparison, earlier: Taken, later: Taken) -> None:
    """Only records that were there both times, and a connector that ran both times, count."""
    comparison.run(earlier, later)

    assert (comparison.changes, comparison.found) == ({0: "unchanged"}, set())


def test_a_position_beyond_the_end_of_its_log(comparison: Comparison) -> None:
    """It is found in the first snapshot already; if the position has moved there, it is a jump, too."""
    comparison.run(Taken(at(50), [100]), Taken(at(150), [100]))

    assert comparison.changes == {0: "jumped"}
    assert comparison.found == {"beyond_log_end"}

    comparison.run(None, Taken(at(150), [100]), fail_on="beyond_log_end")

    assert comparison.changes == {0: "not_compared"}
    assert [severity for _, severity, _ in comparison.verdicts] == ["error"]


def test_a_connector_that_is_gone_is_one_finding(comparison: Comparison) -> None:
    """It is named once, with how many partitions it had; another connector's same partitions are its own."""
    other = [At(0, 5, "other"), At(1, 6, "other")]
    comparison.run(Taken([*at(5, 6), *other], (), {SINK: "RUNNING", "other": "RUNNING"}), Taken(at(5, 6)))

    assert comparison.verdicts == [
        (
            "vanished",
            "warning",
            "`other`: the connector no longer exists. In the snapshot before, it had offsets in 2 partitions.",
        )
    ]


def test_what_could_not_be_read_is_neither_gone_nor_new(comparison: Comparison) -> None:
    """It is named with the reason; the next snapshot does not take its offsets for new ones."""
    read, unread = Taken(at(5)), Taken([], (), {}, {SINK: "Can't read the offsets of connector 'sink': no."})

    comparison.run(read, unread, fail_on="unread")

    assert comparison.rows() == []
    assert comparison.verdicts == [
        (
            "unread",
            "error",
            (
                "`sink`: its offsets are not in this snapshot, so they were not compared: Can't read the offsets of "
                "connector 'sink': no."
            ),
        )
    ]

    comparison.run(unread, read)

    assert (comparison.changes, comparison.found) == ({0: "not_compared"}, set())


def test_offsets_that_are_no_positions_are_compared_as_texts(comparison: Comparison) -> None:
    """Of these it is only known whether they changed."""
    states = {"a": "RUNNING", "b": "RUNNING"}
    comparison.run(
        Taken([], (), states, files={"a": 5, "b": 5}), Taken([], (), states, files={"a": 3, "b": 5}), max_jump=1
    )

    assert (comparison.changes, comparison.found) == ({"a": "moved", "b": "unchanged"}, set())


def test_the_first_snapshot_has_nothing_to_compare_with(comparison: Comparison) -> None:
    """Nothing is taken for new, and the report says that it is the first, and which URI restores it."""
    comparison.run(None, Taken(at(5, None), [10, 10]))

    assert (comparison.changes, comparison.found) == ({0: "not_compared"}, set())
    assert (comparison.summary["partitions"], comparison.summary["lag"]) == (1, 5)
    found = SnapshotChanges.read(comparison.directory)
    assert found.standing.headline == "First snapshot"
    page = (read_bytes(found.write()) or b"").decode()
    assert f"<code>snapshot_uri</code>: <code>{comparison.summary['uri']}</code>" in unfolded(page)


def test_the_report_names_findings_worst_first(comparison: Comparison) -> None:
    """It lists errors before warnings, each with the rule's sentence, and connectors with odd changes first."""
    names: Iterable[str] = ("calm", SINK)
    calm = [At(0, 1, "calm")]
    states = dict.fromkeys(names, "RUNNING")
    comparison.run(
        Taken([*calm, *at(50, 50)], [100] * 2, states),
        Taken([*calm, *at(50, 40)], [100] * 2, states),
        fail_on="moved_back",
    )

    page = (read_bytes(SnapshotChanges.read(comparison.directory).write()) or b"").decode()

    assert "Look at this: 1 finding of rules in fail_on" in page
    assert page.index("<h3>moved_back</h3>") < page.index("<h3>stuck</h3>")
    assert page.index(f'<th scope="row">{SINK}') < page.index('<th scope="row">calm')
    assert Rule.MOVED_BACK.sentence in page


def test_every_rule_of_a_comparison_is_documented() -> None:
    """The DAG's documentation and the Param name each of them."""
    from airflow_provider_connect_offsets.dags.connector_offsets_snapshot import connector_offsets_snapshot
    from airflow_provider_connect_offsets.offsets.requests.fields import fields_of
    from airflow_provider_connect_offsets.offsets.requests.snapshots import SnapshotRequest

    listed = str(fields_of(SnapshotRequest)["fail_on"].description)
    text = str(connector_offsets_snapshot.__doc__)

    assert all(rule.value in listed and f"`{rule.value}`" in text for rule in COMPARED)


@pytest.mark.cluster
def test_on_a_cluster(comparison: Comparison, tmp_path: Path, cluster: Cluster) -> None:
    """The datasets are those that one machine gives."""
    comparison.run(Taken(at(50, 50, 50), [100] * 3), Taken(at(30, 60, None), [120] * 3))

    assert_same_on_cluster("offset-changes", tmp_path / "run", cluster)
