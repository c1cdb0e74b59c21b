"""Run a query that is not trusted: it may read tables of named catalogs, and nothing else.

A query of Spark SQL can also run programs (``TRANSFORM … USING``), call Java (``reflect``) and read any file (a path as
the name of a table). So its parsed plan is walked against a list of what is allowed before Spark resolves any name. Its
analysed plan is walked as well, because a view has a plan of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from py4j.java_gateway import is_instance_of  # type: ignore[import-untyped]  # py4j comes without types
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.pipeline.session import forbid_paths

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
_ANALYSIS = "org.apache.spark.sql.catalyst.analysis."
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_RELATION, _CTE = f"{_ANALYSIS}UnresolvedRelation", f"{_LOGICAL}UnresolvedWith"
_FUNCTION, _GENERATOR = f"{_ANALYSIS}UnresolvedFunction", f"{_ANALYSIS}UnresolvedGenerator"
# Allowed parts of a parsed query. Any other part is refused, including what later versions of Spark add.
_PARTS = {
    _RELATION,
    _CTE,
    _FUNCTION,
    _GENERATOR,
    *(
        _LOGICAL + name
        for name in (
            *("Project", "Filter", "Aggregate", "Join", "LateralJoin", "Union", "Intersect", "Except", "Distinct"),
            *("Sort", "GlobalLimit", "LocalLimit", "Offset", "SubqueryAlias", "OneRowRelation", "LocalRelation"),
            *("Generate", "WithWindowDefinition", "Window", "UnresolvedHint", "Sample", "Unpivot", "Pivot"),
        )
    ),
    *(
        _ANALYSIS + name
        for name in (
            *(
                "UnresolvedAttribute",
                "UnresolvedStar",
                "UnresolvedAlias",
                "UnresolvedOrdinal",
                "UnresolvedExtractValue",
            ),
            *("UnresolvedHaving", "UnresolvedInlineTable", "UnresolvedSubqueryColumnAliases"),
            *("UnresolvedWindowExpression", "UnresolvedFunctionName", "UnresolvedPivot", "UnresolvedUnpivot"),
        )
    ),
}
# Groups of Spark's own functions (ExpressionInfo) that only compute. misc_funcs, which has functions that call Java, is
# not listed.
_GROUPS = {
    *("agg", "array", "bitwise", "collection", "conditional", "conversion", "datetime", "generator", "hash", "json"),
    *("lambda", "map", "math", "predicate", "string", "struct", "window"),
}
# What a view's plan must not have: functions of users, calls into Java, programs.
_IN_NO_VIEW = ("UDF", "UDAF", "UDTF", "Reflect", "ScriptTransformation", "ScalaAggregator")
_MOST_PARTS = 10_000
# Parts that read a table or view of Spark's own catalog, and the method of each that returns it.
_OWN_TABLES = {"LogicalRelation": "catalogTable", "HiveTableRelation": "tableMeta", "View": "desc"}


def run(spark: SparkSession, query: str, catalogs: Collection[str]) -> DataFrame:
    """Return the rows of a query.

    Args:
        spark: the session
        query: a query in Spark SQL
        catalogs: names of the catalogs whose tables it may read

    Raises:
        InvalidDocument: no catalog is named, or the query does more than read tables of these; nothing was run
        PySparkException: Spark can't parse or analyse the query
    """
    if not catalogs:
        raise InvalidDocument("to=query is off: the option [connect_offsets] queries lists no catalog")
    # A subquery can only be a query: a statement that changes a table does not parse here.
    as_rows = f"SELECT * FROM (\n{query.strip().rstrip(';')}\n) AS positions"  # noqa: S608 - it is what was requested
    _refuse_parts(spark, spark._jsparkSession.sessionState().sqlParser().parsePlan(as_rows), catalogs)  # noqa: SLF001
    forbid_paths(spark)
    found = spark.sql(as_rows)
    _refuse_views(spark, found._jdf.queryExecution().analyzed(), catalogs)  # noqa: SLF001
    return found


def _refuse_parts(spark: SparkSession, parsed: Any, catalogs: Collection[str]) -> None:
    named: set[str] = set()
    relations: list[list[str]] = []
    for number, part in enumerate(_parts(spark, parsed)):
        if number > _MOST_PARTS:
            raise InvalidDocument(f"the query has more than {_MOST_PARTS:,} parts")
        match _kind_of(part):
            case kind if kind == _CTE:
                named |= {relation._1() for relation in _seq(part.cteRelations())}  # noqa: SLF001 - a tuple of Scala
            case kind if kind == _RELATION:
                relations.append(_name_of(part))
            case kind if kind == _FUNCTION:
                _refuse_function(spark, _seq(part.nameParts()))
            case kind if kind == _GENERATOR:
                _refuse_function(spark, part.name().unquotedString().split("."))
    for name in relations:
        if len(name) > 1 or name[0] not in named:
            _refuse_catalog(_catalog_of(spark, name), ".".join(name), catalogs)


def _kind_of(part: Any) -> str:
    """Return the name of a part's class; refuse a class that is not listed."""
    kind = str(part.getClass().getName()).rstrip("$")
    if kind not in _PARTS and not kind.startswith(_EXPRESSIONS):
        raise InvalidDocument(
            f"the query has a part that is not allowed here: {kind.rpartition('.')[2]}. A query may only read, "
            "join, filter, group and sort tables"
        )
    return kind


