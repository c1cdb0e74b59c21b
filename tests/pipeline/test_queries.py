"""What a stranger's query can do: read tables of named catalogs, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.pipeline.jvm import JVM_ERRORS
from airflow_provider_connect_offsets.pipeline.plan import queries

HERE = ["spark_catalog"]


@pytest.fixture(scope="module")
def landed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A table ``landed``, a view that calls Java, a function of a user, and a directory."""
    directory = tmp_path_factory.mktemp("landed")
    rows = spark.createDataFrame([("orders", 0, 5)], "topic string, partition int, offset long")
    rows.write.mode("overwrite").save(str(directory / "landed"))
    spark.sql(f"CREATE TABLE landed USING parquet LOCATION '{directory / 'landed'}'")
    spark.sql("CREATE VIEW leaking AS SELECT reflect('java.lang.System', 'getenv', 'HOME') AS topic")
    spark.udf.register("of_a_user", lambda: "x", StringType())
    yield directory
    spark.sql("DROP VIEW leaking")
    spark.sql("DROP TABLE landed")
    spark.sql("DROP TEMPORARY FUNCTION of_a_user")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT topic, partition, max(offset) AS last FROM landed WHERE topic LIKE 'o%' GROUP BY 1, 2",
        "WITH a AS (SELECT * FROM landed), b AS (SELECT * FROM a) SELECT * FROM b JOIN a USING (topic) -- remark\n;",
        "SELECT * FROM landed WHERE partition IN (SELECT partition FROM landed) AND EXISTS (SELECT 1 FROM landed)",
        "SELECT topic, p FROM landed LATERAL VIEW explode(sequence(0, 3)) AS p",
        "SELECT *, row_number() OVER (PARTITION BY topic ORDER BY offset DESC) AS n FROM landed",
        "SELECT topic FROM landed UNION ALL SELECT 'x' EXCEPT SELECT 'y' ORDER BY 1 LIMIT 3",
        "SELECT topic, count(*) FILTER (WHERE partition = 0) FROM landed GROUP BY topic HAVING count(*) > 0",
        "SELECT transform(array(1), x -> x + 1)[0], named_struct('a', 1).a, CASE WHEN true THEN 1L END",
        "SELECT * FROM VALUES ('orders', 0, 5L) AS landed(topic, partition, last)",
        "SELECT * FROM spark_catalog.default.landed a, LATERAL (SELECT max(offset) FROM landed WHERE topic = a.topic)",
    ],
)
@pytest.mark.usefixtures("landed")
def test_a_query_of_tables_runs(spark: SparkSession, query: str) -> None:
    """With all that SQL has to bring a table down to positions."""
    assert queries.run(spark, query, HERE).count() >= 0


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT TRANSFORM(topic) USING 'sh -c \"touch {mark}\"' AS (x STRING) FROM landed", "ScriptTransformation"),
        ("SELECT reflect('java.lang.System', 'getenv', 'HOME')", r"may not call reflect\(\)"),
        (
            "SELECT 1 FROM landed WHERE topic = (SELECT java_method('java.lang.System', 'getenv', 'HOME'))",
            "java_meth",
        ),
        ("WITH a AS (SELECT try_reflect('java.lang.System', 'getenv', 'HOME') AS x) SELECT 1", r"call try_reflect\(\)"),
        ("SELECT aggregate(array(1), 0, (a, b) -> a + b, a -> reflect('x', 'y'))", r"may not call reflect\(\)"),
        ("SELECT system.builtin.reflect('x', 'y')", r"may not call system.builtin.reflect\(\)"),
        ("SELECT of_a_user()", r"may not call of_a_user\(\)"),
        ("SELECT input_file_name() FROM landed", r"may not call input_file_name\(\)"),
        ("SELECT * FROM leaking", "reads a view with a part that is not allowed here: CallMethodViaReflection"),
        ("SELECT * FROM IDENTIFIER('landed')", "PlanWithUnresolvedIdentifier"),
        ("SELECT * FROM range(3)", "UnresolvedTableValuedFunction"),
        ("SELECT * FROM landed VERSION AS OF 1", "RelationTimeTravel"),
        ("SELECT * FROM lake.db.landed", "may not read lake.db.landed: it is in catalog 'lake'"),
    ],
)
def test_everything_else_is_refused(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, landed: Path, query: str, message: str
) -> None:
    """Before Spark resolves a name: no program, no Java, no function of a user, no other catalog."""
    monkeypatch.setitem(os.environ, "HOME", str(landed))
    spark.conf.set("spark.sql.catalog.lake", "no.such.Catalog")

    with pytest.raises(InvalidDocument, match=message):
        queries.run(spark, query.format(mark=landed / "mark"), HERE)

    assert not (landed / "mark").exists()


@pytest.mark.parametrize("table", ["text.`{}`", "`parquet`.`{}`", "csv.`file://{}`", "binaryFile.`{}`"])
def test_a_path_is_no_table(spark: SparkSession, landed: Path, table: str) -> None:
    """Whatever is in the file is not read."""
    with pytest.raises(JVM_ERRORS, match="cannot be found"):
        queries.run(spark, f"TABLE {table.format(landed / 'landed')}", HERE)


@pytest.mark.usefixtures("landed")
def test_a_place_that_names_no_catalog_runs_no_query(spark: SparkSession) -> None:
    """The table's own catalog must be named."""
    with pytest.raises(InvalidDocument, match="to=query is off"):
        queries.run(spark, "SELECT 1", [])
    with pytest.raises(
        InvalidDocument, match=r"may not read landed: it is in catalog 'spark_catalog'.*allows only 'lake'"
    ):
        queries.run(spark, "SELECT * FROM landed", ["lake"])


@pytest.mark.parametrize("table", ["landed", "plain"])
@pytest.mark.usefixtures("landed")
def test_a_name_of_with_is_no_cover_for_a_table(spark: SparkSession, table: str) -> None:
    """Elsewhere in the query the same name is that of a table, or view, of a catalog that is not named."""
    spark.sql("CREATE OR REPLACE VIEW plain AS SELECT 1 AS topic")
    query = f"SELECT * FROM {table}, (WITH {table} AS (SELECT 1 AS x) SELECT x FROM {table}) AS covered"  # noqa: S608

    with pytest.raises(InvalidDocument, match=r"may not read .*: it is in catalog 'spark_catalog'.*allows only 'lake'"):
        queries.run(spark, query, ["lake"])

    spark.sql("DROP VIEW plain")
