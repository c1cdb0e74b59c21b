"""Datasets and files that one run of the job ``readiness`` reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.frames import WHOLE, make_frame, read_dataset, struct_type, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import LAG_HISTORY, MIRROR_LEDGER
from airflow_provider_connect_offsets.workspace.paths import join
from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory
from airflow_provider_connect_offsets.workspace.schemas import Schema


@dataclass(frozen=True, slots=True)
class ReadinessRun:
    """A run of the job, with its request and snapshot.

    Attributes:
        spark: the session
        directory: the run
        request: thresholds and names of the connectors
        snapshot: file ``snapshot.json``: the flow, when it was observed, and URIs of history and ledger
    """

    spark: SparkSession
    directory: ReadinessDirectory
    request: ReadinessRequest
    snapshot: dict[str, Any]

    @property
    def observed_at(self) -> datetime:
        """When the flow was observed."""
        return datetime.fromisoformat(self.snapshot["observed_at"])

    def read(self, uri: str, schema: Schema) -> DataFrame:
        """Read a dataset."""
        return read_dataset(self.spark, uri, schema)

    def write(self, frame: DataFrame, uri: str, schema: Schema) -> DataFrame:
        """Write a dataset as one file, and return the written dataset."""
        write_dataset(frame.coalesce(1), uri)
        return self.read(uri, schema)

    def history(self) -> DataFrame:
        """Dataset ``lag_history`` of earlier runs, without rows of an earlier attempt of this run."""
        return self._read_earlier(LAG_HISTORY, "next_history").where(F.col("run_uri") != self.directory.uri)

    def ledger(self) -> DataFrame:
        """Dataset ``mirror_ledger`` of the run before this one."""
        # While a run publishes its ledger, there are two ledgers for a moment.
        return (
            self._read_earlier(MIRROR_LEDGER, "next_ledger")
            .withColumn("newest", F.max("observed_at").over(Window.partitionBy(F.lit(1))))
            .where(F.col("observed_at") == F.col("newest"))
            .drop("newest")
        )

    def _read_earlier(self, schema: Schema, next_file: str) -> DataFrame:
        """Rows observed before this run, from all files in the folder to which this run publishes its own file."""
        folder = self.snapshot[next_file].rpartition("/")[0]
        if not jvm.exists(self.spark, folder):
            return make_frame(self.spark, [], struct_type(schema))
        return self.read_file(folder, schema).where(F.col("observed_at") < F.lit(self.observed_at))

    def read_file(self, uri: str, schema: Schema) -> DataFrame:
        """Read a file that ``publish`` wrote, or a folder of such files."""
        return self.spark.read.schema(struct_type(schema)).options(**WHOLE).parquet(uri)

    def publish(self, rows: DataFrame, schema: Schema, uri: str) -> None:
        """Publish the rows as one file, atomically; a retry replaces it."""
        scratch = join(self.directory.uri, f"next_{schema.name}")
        write_dataset(rows.coalesce(1), scratch)
        part = jvm.first_part(self.spark, scratch)
        if part is not None:
            jvm.move(self.spark, part, uri)
        jvm.remove(self.spark, scratch)