def _refuse_function(spark: SparkSession, name: list[str]) -> None:
    """Refuse all functions except those of Spark that only compute."""
    jvm: Any = spark._jvm  # noqa: SLF001
    registry = jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()
    identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name[-1])
    known = registry.lookupFunction(identifier) if len(name) == 1 else None
    group = known.get().getGroup() if known is not None and known.isDefined() else ""
    if group.removesuffix("_funcs") not in _GROUPS:
        raise InvalidDocument(f"the query may not call {'.'.join(name)}()")


def _refuse_views(spark: SparkSession, analysed: Any, catalogs: Collection[str]) -> None:
    """Refuse what a view brings in: other catalogs, functions of users, programs."""
    for part in _parts(spark, analysed):
        kind = part.getClass().getName().rpartition(".")[2]
        if any(word in kind for word in _IN_NO_VIEW):
            raise InvalidDocument(f"the query reads a view with a part that is not allowed here: {kind}")
        # Tables of Spark's own catalog are checked here too: a name of WITH, which ``_refuse_parts`` accepts everywhere
        # in the query, may be a table's outside the scope of WITH.
        if kind in _OWN_TABLES:
            for table in _own_tables(part, kind):
                _refuse_catalog("spark_catalog", str(table.identifier().unquotedString()), catalogs)
        if kind.startswith("DataSourceV2Relation") and part.catalog().isDefined():
            _refuse_catalog(part.catalog().get().name(), part.name(), catalogs)


def _own_tables(part: Any, kind: str) -> list[Any]:
    """Return the table of Spark's own catalog that a part of an analysed plan reads; empty if it reads no table."""
    found = getattr(part, _OWN_TABLES[kind])()
    if kind != "LogicalRelation":
        return [found]
    return [found.get()] if found.isDefined() else []


def _refuse_catalog(catalog: str, table: str, catalogs: Collection[str]) -> None:
    if catalog not in catalogs:
        raise InvalidDocument(
            f"the query may not read {table}: it is in catalog {catalog!r}, but the option [connect_offsets] queries "
            f"allows only {', '.join(map(repr, sorted(catalogs)))}"
        )


def _catalog_of(spark: SparkSession, name: list[str]) -> str:
    """Return the catalog in which Spark looks for a table: that in the table's name, else the current catalog."""
    manager = spark._jsparkSession.sessionState().catalogManager()  # noqa: SLF001
    configured = spark.conf.get(f"spark.sql.catalog.{name[0]}", None) is not None
    is_catalog = len(name) > 1 and (configured or name[0] == "spark_catalog")
    return name[0] if is_catalog else str(manager.currentCatalog().name())


def _name_of(relation: Any) -> list[str]:
    """Return the parts of a table's name; refuse options, which would be passed to its data source."""
    name = [str(one) for one in _seq(relation.multipartIdentifier())]
    if not relation.options().isEmpty():
        raise InvalidDocument(f"the query may not set options for a table: {'.'.join(name)}")
    return name


def _parts(spark: SparkSession, plan: Any) -> Iterator[Any]:
    """Yield all parts of a plan: operators, their expressions, and the plans within these."""
    gateway = spark.sparkContext._gateway  # noqa: SLF001
    left = [plan]
    while left:
        part = left.pop()
        yield part
        left += _seq(part.children())
        if is_instance_of(gateway, part, f"{_LOGICAL}LogicalPlan"):
            left += _seq(part.expressions())
            left += _seq(part.innerChildren())  # the named queries of WITH
        elif is_instance_of(gateway, part, f"{_EXPRESSIONS}PlanExpression"):
            left.append(part.plan())


def _seq(scala: Any) -> list[Any]:
    return [scala.apply(number) for number in range(scala.size())]
