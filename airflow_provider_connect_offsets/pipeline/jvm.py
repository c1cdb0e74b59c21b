"""Small files on Hadoop's file systems, Parquet schemas and Java patterns, by calls into the driver's JVM.

Only py4j gives access to these, so jobs need a driver with its own JVM (spark-submit) and do not run on Spark Connect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import closing
from functools import cache, reduce
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j comes without types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.exceptions import DatasetError

# pyspark turns some Java exceptions into its own, and passes on the others unchanged.
JVM_ERRORS = (PySparkException, Py4JJavaError)


def stop(spark: SparkSession) -> None:
    """Stop the session at the end of the program.

    ``SparkSession.stop`` would also shut down the server of Python's accumulators, which takes up to half a second
    (``socketserver.BaseServer.shutdown``). Its thread ends with the program anyway.
    """
    spark.sparkContext._jsc.stop()  # noqa: SLF001


def read_text(spark: SparkSession, uri: str) -> str:
    """Read a small file whole."""
    file_system, path = _locate(spark, uri)
    with closing(file_system.open(path)) as stream:
        return str(_java(spark, "org.apache.commons.io.IOUtils").toString(stream, "UTF-8"))


def read_json(spark: SparkSession, uri: str) -> Any:
    """Read a small file of JSON."""
    return json.loads(read_text(spark, uri))


def write_text(spark: SparkSession, uri: str, text: str) -> None:
    """Write a small file, replacing any file of that name."""
    file_system, path = _locate(spark, uri)
    with closing(file_system.create(path, True)) as stream:  # noqa: FBT003 - Java has no keyword arguments
        stream.write(bytearray(text.encode()))


def exists(spark: SparkSession, uri: str) -> bool:
    """Whether the file or directory exists."""
    file_system, path = _locate(spark, uri)
    return bool(file_system.exists(path))


def size_of(spark: SparkSession, uri: str) -> int:
    """Return the size of all files of a directory in bytes; 0 if the directory does not exist."""
    file_system, path = _locate(spark, uri)
    return int(file_system.getContentSummary(path).getLength()) if file_system.exists(path) else 0


def remove(spark: SparkSession, uri: str) -> None:
    """Remove a file, or a directory with all its files, if it exists."""
    file_system, path = _locate(spark, uri)
    file_system.delete(path, True)  # noqa: FBT003 - Java has no keyword arguments


def move(spark: SparkSession, source: str, target: str) -> None:
    """Move a file within a file system, replacing ``target``; raises :class:`DatasetError` if that fails."""
    file_system, path = _locate(spark, target)
    file_system.mkdirs(path.getParent())
    file_system.delete(path, False)  # noqa: FBT003 - Java has no keyword arguments
    if not file_system.rename(_locate(spark, source)[1], path):
        raise DatasetError(f"{source} can't be moved to {target}")


def first_part(spark: SparkSession, uri: str) -> str | None:
    """Find the URI of a dataset's first Parquet file; None if there is no such file."""
    file_system, path = _locate(spark, uri)
    listed = file_system.listFiles(path, False)  # noqa: FBT003 - Java has no keyword arguments
    while listed.hasNext():
        part = listed.next().getPath()
        if part.getName().endswith(".parquet"):
            return str(part.toString())
    return None


def absent_columns(spark: SparkSession, uri: str, names: Iterable[str]) -> list[str]:
    """Return the names of columns that the dataset's first file lacks; all files of a dataset have one schema.

    Raises:
        DatasetError: the file is damaged
    """
    part = first_part(spark, uri)
    if part is None:
        return []
    path = _java(spark, "org.apache.hadoop.fs.Path")(part)
    file = _java(spark, "org.apache.parquet.hadoop.util.HadoopInputFile").fromPath(path, _configuration(spark))
    try:
        reader = _java(spark, "org.apache.parquet.hadoop.ParquetFileReader").open(file)
    except JVM_ERRORS as error:
        raise DatasetError(f"{part} is not a valid file of a dataset: {root_cause(error)}") from error
    with closing(reader):
        columns = reader.getFooter().getFileMetaData().getSchema()
        return [name for name in names if not columns.containsField(name)]


def pattern_problem(spark: SparkSession, pattern: str) -> str | None:
    """Say why Java, which Kafka and Spark match with, rejects a regular expression; None if it is valid."""
    try:
        _java(spark, "java.util.regex.Pattern").compile(pattern)
    except JVM_ERRORS as error:
        return root_cause(error)
    return None


def why_pattern_is_refused(spark: SparkSession, **patterns: str | None) -> str | None:
    """Return a sentence on the first parameter that is not a regular expression of Java; None if all are valid."""
    for name, pattern in patterns.items():
        reason = None if pattern is None else pattern_problem(spark, pattern)
        if reason is not None:
            return f"{name}: {pattern!r} is not a valid regular expression: {reason}."
    return None


def root_cause(error: Exception) -> str:
    """Return the first line of the innermost exception's message, without Spark's error class and SQL state."""
    cause = getattr(error, "java_exception", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    text = str(error) if cause is None else str(cause.getMessage())
    line = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    return re.sub(r"^\[[A-Z_.0-9]+\]\s*|\s*SQLSTATE: \w+\s*$", "", line).rstrip(". ")


def _locate(spark: SparkSession, uri: str) -> tuple[Any, Any]:
    """Return the file system of a URI and the path on it; raises :class:`DatasetError` if Hadoop can't reach it."""
    path = _java(spark, "org.apache.hadoop.fs.Path")(uri)
    try:
        return path.getFileSystem(_configuration(spark)), path
    except JVM_ERRORS as error:
        spelling = " Use s3a:// in [connect_offsets] workspace." if uri.startswith("s3://") else ""
        raise DatasetError(
            f"Spark can't reach {uri}: {root_cause(error)}. Give the job a Hadoop client of this store, such as "
            f"hadoop-aws for s3a://, with the task's argument 'packages', and what it needs to sign in.{spelling}"
        ) from error


def _configuration(spark: SparkSession) -> Any:
    return spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001


def _java(spark: SparkSession, name: str) -> Any:
    return _find_class(spark.sparkContext._jvm, name)  # noqa: SLF001


@cache
def _find_class(jvm: Any, name: str) -> Any:
    """Find a class of Java; py4j asks the JVM for each part of its name, and small files are read by the hundred."""
    return reduce(getattr, name.split("."), jvm)
