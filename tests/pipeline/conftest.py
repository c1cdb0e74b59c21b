"""Spark for the tests of the jobs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.rows.planning import Planner

# What the job has for small datasets on one machine.
SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}
# The workers must be the Python that runs the tests, whatever "python3" on the path is.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture
def planner(spark: SparkSession) -> Iterator[Planner]:
    """Plans requests on snapshots of a test, with the settings of the job."""
    before = {name: spark.conf.get(name) for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    yield Planner(spark)
    for name, earlier in before.items():
        spark.conf.set(name, earlier or "")
    spark.catalog.clearCache()
