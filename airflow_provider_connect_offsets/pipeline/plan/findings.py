"""What a rule on a row of the plan gives: a finding where its condition holds, else null."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.plan import Action
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity


def finding(rule: Rule, severity: Severity | Column, condition: Column, *message: str | Column) -> Column:
    """A finding where ``condition`` holds, else null; the message is its parts, one after the other."""
    level = F.lit(severity.value) if isinstance(severity, Severity) else severity
    text = F.concat(*[F.lit(part) if isinstance(part, str) else part.cast("string") for part in message])
    return F.when(condition, F.struct(F.lit(rule.value).alias("rule"), level.alias("severity"), text.alias("message")))


def is_changed() -> Column:
    """Whether the row is not left alone."""
    return F.col("action") != Action.KEEP.value
