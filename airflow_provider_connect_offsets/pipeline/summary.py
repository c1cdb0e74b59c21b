"""Write the ``summary.json`` of a job, and compute its parts: totals, first rows, counts and samples of verdicts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.pipeline import jvm

# Most verdicts of each rule and severity in a summary, and most rows of each list.
SAMPLE, LISTED = 20, 100


def write_summary(spark: SparkSession, uri: str, summary: dict[str, Any]) -> dict[str, Any]:
    """Write the summary, which a job does last of all, and return it."""
    jvm.write_text(spark, uri, json.dumps(summary, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    return summary


def now() -> str:
    """Return the time now: ISO 8601 in UTC, with milliseconds."""
    return datetime.now(tz=UTC).isoformat(timespec="milliseconds")


def totals(rows: DataFrame, *aggregates: Column) -> dict[str, Any]:
    """Compute these aggregates over all rows, by name."""
    [row] = rows.agg(*aggregates).collect()
    return dict(row.asDict())


def collect_first(rows: DataFrame, *order: Column | str) -> list[dict[str, Any]]:
    """Collect the first ``LISTED`` rows in that order."""
    return [row.asDict() for row in rows.orderBy(*order).limit(LISTED).collect()]


def sample_verdicts(verdicts: DataFrame, *by: str) -> list[dict[str, Any]]:
    """Collect up to ``SAMPLE`` verdicts of each rule and severity.

    Args:
        verdicts: dataset ``verdicts``
        by: further columns; verdicts are sampled and counted separately for each of their values

    Returns:
        severity, rule, message and ``by`` of each sampled verdict, and ``times``: how many verdicts have the same
        severity, rule and ``by``
    """
    kind = Window.partitionBy(*by, "severity", "rule")
    numbered = verdicts.withColumn("times", F.count("*").over(kind)).withColumn(
        "number", F.row_number().over(kind.orderBy("message"))
    )
    rows = numbered.where(F.col("number") <= SAMPLE).select(*by, "severity", "rule", "message", "times").collect()
    return sorted((row.asDict() for row in rows), key=lambda row: (row["rule"], row["message"]))


def verdict_counts(sample: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Count verdicts: ``verdicts`` by severity, ``rules`` by rule. ``sample`` is what ``sample_verdicts`` returns."""
    by_severity, by_rule = Counter[str](), Counter[str]()
    for (severity, rule), times in {(row["severity"], row["rule"]): row["times"] for row in sample}.items():
        by_severity[severity] += times
        by_rule[rule] += times
    return {
        "verdicts": {severity.value: by_severity[severity.value] for severity in Severity},
        "rules": dict(sorted(by_rule.items())),
    }


def summarise_plan(sample: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summarise a plan's verdicts: counts, the worst severity, and messages of errors and warnings.

    ``sample`` is what ``sample_verdicts`` returns.
    """
    messages = {
        severity: [row["message"] for row in sample if row["severity"] == severity][:SAMPLE] for severity in Severity
    }
    return {
        **verdict_counts(sample),
        "worst": next((severity.value for severity in Severity if messages[severity]), None),
        "errors": messages[Severity.ERROR],
        "warnings": messages[Severity.WARNING],
    }
