"""The job ``standby``: the final translation of a failover, started before the flow is stopped.

A driver takes most of a short job's time to load and compile classes. This one does that while the flow still runs: it
translates the preview's observation once more, with made-up records to compare, says that it is ready, and waits for
the final observation.
"""

from __future__ import annotations

import sys
import time

from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.pipeline.failover import translate_job
from airflow_provider_connect_offsets.pipeline.session import Job, fit
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, StandbyDirectory

_LOOKS_EVERY = 0.25  # seconds


def run(
    spark: SparkSession,
    preview: FailoverDirectory,
    final: FailoverDirectory,
    standby: StandbyDirectory,
    *,
    seconds: float,
) -> bool:
    """Get ready, wait for the final observation, and translate it.

    Args:
        spark: the session
        preview: the run whose translation was approved
        final: the run that will be observed
        standby: where driver and operator leave each other messages
        seconds: how long to wait

    Returns:
        whether it was translated; if not, nobody wants it any more, or nobody asked for it within ``seconds``
    """
    translate_job.rehearse(spark, preview, FailoverDirectory(standby.uri))
    if jvm.exists(spark, standby.wanted):
        jvm.write_text(spark, standby.ready, "")
    if not _is_observed(spark, standby, time.monotonic() + seconds):
        return False
    fit(spark, final.uri)
    translate_job.run(spark, final, preview)
    return True


def _is_observed(spark: SparkSession, standby: StandbyDirectory, end: float) -> bool:
    while time.monotonic() < end:
        if jvm.exists(spark, standby.observed):
            return True
        if not jvm.exists(spark, standby.wanted):
            return False
        time.sleep(_LOOKS_EVERY)
    return False


def _run(spark: SparkSession, arguments: list[str]) -> None:
    preview, final, standby, seconds = arguments
    directories = FailoverDirectory(preview), FailoverDirectory(final), StandbyDirectory(standby)
    if not run(spark, *directories, seconds=float(seconds)):
        sys.stderr.write("The final translation was not needed here.\n")


JOB = Job(
    name="standby",
    usage="PREVIEW_DIRECTORY RUN_DIRECTORY STANDBY_DIRECTORY SECONDS",
    run=_run,
    takes={4},
    defaults=translate_job.DEFAULTS,
)
