"""Each call of a change of a sink is broken in each way; the next one completes or undoes it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from sandbox import Sandbox
from tests.support.faults.broken_sink import ChangeOfSink, KeptStoppedSink, SinkCase, StepsOfSink, WriteOfSink
from tests.support.faults.matrix import Generated, GeneratedByPlan

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def case(sandbox: Sandbox, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SinkCase]:
    """One sink for all cells of this module."""
    with SinkCase.started(sandbox, spark, tmp_path_factory.mktemp("generated"), timeout=15) as opened:
        yield opened


class TestPlannedChange(GeneratedByPlan):
    """All of it or nothing, in the state it had; the next attempt completes it."""

    rows = (ChangeOfSink,)


class TestChanges(Generated):
    """The same without a plan, or in several tasks."""

    rows = (WriteOfSink, StepsOfSink, KeptStoppedSink)
