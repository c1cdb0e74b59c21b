"""What the jobs need of the JVM beside DataFrames: small files where Spark itself reads and writes, and Java patterns.

py4j is the only way to either, so the jobs run where the driver has a JVM of its own (spark-submit), not on Spark
Connect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j comes without types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.exceptions import DatasetError

# pyspark makes its own exceptions of some of Java's, and hands on the others as they come.
JVM_ERRORS = (PySparkException, Py4JJavaError)


def stop(spark: SparkSession) -> None:
    """Stop the session of a program that ends now.

    ``SparkSession.stop`` also ends the server that adds up Python's accumulators, and waits up to half a second for it:
    ``socketserver.BaseServer.shutdown`` is noticed at the server's next turn. Its thread ends with the program.
    """
    spark.sparkContext._jsc.stop()  # noqa: SLF001


def read_text(spark: SparkSession, uri: str) -> str:
    """Read a small file whole."""
    file_system, path = _locate(spark, uri)
    stream = file_system.open(path)
    try:
        return str(_jvm(spark).org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    finally:
        stream.close()


def write_text(spark: SparkSession, uri: str, text: str) -> None:
    """Write a small file, in place of what stood there."""
    file_system, path = _locate(spark, uri)
    stream = file_system.create(path, True)  # noqa: FBT003 - Java has no keyword arguments
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()


def exists(spark: SparkSession, uri: str) -> bool:
    """Whether there is such a file."""
    file_system, path = _locate(spark, uri)
    return bool(file_system.exists(path))


def remove(spark: SparkSession, uri: str) -> None:
    """Remove a file, where there is one."""
    file_system, path = _locate(spark, uri)
    file_system.delete(path, False)  # noqa: FBT003 - Java has no keyword arguments


def remove_tree(spark: SparkSession, uri: str) -> None:
    """Remove a directory with all that is in it, where there is one."""
    file_system, path = _locate(spark, uri)
    file_system.delete(path, True)  # noqa: FBT003 - Java has no keyword arguments


def move(spark: SparkSession, source: str, target: str) -> None:
    """Move a file, in place of what is at ``target``; both are on the same file system."""
    file_system, path = _locate(spark, target)
    file_system.mkdirs(path.getParent())
    file_system.delete(path, False)  # noqa: FBT003 - Java has no keyword arguments
    if not file_system.rename(_locate(spark, source)[1], path):
        raise DatasetError(f"{source} can't be moved to {target}")


def first_part(spark: SparkSession, uri: str) -> str | None:
    """The URI of a dataset's first file of Parquet; None where it has none."""
    file_system, path = _locate(spark, uri)
    listed = file_system.listFiles(path, False)  # noqa: FBT003 - Java has no keyword arguments
    while listed.hasNext():
        found = listed.next().getPath()
        if found.getName().endswith(".parquet"):
            return str(found.toString())
    return None


def absent_columns(spark: SparkSession, uri: str, names: Iterable[str]) -> list[str]:
    """Those of ``names`` that the dataset's first part lacks; all parts of a dataset are of one schema.

    Raises :class:`DatasetError` for a part that is damaged.
    """
    part = first_part(spark, uri)
    if part is None:
        return []
    hadoop = _jvm(spark).org.apache.parquet.hadoop
    configuration = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
    file = hadoop.util.HadoopInputFile.fromPath(_jvm(spark).org.apache.hadoop.fs.Path(part), configuration)
    try:
        reader = hadoop.ParquetFileReader.open(file)
    except JVM_ERRORS as error:
        raise DatasetError(f"{part} is no part of a dataset: {root_cause(error)}") from error
    try:
        columns = reader.getFooter().getFileMetaData().getSchema()
        return [name for name in names if not columns.containsField(name)]
    finally:
        reader.close()


def pattern_problem(spark: SparkSession, pattern: str) -> str | None:
    """Say why ``pattern`` is none to Java, which Kafka and Spark match with; None where it is one."""
    try:
        _jvm(spark).java.util.regex.Pattern.compile(pattern)
    except JVM_ERRORS as error:
        return root_cause(error)
    return None


def root_cause(error: Exception) -> str:
    """The first line of what went wrong at the bottom, without Spark's error class and SQL state around it."""
    cause = getattr(error, "java_exception", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    text = str(error) if cause is None else str(cause.getMessage())
    line = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    return re.sub(r"^\[[A-Z_.0-9]+\]\s*|\s*SQLSTATE: \w+\s*$", "", line).rstrip(". ")


def _locate(spark: SparkSession, uri: str) -> tuple[Any, Any]:
    path = _jvm(spark).org.apache.hadoop.fs.Path(uri)
    configuration = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
    return path.getFileSystem(configuration), path


def _jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm  # noqa: SLF001
