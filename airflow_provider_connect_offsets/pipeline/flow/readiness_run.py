"""What one run of the job that judges a flow's readiness reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest
from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.flow.flow_rules import FlowConnector
from airflow_provider_connect_offsets.pipeline.frames import WHOLE, few_rows, read_dataset, struct_type, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import LAG_HISTORY, MIRROR_LEDGER
from airflow_provider_connect_offsets.workspace.paths import join
from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory
from airflow_provider_connect_offsets.workspace.schemas import CONNECTORS, Schema


@dataclass(frozen=True, slots=True)
class ReadinessRun:
    """What one run of the job works on."""

    spark: SparkSession
    directory: ReadinessDirectory
    request: ReadinessRequest
    snapshot: dict[str, Any]

    @property
    def observed_at(self) -> datetime:
        """When it was looked."""
        return datetime.fromisoformat(self.snapshot["observed_at"])

    def read(self, uri: str, schema: Schema) -> DataFrame:
        """Read a dataset."""
        return read_dataset(self.spark, uri, schema)

    def write(self, frame: DataFrame, uri: str, schema: Schema) -> DataFrame:
        """Write a dataset as one file, and give it as it was written."""
        write_dataset(frame.coalesce(1), uri)
        return self.read(uri, schema)

    def connectors(self) -> dict[str, FlowConnector]:
        """The flow's connectors, one or two, by name."""
        rows = self.read(self.directory.connectors, CONNECTORS).collect()
        return {row["connector"]: FlowConnector.of(row.asDict()) for row in rows}

    def history(self) -> DataFrame:
        """The history of earlier runs; what an earlier attempt of this one has written is none."""
        root = self.snapshot["next_history"].rpartition("/")[0]
        shape = struct_type(LAG_HISTORY)
        if not jvm.exists(self.spark, root):
            return few_rows(self.spark, [], shape)
        return (
            self.spark.read.schema(shape)
            .options(**WHOLE)
            .parquet(root)
            .where((F.col("run_uri") != self.directory.uri) & (F.col("observed_at") < F.lit(self.observed_at)))
        )

    def ledger(self) -> DataFrame:
        """What the look before this one has kept for the loss of the source."""
        root = self.snapshot["next_ledger"].rpartition("/")[0]
        shape = struct_type(MIRROR_LEDGER)
        if not jvm.exists(self.spark, root):
            return few_rows(self.spark, [], shape)
        kept = self.spark.read.schema(shape).options(**WHOLE).parquet(root)
        before = kept.where(F.col("observed_at") < F.lit(self.observed_at))
        # While a new one is published there are two for a moment.
        return (
            before.withColumn("newest", F.max("observed_at").over(Window.partitionBy(F.lit(1))))
            .where(F.col("observed_at") == F.col("newest"))
            .drop("newest")
        )

    def publish(self, rows: DataFrame, schema: Schema, uri: str) -> None:
        """Publish the rows as a file of their own, whole or not at all; a retry replaces it."""
        scratch = join(self.directory.uri, f"next_{schema.name}")
        write_dataset(rows.coalesce(1), scratch)
        part = jvm.first_part(self.spark, scratch)
        if part is not None:
            jvm.move(self.spark, part, uri)
        jvm.remove_tree(self.spark, scratch)
