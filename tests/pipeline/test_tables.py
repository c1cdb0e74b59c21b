"""``to=query``, and ``to=file`` with ``columns``: each row of a table of one's own is a position."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_connect_offsets.offsets.verdicts import Rule
from airflow_provider_connect_offsets.pipeline.plan import tables
from tests.support.rows.lists import text
from tests.support.rows.planning import (
    ERROR,
    Planner,
    at_mirror,
    at_sink,
    mirror,
    read,
    replicated,
    sink,
    source,
)

COLUMNS = "topic=t,partition=p,last=max_offset"
SINK = sink({("orders", 0): 40, ("orders", 1): 30})
MIRROR = mirror({("orders", 0): 40, ("orders", 1): 30})


@pytest.mark.parametrize("name", ["warehouse.parquet", "warehouse.csv", "warehouse.json"])
def test_a_file_with_the_last_offsets(planner: Planner, tmp_path: Path, name: str) -> None:
    """Each partition resumes one after it."""
    file = tmp_path / name
    if name.endswith("parquet"):
        pq.write_table(pa.table({"t": ["orders"], "p": [1], "max_offset": [9]}), file)
    elif name.endswith("csv"):
        file.write_text("p,max_offset,t\n1,9,orders\n")
    else:
        file.write_text('{"t": "orders", "p": 1, "max_offset": 9}\n')

    plan = planner.plan(SINK, to="file", value=file.as_uri(), columns=COLUMNS)

    assert [(row.partition, row.after) for row in plan.rows] == [(at_sink(0), read(40)), (at_sink(1), read(10))]
    assert [found for found in plan.verdicts if found.severity == ERROR] == []


def test_a_mirror_source_stores_the_last_offset_itself(planner: Planner, tmp_path: Path) -> None:
    """To resume at 0 it stores no offset. JSON lines need no ``columns`` if theirs have the expected names."""
    lines = [
        f'{{"topic": "orders", "partition": {number}, "position": {position}}}'
        for number, position in ((0, 0), (1, 10))
    ]
    uri = text(tmp_path / "landed.jsonl", "\n".join(lines))

    plan = planner.plan(mirror({("orders", 0): 40, ("orders", 1): 30}), to="file", value=uri)

    assert [(row.partition, row.after) for row in plan.rows] == [(at_mirror(0), None), (at_mirror(1), replicated(9))]


AGGREGATED = """WITH landed AS (SELECT explode(sequence(0, 9)) AS o)
SELECT 'orders' AS topic, 1 AS partition, CAST(max(o) AS DECIMAL(38, 0)) AS last FROM landed -- a remark
;"""
OF_SEVERAL = """SELECT * FROM VALUES ('sink', 'orders', 1, 9L), ('other', 'orders', 0, 5L)
AS landed(connector, t, p, max_offset)"""


@pytest.mark.parametrize(("query", "columns"), [(AGGREGATED, ""), (OF_SEVERAL, COLUMNS)])
def test_a_query(planner: Planner, query: str, columns: str) -> None:
    """A query may have any form; rows of other connectors do not count."""
    plan = planner.plan(SINK, to="query", value=query, columns=columns)

    assert [(row.partition, row.after) for row in plan.rows] == [(at_sink(0), read(40)), (at_sink(1), read(10))]
    assert [found for found in plan.verdicts if found.severity == ERROR] == []


BAD = [
    ("('orders', 0, NULL)", Rule.UNREADABLE, 'the last offset of the row ["orders", "0", null] is not a whole number'),
    ("('orders', 0, 1.5)", Rule.UNREADABLE, 'the last offset of the row ["orders", "0", "1.5"] is not a whole number'),
    (
        "('orders', 0, -1.0)",
        Rule.UNREADABLE,
        'the last offset of the row ["orders", "0", "-1.0"] is not a whole number',
    ),
    ("(NULL, 0, 5)", Rule.UNREADABLE, 'the row [null, "0", "5"] has no topic, or its partition'),
    ("('orders', NULL, 5)", Rule.UNREADABLE, 'the row ["orders", null, "5"] has no topic, or its partition'),
    ("('orders', 0, 5), ('orders', 0, 5)", Rule.DUPLICATE, "always with the same offset. Keep one of them."),
    ("('orders', 1, 5), ('orders', 1, 6)", Rule.DUPLICATE, "with different offsets. Keep one of them."),
    ("('ordres', 0, 5)", Rule.UNKNOWN_TOPIC, "the cluster does not have this topic. Did you mean `orders`?"),
    ("('orders', 7, 5)", Rule.UNKNOWN_PARTITION, "the topic does not have this partition."),
]


def test_rows_that_are_no_positions(planner: Planner) -> None:
    """Each is refused by a rule of its own name, and none removes an offset."""
    values = ", ".join(row for row, _, _ in BAD)
    query = f"SELECT t, p, CAST(o AS STRING) AS max_offset FROM VALUES {values} AS landed(t, p, o)"  # noqa: S608 - a test's own
    query = query.replace("CAST(o AS STRING)", "regexp_replace(CAST(o AS STRING), '^([0-9]+)[.]0$', '$1')")

    plan = planner.plan(SINK, to="query", value=query, columns=COLUMNS)

    found = [(one.rule, one.message) for one in plan.verdicts if one.severity == ERROR]
    missing = [
        (rule, said) for _, rule, said in BAD if not any(one == rule and said in message for one, message in found)
    ]
    assert missing == [], found


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("DROP TABLE orders", "the query can't be read: "),
        ("INSERT INTO orders VALUES (1)", "the query can't be read: "),
        ("SELECT 1 AS a) AS x; DROP TABLE orders; SELECT * FROM (SELECT 2", "the query can't be read: "),
        ("SELECT * FROM nowhere", "the query can't be read: The table or view `nowhere` cannot be found"),
        ("SELECT 'orders' AS topic, 1 AS partition", "has the columns topic, partition. Exactly one of them must be"),
        (
            "SELECT 'orders' AS t, 1 AS partition, 5 AS last",
            "the query has no column topic; its columns are t, partition, last.",
        ),
        ("SELECT 'orders' AS topic, 1 AS partition, 5 AS last WHERE false", "the query has no rows of this connector"),
        (
            "SELECT 'orders' AS topic, explode(sequence(1, 12)) AS partition, 5 AS last",
            "query has more than 10 rows",
        ),
    ],
)
def test_what_is_no_query_of_positions(
    planner: Planner, monkeypatch: pytest.MonkeyPatch, query: str, said: str
) -> None:
    """It is refused in one sentence, above all a statement that would change a table."""
    monkeypatch.setattr(tables, "MOST_ROWS", 10)

    plan = planner.plan(SINK, to="query", value=query)

    [found] = plan.verdicts
    assert (found.rule, found.severity, plan.rows) == (Rule.UNREADABLE, ERROR, [])
    assert said in found.message


def test_a_file_that_can_not_be_read(planner: Planner, tmp_path: Path) -> None:
    """It is named."""
    for name, content in (("torn.jsonl", '{"topic": "or'), ("torn.csv", "t,p,max_offset\norders,1\n")):
        uri = text(tmp_path / name, content)

        [found] = planner.plan(SINK, to="file", value=uri, columns=COLUMNS if name.endswith("csv") else "").verdicts

        assert f"the file {uri} can't be read" in found.message


def test_a_connector_without_positions_takes_no_table(planner: Planner) -> None:
    """Its offsets mean nothing in a log."""
    lines = source("org.example.Lines", ({"filename": "/in"}, {"position": 7}))

    [found] = planner.plan(lines, logs={}, to="query", value="SELECT 'a' AS topic, 1 AS partition, 5 AS last").verdicts

    assert "the query has positions in topics, which this connector does not have" in found.message


def test_json_lines_list_a_partition_once(planner: Planner, tmp_path: Path) -> None:
    """They are a table, with or without columns: a second row is an error, even if it says the same."""
    line = '{"topic": "orders", "partition": 1, "position": 10}'
    uri = text(tmp_path / "landed.jsonl", f"{line}\n{line}\n")

    for columns in ("", "position=position"):
        [found] = planner.plan(SINK, to="file", value=uri, columns=columns).of(Rule.DUPLICATE)

        assert (found.severity, found.partition) == (ERROR, at_sink(1))
