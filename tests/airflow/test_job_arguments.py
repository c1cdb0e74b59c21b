"""A Spark job gets all that its operator was given."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.operators.failover import TranslateGroupOffsetsOperator
from airflow_provider_connect_offsets.pipeline.failover import translate_job
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import GROUP_OFFSETS
from tests.support.airflow.orphan_runs import execute
from tests.support.rows.written_failover import write_observation


@pytest.mark.usefixtures("spark_submit")
def test_a_final_translation_stays_within_its_preview(
    spark: SparkSession, workspace: str, connection: Callable[..., None]
) -> None:
    """A group that nobody has approved is not moved: the task fails, and names it."""
    connection("spark_default", conn_type="spark", host="local[1]")
    preview, final = (FailoverDirectory(f"{workspace}/{name}") for name in ("preview", "final"))
    for one in (preview, final):
        write_observation(one, min_coverage=0.3)
    offsets = [row for row in read_dataset(preview.group_offsets, GROUP_OFFSETS) if row["group"] != "between"]
    write_dataset(preview.group_offsets, GROUP_OFFSETS, offsets)
    translate_job.run(spark, preview)
    translate = TranslateGroupOffsetsOperator(task_id="translate", run_uri=final.uri, preview_uri=preview.uri)

    with pytest.raises(AirflowFailException, match="the preview did not show would also be moved: 'between'"):
        execute(translate)
