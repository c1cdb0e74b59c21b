"""Build findings: struct columns with rule, severity and message, null in rows that the rule does not concern."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.plan import Action
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity


def finding(rule: Rule, severity: Severity | Column, condition: Column, *message: str | Column) -> Column:
    """A struct of rule, severity and message if ``condition`` is true, else null.

    Args:
        rule: the rule
        severity: of all findings, or a column with each one's
        condition: a boolean column
        message: parts of the message, concatenated; the finding is null if one is null
    """
    level = F.lit(severity.value) if isinstance(severity, Severity) else severity
    text = F.concat(*[F.lit(part) if isinstance(part, str) else part.cast("string") for part in message])
    return F.when(condition, F.struct(F.lit(rule.value).alias("rule"), level.alias("severity"), text.alias("message")))


def is_changed() -> Column:
    """Whether the plan changes the row."""
    return F.col("action") != Action.KEEP.value
