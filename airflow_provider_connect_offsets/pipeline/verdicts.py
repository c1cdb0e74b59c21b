"""Make verdicts from rules. A rule is a condition on a row and a message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from string import Formatter

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity


def finding(
    rule: Rule, severity: Severity | Column, condition: Column, template: str, **values: Column | str | int
) -> Column:
    """Return a finding: a struct of rule, severity and message if ``condition`` is true, else null.

    Args:
        rule: the rule
        severity: one severity, or a column of severities
        condition: a boolean column
        template: the template of the message, for ``sentence``
        values: for ``sentence``; a string that is not a constant belongs here, as it may contain braces
    """
    level = F.lit(severity.value) if isinstance(severity, Severity) else severity
    message = sentence(template, **values)
    return F.when(
        condition, F.struct(F.lit(rule.value).alias("rule"), level.alias("severity"), message.alias("message"))
    )


def sentence(template: str, **values: Column | str | int) -> Column:
    """Fill in a template for each row.

    Args:
        template: a string with the names of columns in braces: ``{topic}``; ``{lag:number}`` has thousands separators,
            ``{sync_at:moment}`` is a timestamp in UTC, to the second, and ``{lag:record}``, with any noun, is
            ``1 record`` or ``1,200 records``; ``{lag:record is}`` is ``1 record is`` or ``1,200 records are``
        values: values of the names in the template; a name without a value stands for the column of that name

    Returns:
        a string column; null if one of its columns is null
    """
    parts = []
    for text, name, kind, _ in Formatter().parse(template):
        if text:
            parts.append(F.lit(text))
        if name is not None:
            value = values[name] if name in values else F.col(name)
            column = value if isinstance(value, Column) else F.lit(value)
            shown = _FORMATS.get(kind or "")
            parts.append(shown(column) if shown else _quantify(column, str(kind)))
    return F.concat(*parts)


def _quantify(number: Column, words: str) -> Column:
    noun, *verb = words.split()
    several = " ".join((f"{noun}s", *(_PLURALS[one] for one in verb)))
    return F.concat(F.format_number(number, 0), F.when(number == 1, f" {words}").otherwise(f" {several}"))


def verdicts(
    rows: DataFrame,
    findings: Iterable[Column],
    *more: Column,
    connector: Column,
    partition: Column,
    prefix: Column,
    listed: Column | None = None,
) -> DataFrame:
    """Make verdicts from findings.

    Args:
        rows: any frame
        findings: columns that ``finding`` returns
        more: further columns of the result
        connector: the verdict's connector
        partition: the verdict's partition, JSON
        prefix: beginning of each message
        listed: an array of further findings for each row; None without further findings

    Returns:
        dataset ``verdicts``, and ``more``
    """
    own = F.array_compact(F.array(*findings))
    return rows.withColumn("finding", F.explode(own if listed is None else F.concat(listed, own))).select(
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


_PLURALS = {"has": "have", "is": "are", "was": "were"}
_FORMATS: Mapping[str, Callable[[Column], Column]] = {
    "": lambda value: value.cast("string"),
    "number": lambda value: F.format_number(value, 0),
    "moment": _moment,
}
