"""The translation job: the result for each group, and what closes the gate."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.requests.failover import (
    FailoverRequest,
    Move,
    digest_of_sums,
    row_numbers,
)
from airflow_provider_connect_offsets.pipeline.failover import translate_job
from airflow_provider_connect_offsets.pipeline.failover.translation_summary import errors_of
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.files import read_json, write_json
from airflow_provider_connect_offsets.workspace.flow_schemas import (
    COMPARE_RANGES,
    SAMPLED_CLAIMS,
    TRANSLATION,
)
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from tests.support.programs.submitting import Cluster, UserSettings, assert_same_on_cluster, submit
from tests.support.rows.frames import as_for_large_datasets
from tests.support.rows.written_failover import GROUPS, write_checked_claims, write_digests, write_observation

KIND = "a share group (KIP-932) or a streams group (KIP-1071)"
# Three partitions are translated by offset syncs; the one of the group `behind` is to be found in the records.
IN_SIGHT = 4 / len(GROUPS)
Row = tuple[int | None, bool, str, str, bool | None]


@dataclass(frozen=True)
class Translated:
    """A run, and its summary."""

    directory: FailoverDirectory
    summary: dict[str, Any]

    def errors(self, **requested: Any) -> list[str]:
        """The reasons to refuse it, if something else had been requested."""
        request = FailoverRequest.from_json(read_json(self.directory.request))
        return errors_of(replace(request, **requested), self.summary)


Translate = Callable[..., Translated]


@pytest.fixture
def directory(tmp_path: Path) -> FailoverDirectory:
    return FailoverDirectory(tmp_path.as_uri())


@pytest.fixture(scope="module")
def translated(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Translate:
    """Translates what was observed and requested, each once for all tests."""

    @functools.cache
    def run(**requested: Any) -> Translated:
        directory = FailoverDirectory(tmp_path_factory.mktemp("run").as_uri())
        write_observation(directory, min_coverage=0.3, **requested)
        return Translated(directory, translate_job.run(spark, directory))

    return run


@pytest.fixture(scope="module")
def otherwise(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Translated:
    """Groups of other kinds, some that may go back, and a mapping that a reset has kept."""
    directory = FailoverDirectory(tmp_path_factory.mktemp("run").as_uri())
    write_observation(directory, min_coverage=0.5, rewind="ahead|busy|reading", kept=[(1, 4, 4)])
    named = {"kinds": {"busy": KIND}, "unmovable": {"clicks": KIND}}
    write_json(directory.members, {**read_json(directory.members), **named})
    return Translated(directory, translate_job.run(spark, directory))


def rows(directory: FailoverDirectory) -> dict[str, dict[str, Any]]:
    """The translation by group; each has one partition."""
    return {row["group"]: row for row in read_dataset(directory.translation, TRANSLATION)}


def answer_of(row: dict[str, Any]) -> Row:
    return row["downstream"], row["exact"], row["method"], row["action"], row["covered"]


def test_each_group_gets_its_offset_or_a_reason(translated: Translate) -> None:
    """Groups are between mappings, at the end, behind all syncs, active, ahead, there already, or not replicated."""
    summary = translated().summary

    found = rows(translated().directory)
    assert {name: answer_of(row) for name, row in found.items()} == {
        "between": (70, False, "bracket", "commit", True),
        "at the end": (100, True, "end", "commit", True),
        "behind": (None, False, "none", "skip", False),
        "busy": (60, False, "bracket", "skip", False),
        "reading": (60, False, "bracket", "skip", False),
        "ahead": (70, False, "bracket", "skip", False),
        "there": (70, False, "bracket", "skip", True),
        "elsewhere": (None, False, "none", "skip", None),
    }
    assert found["between"]["reason"] == (
        "it lies between two offset mappings with the same distance on both clusters; "
        "the records there were not compared"
    )
    assert found["behind"]["reason"] == "no offset sync translates it to the remote topic here.orders"
    assert found["busy"]["reason"] == "it has members on the target: stop them first"
    assert found["reading"]["reason"].startswith("it has members on the source, which keep reading there")
    assert found["ahead"]["reason"].startswith("on the target it is already at 90, 20 records further")
    assert (found["between"]["checkpoint"], found["between"]["checkpoint_rereads"]) == (51, None)
    assert summary["errors"] == []
    counts = {name: summary[name] for name in ("groups", "partitions", "commit", "covered", "exact", "left_groups")}
    assert counts == {"groups": 7, "partitions": 7, "commit": 2, "covered": 3, "exact": 1, "left_groups": 4}
    assert summary["unreplicated"] == ["payments"]


@pytest.mark.jobs
def test_settings_change_no_answer(spark: SparkSession, directory: FailoverDirectory, tmp_path: Path) -> None:
    """Large datasets are planned with others than small ones."""
    other = FailoverDirectory(tmp_path.joinpath("large").as_uri())
    for run in (directory, other):
        write_observation(run, min_coverage=0.3)
        write_digests(run)
    summary = translate_job.run(spark, directory)

    with as_for_large_datasets(spark):
        again = translate_job.run(spark, other)

    assert {**again, "translated_at": ""} == {**summary, "translated_at": ""}
    assert rows(other) == rows(directory)


def test_groups_of_other_kinds_are_named(otherwise: Translated) -> None:
    """On the target such a group is the reason why one is not moved; those of the source are in the summary."""
    assert rows(otherwise.directory)["busy"]["reason"] == f"on the target it isn't a consumer group but {KIND}"
    assert otherwise.summary["unmovable"] == {"clicks": KIND}


def test_the_digest_is_that_of_what_is_to_be_committed(translated: Translate) -> None:
    """Spark and Python give one digest for one translation."""
    named = [
        row_numbers(row["group"], row["target_topic"], row["kafka_partition"], row["downstream"])
        for row in rows(translated().directory).values()
        if row["action"] == Move.COMMIT
    ]
    assert len(named) == 2
    assert translated().summary["digest"] == digest_of_sums(map(sum, zip(*named, strict=True)))


def test_too_little_coverage_closes_the_gate(translated: Translate) -> None:
    """It says how much, and names the first groups and why."""
    [error] = translated().errors(min_coverage=1)

    assert error.startswith(
        "3 of 7 partitions are translated, fewer than min_coverage (1) requires. 'ahead': on the target"
    )
    assert error.endswith("and 1 more group.")


def test_what_records_will_show_leaves_the_gate_open(translated: Translate) -> None:
    """All of both logs is going to be read: at worst the group begins with the first record that is there."""
    assert translated().errors(min_coverage=IN_SIGHT) == []
    assert translated().summary["to_be_found"] == {"partitions": 1, "max_rereads": 100}


@pytest.mark.parametrize("limit", [{"compared": 0}, {"compared": 30}, {"compared_total": 200}])
def test_not_where_too_little_will_be_read(translated: Translate, limit: dict[str, int]) -> None:
    """Nothing would be found, and the flow be stopped in vain."""
    [error] = translated(**limit).errors(min_coverage=IN_SIGHT)

    assert error.startswith("3 of 7 partitions are translated, fewer than min_coverage (0.57")


def test_a_group_that_may_go_back(otherwise: Translated) -> None:
    """Only those that are named, and none that has members."""
    assert otherwise.summary["errors"] == []

    found = rows(otherwise.directory)
    assert [answer_of(found[name])[3] for name in ("ahead", "busy", "reading")] == ["commit", "skip", "skip"]


def test_mappings_that_a_reset_has_kept_give_an_offset(otherwise: Translated) -> None:
    """Of a partition whose syncs the reset has emptied, with the last mapping; without them nothing was known of it."""
    assert answer_of(rows(otherwise.directory)["behind"]) == (10, False, "bracket", "commit", True)


def test_records_that_are_the_same_prove_an_offset(spark: SparkSession, directory: FailoverDirectory) -> None:
    """Every exact one whose records were read is checked."""
    write_observation(directory, min_coverage=0.3)
    write_digests(directory)

    summary = translate_job.run(spark, directory)

    assert (summary["checked"], summary["mismatched"], summary["errors"]) == (5, 0, [])
    assert answer_of(rows(directory)["between"]) == (70, True, "record", "commit", True)


def test_a_record_of_somebody_else_closes_nothing_but_the_claims(
    spark: SparkSession, directory: FailoverDirectory
) -> None:
    """A record that isn't the source's may be a changed copy of any: nothing before it is exact any longer."""
    write_observation(directory, min_coverage=0.3, ends_with_stored=False)
    write_digests(directory, other=99)

    translate_job.run(spark, directory)

    row = rows(directory)["between"]
    assert (row["downstream"], row["upper"], row["missing"]) == (70, 100, None)
    assert (row["exact"], row["max_rereads"]) == (False, 1)
    assert row["reason"].endswith("; at most 1 record is read again")


def test_witnesses_that_contradict_each_other_are_named(translated: Translate) -> None:
    """A group that may resume on either side of an offset sync whose records differ is left alone."""
    found = rows(translated(contradicted=(75, 75)).directory)

    row = found["between"]
    assert (row["exact"], row["action"], row["covered"]) == (False, "skip", False)
    assert row["reason"].startswith(
        "an offset sync and the records contradict each other: according to the sync, offset 75 of the remote topic "
        "here.orders is the copy of offset 75, but their records differ."
    )
    assert answer_of(found["at the end"]) == (100, True, "end", "commit", True)


@pytest.mark.parametrize(("compared", "first"), [(30, 70), (50, 50)])
def test_what_is_worth_reading(translated: Translate, compared: int, first: int) -> None:
    """From a little below the lowest position, and no more than was requested."""
    ranges = read_dataset(translated(compared=compared).directory.compare_ranges, COMPARE_RANGES)

    assert {row["kafka_partition"]: (row["source_from"], row["target_from"]) for row in ranges} == {0: (first, first)}


def test_what_is_beyond_the_limit_is_named(translated: Translate) -> None:
    """By partition and how many records are not read."""
    limited = translated(compared_total=200)

    assert limited.summary["beyond_limit"] == {
        "partitions": 1,
        "records": 200,
        "too_far": 0,
        "first": [{"topic": "orders", "kafka_partition": 1, "left_out": 200}],
    }
    ranges = read_dataset(limited.directory.compare_ranges, COMPARE_RANGES)
    assert {row["kafka_partition"]: (row["source_from"], row["target_from"], row["left_out"]) for row in ranges} == {
        0: (0, 0, 0),
    }


@pytest.mark.parametrize(("compared", "sampled"), [(0, {60, 70}), (30, {60}), (50, set())])
def test_claims_whose_records_will_not_be_read_are_sampled(
    translated: Translate, compared: int, sampled: set[int]
) -> None:
    """Each claim once, also where nothing is read otherwise."""
    claims = read_dataset(translated(compared=compared).directory.sampled_claims, SAMPLED_CLAIMS)

    assert sorted(tuple(row.values()) for row in claims) == [
        ("orders", "here.orders", 0, at, at) for at in sorted(sampled)
    ]


def test_a_sampled_claim_that_is_disproved_closes_the_gate(spark: SparkSession, directory: FailoverDirectory) -> None:
    """What is unknown, or was another offset, is neither checked nor disproved; and nothing is sampled once more."""
    write_observation(directory, min_coverage=0.3, compared=0)
    write_checked_claims(directory, (70, 70, False), (60, 60, None), (60, 61, False))

    summary = translate_job.run(spark, directory)

    assert (summary["checked"], summary["mismatched"]) == (3, 3)
    assert summary["errors"][0].startswith(
        "Records disprove 3 of 3 translated offsets that were checked. For example, the record of topic 'orders', "
        "partition 0, offset 70 is not the record of topic 'here.orders', offset 70."
    )
    assert not Path(directory.sampled_claims.removeprefix("file://")).exists()


def test_sampled_claims_that_are_true_are_counted_as_checked(spark: SparkSession, directory: FailoverDirectory) -> None:
    """Besides those whose records were read, and none of them twice."""
    write_observation(directory, min_coverage=0.3)
    write_digests(directory)
    write_checked_claims(directory, (70, 70, True), (60, 60, True))

    summary = translate_job.run(spark, directory)

    assert (summary["checked"], summary["mismatched"], summary["errors"]) == (5, 0, [])


def test_unplanned_the_checkpoints_tell(spark: SparkSession, directory: FailoverDirectory) -> None:
    """Only what has one; better than the checkpoint itself where the syncs are still there."""
    write_observation(directory, planned=False)

    summary = translate_job.run(spark, directory)

    [row] = read_dataset(directory.translation, TRANSLATION)
    assert (row["group"], row["upstream"], row["downstream"], row["checkpoint"]) == ("between", 60, 51, 51)
    assert (row["exact"], row["max_rereads"], row["method"]) == (False, 49, "sync")
    assert summary["errors"] == []


def test_nothing_selected(translated: Translate) -> None:
    """That is an error, not a success; it names groups that can't be moved."""
    nothing = translated(topics="invoices")

    [error] = nothing.summary["errors"]
    [error_of_others] = replace(nothing, summary={**nothing.summary, "unmovable": {"clicks": KIND}}).errors()

    lacking = "No group that matches '.*' has an offset in a topic that 'here' replicates to 'there'. "
    acl = "To find one where Kafka has ACLs, the user needs an ACL that allows Describe on the consumer group."
    assert error == f"{lacking}{acl}"
    assert error_of_others == f"{lacking}'clicks' is {KIND}, which can't be moved."


def test_a_pattern_that_is_none_to_java(spark: SparkSession, directory: FailoverDirectory) -> None:
    """Python takes it, Spark and Kafka don't."""
    write_observation(directory, rewind=r"\U00000078")

    summary = translate_job.run(spark, directory)

    assert r"rewind: '\\U00000078' is not a valid regular expression" in summary["errors"][0]
    assert "digest" not in summary


@pytest.mark.processes
def test_spark_submit(directory: FailoverDirectory, tmp_path: Path) -> None:
    """The job runs where nothing of ours is installed, with the user's settings."""
    write_observation(directory, min_coverage=0.3)
    user = UserSettings(tmp_path / "log")

    submit("translation", directory.uri, tmp_path, user.settings)

    user.assert_kept()
    assert read_json(directory.summary)["commit"] == 2


@pytest.mark.cluster
def test_on_a_cluster(spark: SparkSession, directory: FailoverDirectory, tmp_path: Path, cluster: Cluster) -> None:
    """The datasets are those that one machine gives."""
    write_observation(directory, min_coverage=0.3)
    write_digests(directory)
    translate_job.run(spark, directory)

    assert_same_on_cluster("translation", tmp_path, cluster)
