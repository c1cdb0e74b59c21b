"""Time of the job ``plan`` compared with a Spark job that does nothing, by number of partitions.

Both run in turn as ``spark-submit --master local[2]``; prints the ratio of their medians::

    make bench
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from timing import medians, submit

from airflow_provider_connect_offsets.offsets.document import canonical
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.pipeline.shipping import job_path, write_py_files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.files import write_json
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.schemas import CONNECTOR_OFFSETS, CONNECTORS, LOG_BOUNDS

NOW = datetime(2026, 1, 31, tzinfo=UTC)
FLOOR = "from pyspark.sql import SparkSession\nSparkSession.builder.getOrCreate().range(1).count()\n"


def main() -> int:
    """Print one line for each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--partitions", type=int, nargs="+", default=[10, 10_000, 100_000])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        floor_job = Path(scratch, "floor.py")
        floor_job.write_text(FLOOR)
        shipped = write_py_files(Path(scratch, "connect_offsets.zip"))
        for partitions in options.partitions:
            run = _snapshot(Path(scratch, str(partitions)), partitions)
            floor, job = medians(
                options.runs,
                partial(submit, str(floor_job)),
                partial(submit, "--py-files", str(shipped), str(job_path()), "plan", run.uri),
            )
            ratio = f"{job / floor:.2f} times a job that does nothing ({job:.1f} s, {floor:.1f} s)"
            print(f"{partitions:>8,} partitions: {ratio}")
    return 0


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
                "partition": canonical({"kafka_topic": _topic(number), "kafka_partition": number % 10}),
                "offset": canonical({"kafka_offset": 100}),
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


if __name__ == "__main__":
    sys.exit(main())
