"""Time of the job ``plan``, by number of offsets, compared with Spark jobs that do as little as possible.

All run in turn as ``spark-submit --master local[2]``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rows import Row
from timing import submit, timed

from airflow_provider_connect_offsets.offsets.document import canonical_json
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.pipeline.shipping import job_path, write_py_files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.files import write_json
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.schemas import CONNECTOR_OFFSETS, CONNECTORS, LOG_BOUNDS

NOW = datetime(2026, 1, 31, tzinfo=UTC)
#: A plan of the largest size nearly fills Spark's default of 1 GB.
MEMORY = ("--driver-memory", "2g")
SIZES = (10, 10_000, 100_000, 1_000_000)
NOTHING = "from pyspark.sql import SparkSession\nSparkSession.builder.getOrCreate().range(1).count()\n"
GROUPING = """
import sys
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.getOrCreate()
rows = spark.read.parquet(sys.argv[1])
grouped = rows.groupBy("topic", "kafka_partition").agg(F.max_by(F.struct("*"), "position").alias("row"))
grouped.select("row.*").write.mode("overwrite").parquet(sys.argv[2])
"""


def rows(runs: int, scale: float) -> Iterator[Row]:
    """Return a row for each size, and one for the growth between the largest two."""
    with tempfile.TemporaryDirectory() as scratch:
        programs = {name: Path(scratch, f"{name}.py") for name in ("nothing", "grouping")}
        programs["nothing"].write_text(NOTHING)
        programs["grouping"].write_text(GROUPING)
        shipped = write_py_files(Path(scratch, "connect_offsets.zip"))
        taken: dict[int, list[float]] = {}
        for size in SIZES:
            partitions = max(1, round(size * scale))
            run = _snapshot(Path(scratch, str(size)), partitions)
            nothing, grouping, taken[size] = timed(
                runs,
                partial(submit, *MEMORY, str(programs["nothing"])),
                partial(submit, *MEMORY, str(programs["grouping"]), run.connector_offsets, f"{run.uri}/grouped"),
                partial(submit, *MEMORY, "--py-files", str(shipped), str(job_path()), "plan", run.uri),
            )
            name = f"plan of {partitions:,} offsets"
            if size == SIZES[0]:
                yield Row(name, taken[size], "a Spark job that does nothing", nothing, goal=1.25)
            else:
                shows = f"a job that does nothing: {min(nothing):.3g} s"
                yield Row(name, taken[size], "Spark reads, groups and writes the same", grouping, goal=2.0, shows=shows)
        *_, less, most = SIZES
        yield Row(f"plan of {most:,} offsets", taken[most], f"of {less:,}", taken[less], goal=10.0)


def _snapshot(root: Path, partitions: int) -> RunDirectory:
    """The snapshot of a sink whose partitions are all to be moved back 50 records."""
    run = RunDirectory(root.as_uri())
    request = Request.parse(connector="sink", to="shift", value="-50", now=NOW)
    write_json(run.request, request.as_json())
    common = {"connect_cluster": "c", "connector": "sink", "connector_type": "sink", "family": "sink"}
    connector = {**common, "connector_class": "Sink", "state": "RUNNING", "tasks": "[]", "group_id": None}
    write_dataset(run.connectors, CONNECTORS, [{**connector, "config": '{"topics.regex":".*"}', "observed_at": NOW}])
    write_dataset(
        run.connector_offsets,
        CONNECTOR_OFFSETS,
        (
            {
                **common,
                "partition": canonical_json({"kafka_topic": _topic(number), "kafka_partition": number % 10}),
                "offset": canonical_json({"kafka_offset": 100}),
                "topic": _topic(number),
                "kafka_partition": number % 10,
                "position": 100,
                "origin": "rest",
                "raw_key": None,
                "observed_at": NOW,
            }
            for number in range(partitions)
        ),
    )
    bounds = {"kafka_cluster": "k", "log_start": 0, "log_end": 100, "lookup_timestamp": None, "lookup_offset": None}
    rows = ({**bounds, "topic": _topic(number), "kafka_partition": number % 10} for number in range(partitions))
    write_dataset(run.log_bounds, LOG_BOUNDS, rows)
    return run


def _topic(number: int) -> str:
    return f"topic-{number // 10}"
