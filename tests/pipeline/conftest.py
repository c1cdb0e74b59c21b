"""Spark for the tests of the jobs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.programs.submitting import Cluster
from tests.support.rows.planning import Planner

# The workers must be the Python that runs the tests, whatever "python3" on the path is.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture
def planner(spark: SparkSession) -> Iterator[Planner]:
    """Plans requests on snapshots of a test."""
    yield Planner(spark)
    spark.catalog.clearCache()


@pytest.fixture(scope="session", params=["folder", "object store"])
def cluster(request: pytest.FixtureRequest, spark_master: str) -> Cluster:
    """A Spark cluster with two workers, and where its jobs find their datasets."""
    is_store = request.param == "object store"
    return Cluster(spark_master, request.getfixturevalue("store") if is_store else None)
