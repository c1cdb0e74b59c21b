"""A Spark job and its session: users' settings override the job's defaults, but not what the datasets require."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline import jvm
from airflow_provider_connect_offsets.workspace.layout import Directory

# Defaults of every job. Nobody reads the UI of a job that takes seconds. With debugging on, PySpark sends the JVM the
# call site of each function, which takes more calls than the job itself.
QUIET = {"spark.ui.enabled": "false", "spark.python.sql.dataFrameDebugging.enabled": "false"}
# Readers of datasets expect microseconds in UTC. An overflow must be an error, not a wrong offset.
REQUIRED = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS", "spark.sql.ansi.enabled": "true"}

# Bytes of datasets for each task of a shuffle. A task sorts its rows several times at once, and with a driver's default
# memory it fails at about 50 MB.
TASK_BYTES = 16 * 2**20
# Fewest tasks on a cluster, which may add cores while a job runs.
CLUSTER_TASKS = 8

# Bytes of datasets up to which Spark plans a job's queries for longer than it runs them.
SMALL_BYTES = 2**20
# For these on one machine: one task per stage, joins without a job that broadcasts a side, plans that are not adapted,
# and no class that a compiler has to make before a row is read. A translation takes three quarters of the time, a plan
# nine tenths.
SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

_Run = TypeVar("_Run", bound=Directory)


@dataclass(frozen=True, slots=True)
class Job:
    """A job that ``job.py`` runs.

    Attributes:
        name: what ``job.py`` calls it; Spark's application is named after it
        usage: its arguments, for the usage message
        run: what it does, with a session and its arguments
        takes: how many arguments there may be; the first one is the run directory
        tasks: fewest tasks of a shuffle on one machine, unless the datasets are small; 0: one per core, so that all end
            at the same time
        defaults: further Spark settings, each used only if the user has not set it
    """

    name: str
    usage: str
    run: Callable[[SparkSession, list[str]], object]
    takes: Collection[int]
    tasks: int = 0
    defaults: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_one_run(
        cls,
        name: str,
        run: Callable[[SparkSession, _Run], object],
        kind: type[_Run],
        *,
        tasks: int = 0,
        defaults: Mapping[str, str] = MappingProxyType({}),
    ) -> Job:
        """Make a job whose only argument is a run directory of type ``kind``; the rest are attributes of the job."""
        return cls(name, "RUN_DIRECTORY", lambda spark, arguments: run(spark, kind(*arguments)), {1}, tasks, defaults)

    def main(self, arguments: list[str]) -> int:
        """Run as a Spark application, and return the exit code."""
        if len(arguments) not in self.takes:
            sys.stderr.write(f"usage: job.py {self.name} {self.usage}\n")
            return 2
        spark = open_session(f"connect-offsets {self.name}", self.defaults)
        fit(spark, arguments[0], tasks=self.tasks)
        self.run(spark, arguments)
        jvm.stop(spark)
        return 0


def begin(spark: SparkSession, directory: Directory) -> dict[str, Any]:
    """Remove the summary of an earlier attempt, which would belong to other datasets, and return the request."""
    jvm.remove(spark, directory.summary)
    request: dict[str, Any] = jvm.read_json(spark, directory.request)
    return request


def open_session(name: str, defaults: Mapping[str, str]) -> SparkSession:
    """Start a session.

    Args:
        name: name of the Spark application
        defaults: settings that hold unless the user sets them in ``spark-defaults.conf``, in the properties file, or as
            ``--conf`` (``conf`` of the operator)
    """
    SparkContext._ensure_initialized()  # noqa: SLF001 - SparkConf is empty until the JVM runs
    conf = SparkConf()
    for setting, value in {**QUIET, **defaults}.items():
        conf.setIfMissing(setting, value)
    for setting, value in REQUIRED.items():
        conf.set(setting, value)
    return SparkSession.builder.appName(name).config(conf=conf).getOrCreate()


def fit(spark: SparkSession, *uris: str, tasks: int = 0) -> None:
    """Choose the settings that suit the size of a run's datasets, each only if the user has not set it.

    Small datasets on one machine get the settings ``SMALL``. Others get as many tasks in a shuffle as their size
    requires; if that is no more than ``tasks``, adaptive execution would plan each stage again and arrive at the same
    number, so it is off.

    Args:
        spark: the session
        uris: the directories of the datasets
        tasks: fewest tasks on one machine, unless the datasets are small; 0: one per core
    """
    context = spark.sparkContext
    for setting in SMALL:  # the datasets may have been small when this session began
        if not context.getConf().contains(setting):
            spark.conf.unset(setting)
    cores, is_local = context.defaultParallelism, str(context.master).startswith("local")
    size = sum(jvm.size_of(spark, uri) for uri in uris)
    if is_local and size <= SMALL_BYTES:
        settings = SMALL
    else:
        least = tasks or cores if is_local else max(CLUSTER_TASKS, cores)
        needed = math.ceil(size / TASK_BYTES)
        settings = {"spark.sql.shuffle.partitions": str(max(least, needed))}
        if is_local and needed <= least:
            settings["spark.sql.adaptive.enabled"] = "false"
    for setting, value in settings.items():
        set_default(spark, setting, value)


def forbid_paths(spark: SparkSession) -> None:
    """Forbid paths as names of tables in SQL from now on (``text.`/etc/passwd```)."""
    spark.conf.set("spark.sql.runSQLOnFiles", "false")


def set_default(spark: SparkSession, setting: str, value: str) -> None:
    """Set a default that depends on the running session, unless the user has set it."""
    if not spark.sparkContext.getConf().contains(setting):
        spark.conf.set(setting, value)
