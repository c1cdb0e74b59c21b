"""Spark for the tests of the jobs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.programs.spark_cluster import spark_cluster
from tests.support.rows.planning import Planner

# The workers must be the Python that runs the tests, whatever "python3" on the path is.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture
def planner(spark: SparkSession) -> Iterator[Planner]:
    """Plans requests on snapshots of a test."""
    yield Planner(spark)
    spark.catalog.clearCache()


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The master of a Spark cluster with two workers."""
    with spark_cluster() as master:
        yield master
