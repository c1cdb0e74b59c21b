"""Spark for the tests of the jobs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline.plan.plan_job import DEFAULTS
from tests.support.rows.planning import Planner

# The workers must be the Python that runs the tests, whatever "python3" on the path is.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture
def planner(spark: SparkSession) -> Iterator[Planner]:
    """Plans requests on snapshots of a test, with the settings of the job."""
    before = {name: spark.conf.get(name) for name in DEFAULTS}
    for name, value in DEFAULTS.items():
        spark.conf.set(name, value)
    yield Planner(spark)
    for name, earlier in before.items():
        spark.conf.set(name, earlier or "")
    spark.catalog.clearCache()
