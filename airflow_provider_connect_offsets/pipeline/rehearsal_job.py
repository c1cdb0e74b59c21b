"""The job ``rehearsal``: translate two made-up checkpoints, so that the JVM loads what ``class_archive`` archives."""

from __future__ import annotations

import json
import struct
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.failover import translate_job
from airflow_provider_connect_offsets.pipeline.frames import struct_type, write_dataset
from airflow_provider_connect_offsets.pipeline.session import Job
from airflow_provider_connect_offsets.workspace.flow_schemas import MIRROR_PARTITIONS
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import GROUP_OFFSETS, STORED_RECORDS, Schema

FLOW = Flow(source_alias="here", target_alias="there")


def rehearse(spark: SparkSession, directory: FailoverDirectory) -> dict[str, Any]:
    """Write the datasets of a small unplanned failover, translate them, and return the summary.

    Raises:
        DatasetError: the translation was refused
    """
    request = FailoverRequest.parse(planned=False, flow=FLOW, groups=".*")
    jvm.write_text(spark, directory.request, json.dumps(request.as_json()))
    jvm.write_text(spark, directory.members, json.dumps({"source": {}, "target": {}}))
    _write(spark, directory.stored_syncs, STORED_RECORDS, [])
    _write(spark, directory.stored_checkpoints, STORED_RECORDS, [_checkpoint(number) for number in (1, 2)])
    _write(spark, directory.group_offsets, GROUP_OFFSETS, [])
    ends = {"target_start": 0, "target_end": 10, "drained": False}
    facts = {"gapless": False, "transformed": False, "timed": True}
    names = {"topic": "orders", "target_topic": FLOW.target_topic("orders"), "kafka_partition": 0}
    row = {**dict.fromkeys(MIRROR_PARTITIONS.names), **names, **ends, **facts}
    _write(spark, directory.mirror_partitions, MIRROR_PARTITIONS, [tuple(row.values())])
    summary = translate_job.run(spark, directory)
    if summary["errors"]:
        raise DatasetError(f"the rehearsal failed: {summary['errors']}")
    return summary


def _write(spark: SparkSession, uri: str, schema: Schema, rows: list[tuple[Any, ...]]) -> None:
    write_dataset(spark.createDataFrame(rows, struct_type(schema)), uri)


def _checkpoint(number: int) -> tuple[Any, ...]:
    """A row of dataset ``stored_records``, with a record of MirrorCheckpointTask."""
    key = _text(f"group-{number}") + _text(FLOW.target_topic("orders")) + struct.pack(">i", 0)
    value = struct.pack(">hqq", 0, number, number) + _text("")
    log = {"topic": FLOW.checkpoints_topic, "kafka_partition": 0, "log_offset": number}
    row = {**log, "key": key, "value": value, "written_at": datetime(2026, 1, 1, tzinfo=UTC)}
    return tuple(row[name] for name in STORED_RECORDS.names)


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


JOB = Job.of_one_run("rehearsal", rehearse, FailoverDirectory)
