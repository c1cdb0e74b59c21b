"""``summary.json`` of a job: the counts and samples of verdicts in it, and how it is written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.pipeline import jvm

# Verdicts of each rule and severity in a summary.
SAMPLE = 20


def write_summary(spark: SparkSession, uri: str, summary: dict[str, Any]) -> dict[str, Any]:
    """Write the summary, which a job does last of all, and return it."""
    jvm.write_text(spark, uri, json.dumps(summary, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    return summary


def now() -> str:
    """The time now: ISO 8601 in UTC, with milliseconds."""
    return datetime.now(tz=UTC).isoformat(timespec="milliseconds")


def sampled(verdicts: DataFrame, *by: str) -> list[dict[str, Any]]:
    """Collect up to ``SAMPLE`` verdicts of each rule and severity.

    Args:
        verdicts: dataset ``verdicts``
        by: more columns, for each value of which they are sampled and counted by themselves

    Returns:
        severity, rule, message and ``by`` of each, and ``times``: how many verdicts have this rule and severity
    """
    kind = Window.partitionBy(*by, "severity", "rule")
    numbered = verdicts.withColumn("times", F.count("*").over(kind)).withColumn(
        "number", F.row_number().over(kind.orderBy("message"))
    )
    rows = numbered.where(F.col("number") <= SAMPLE).select(*by, "severity", "rule", "message", "times").collect()
    return sorted((row.asDict() for row in rows), key=lambda row: (row["rule"], row["message"]))


def verdict_counts(sample: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Numbers of verdicts: ``verdicts`` by severity, ``rules`` by rule. ``sample`` is what ``sampled`` returns."""
    by_severity, by_rule = Counter[str](), Counter[str]()
    for (severity, rule), times in {(row["severity"], row["rule"]): row["times"] for row in sample}.items():
        by_severity[severity] += times
        by_rule[rule] += times
    return {
        "verdicts": {severity.value: by_severity[severity.value] for severity in Severity},
        "rules": dict(sorted(by_rule.items())),
    }
