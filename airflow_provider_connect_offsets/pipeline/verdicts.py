"""Make verdicts of rules, each of which is a condition on a row and a sentence for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from string import Formatter

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.pipeline.plan.findings import finding


def found(
    rule: Rule, severity: Severity | Column, condition: Column, template: str, **values: Column | str | int
) -> Column:
    """A finding as ``findings.finding`` makes it, whose message is a ``sentence``."""
    return finding(rule, severity, condition, sentence(template, **values))


def sentence(template: str, **values: Column | str | int) -> Column:
    """Fill in a template for each row.

    Args:
        template: a text with the names of columns in braces: ``{topic}``; ``{lag:number}`` has thousands separators,
            ``{sync_at:moment}`` is a timestamp in UTC, to the second
        values: what names stand for that are not those of columns

    Returns:
        a text; null if one of its columns is null
    """
    parts = []
    for text, name, kind, _ in Formatter().parse(template):
        parts.append(F.lit(text))
        if name is not None:
            value = values.get(name, F.col(name))
            parts.append(_FORMATS[kind or ""](value if isinstance(value, Column) else F.lit(value)))
    return F.concat(*parts)


def verdicts(
    rows: DataFrame, findings: Iterable[Column], *more: Column, connector: Column, partition: Column, prefix: Column
) -> DataFrame:
    """Make verdicts of findings.

    Args:
        rows: any frame
        findings: columns that ``found`` returns
        more: further columns of the result
        connector: the verdict's connector
        partition: the verdict's partition, JSON
        prefix: beginning of each message

    Returns:
        dataset ``verdicts``, and ``more``
    """
    return rows.withColumn("finding", F.explode(F.array_compact(F.array(*findings)))).select(
        "finding.rule",
        "finding.severity",
        connector.alias("connector"),
        partition.alias("partition"),
        F.concat(prefix, "finding.message").alias("message"),
        *more,
    )


def _moment(time: Column) -> Column:
    in_utc = F.to_utc_timestamp(time, F.current_timezone())
    return F.concat(F.date_format(in_utc, "yyyy-MM-dd HH:mm:ss"), F.lit(" UTC"))


_FORMATS: Mapping[str, Callable[[Column], Column]] = {
    "": lambda value: value.cast("string"),
    "number": lambda value: F.format_number(value, 0),
    "moment": _moment,
}
