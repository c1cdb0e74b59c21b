"""Requests: every ``to`` with values that fit it and values that don't."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.requests.place import PartitionSet, TableColumns, To
from airflow_provider_connect_offsets.offsets.requests.request import Request

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def parsed(to: str, value: str | None = None, topics: str | None = None, partitions: str | None = None) -> Request:
    return Request.parse(connector="flow", to=to, value=value, topics=topics, partitions=partitions, now=NOW)


@pytest.mark.parametrize("to", ["earliest", "latest", "current", "clear"])
def test_requests_without_a_value(to: str) -> None:
    """Blanks are no value."""
    assert parsed(to) == parsed(to, "  ") == Request(connector="flow", to=To(to))
    with pytest.raises(InvalidRequest, match=f"to={to} takes no value, but '5' was given"):
        parsed(to, "5")


@pytest.mark.parametrize(
    ("to", "value", "amount"),
    [
        ("offset", "0", 0),
        ("offset", " 17 ", 17),
        ("offset", str(2**63 - 1), 2**63 - 1),
        ("shift", "-100", -100),
        ("shift", "+5", 5),
        ("shift", "5", 5),
        ("skip", "3", 3),
        ("skip", None, 1),
        ("skip", "", 1),
    ],
)
def test_amounts(to: str, value: str | None, amount: int) -> None:
    """An amount is a number of records, or a position."""
    assert parsed(to, value).amount == amount


@pytest.mark.parametrize(
    ("to", "value", "moment"),
    [
        ("datetime", "2026-01-31T03:00:00+01:00", "2026-01-31T02:00:00+00:00"),
        ("datetime", "2026-01-31T03:00:00Z", "2026-01-31T03:00:00+00:00"),
        ("datetime", "2026-01-31T03:00:00.123+00:00", "2026-01-31T03:00:00.123000+00:00"),
        ("duration", "PT2H", "2026-01-31T10:00:00+00:00"),
        ("duration", "P1DT30M", "2026-01-30T11:30:00+00:00"),
        ("duration", "PT0S", "2026-01-31T12:00:00+00:00"),
    ],
)
def test_moments(to: str, value: str, moment: str) -> None:
    """Moments are kept in UTC; a duration counts back from now."""
    result = parsed(to, value).moment

    assert result is not None
    assert result.isoformat() == moment


@pytest.mark.parametrize(("to", "value"), [("file", "s3://bucket/o.json"), ("connector", "other flow")])
def test_references(to: str, value: str) -> None:
    """A file's URI, or a connector's name, as it was given."""
    assert parsed(to, value).reference == value


@pytest.mark.parametrize(
    ("to", "values"),
    [
        ("offset", ["-1", "1.5", "1e3", "x", "٣", "0x1", str(2**63), "1 2"]),
        ("shift", ["1.5", "x", "--1", str(2**63), "+"]),
        ("skip", ["0", "-1", "x", str(2**63)]),
        ("datetime", ["yesterday", "2026-01-31", "2026-01-31T03:00:00", "2026-02-31T00:00:00Z", "1700000000"]),
        ("duration", ["2h", "PT", "P", "-PT2H", "7200", "P1X", "P9999999D", "PT-5H"]),
    ],
)
def test_invalid_values(to: str, values: list[str]) -> None:
    """The sentence names the value and says what was expected."""
    for value in values:
        with pytest.raises(InvalidRequest) as caught:
            parsed(to, value)
        assert str(caught.value).startswith(f"to={to}: the value {value!r} is not ")


@pytest.mark.parametrize("to", ["offset", "shift", "datetime", "duration", "file", "connector"])
def test_a_value_is_needed(to: str) -> None:
    """Without one the sentence says what is expected."""
    with pytest.raises(InvalidRequest, match=f"to={to} needs a value: "):
        parsed(to, " ")


def test_unknown_to() -> None:
    """The sentence names all known ones."""
    with pytest.raises(InvalidRequest, match="to: 'end' is none of earliest, latest, current, clear, datetime, "):
        parsed("end")


@pytest.mark.parametrize("name", ["", "a/b"])
def test_names_that_no_url_reaches(name: str) -> None:
    """Connect can be made to hold such connectors, but its REST API can't reach them."""
    with pytest.raises(InvalidRequest, match="Connect's REST API can't reach the name"):
        Request.parse(connector=name, to="latest", now=NOW)


def test_a_connector_can_not_take_its_own_offsets() -> None:
    """That would change nothing, so it is surely a mistake."""
    with pytest.raises(InvalidRequest, match="'flow' is the connector itself"):
        parsed("connector", "flow")


def test_topics() -> None:
    """``topics`` is a pattern; empty means all topics."""
    assert parsed("latest", topics=" or.* ").topics == "or.*"
    assert parsed("latest", topics=" ").topics is None
    with pytest.raises(InvalidRequest, match=r"topics: 'or\(' is not a regular expression: missing \)"):
        parsed("latest", topics="or(")


@pytest.mark.parametrize(
    ("text", "ranges", "written"),
    [
        ("0", ((0, 0),), "0"),
        ("0,3-5", ((0, 0), (3, 5)), "0,3-5"),
        (" 7 - 7 , 2 ", ((7, 7), (2, 2)), "7,2"),
        ("0-2147483647", ((0, 2**31 - 1),), "0-2147483647"),
    ],
)
def test_partitions(text: str, ranges: tuple[tuple[int, int], ...], written: str) -> None:
    """``partitions`` has numbers and closed ranges."""
    partitions = PartitionSet.parse(text)

    assert partitions.ranges == ranges
    assert str(partitions) == written
    assert PartitionSet.parse(written) == partitions


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a", "'a' in 'a' is neither a number nor a range like 3-5"),
        ("1,,2", "'' in '1,,2' is neither a number nor a range like 3-5"),
        ("-1", "'-1' in '-1' is neither"),
        ("1-2-3", "is neither"),
        ("1.5", "is neither"),
        ("٣", "is neither"),
        ("5-3", "the range '5-3' in '5-3' has no valid partition number"),
        ("2147483648", "has no valid partition number"),
    ],
)
def test_invalid_partitions(text: str, sentence: str) -> None:
    """The sentence names the part that is wrong."""
    with pytest.raises(InvalidRequest) as caught:
        parsed("latest", partitions=text)

    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "request_",
    [
        parsed("latest"),
        parsed("offset", "5", topics="or.*", partitions="0,3-5"),
        parsed("datetime", "2026-01-31T03:00:00.5+01:00"),
        parsed("file", "/offsets.csv"),
        replace(parsed("query", "SELECT 1"), columns=TableColumns.parse("topic=t,last=o")),
    ],
    ids=str,
)
def test_requests_are_written_and_read(request_: Request) -> None:
    """A request can be written as JSON and read again."""
    assert Request.from_json(json.loads(json.dumps(request_.as_json()))) == request_


def test_the_json_of_a_request() -> None:
    """The keys and values are fixed, so plans of earlier versions can be read."""
    request = replace(parsed("datetime", "2026-01-31T03:00:00Z", topics="or.*", partitions="0, 3-5"), only_back=True)

    written = request.as_json()

    assert written == {
        "connector": "flow",
        "to": "datetime",
        "value": "2026-01-31T03:00:00Z",
        "topics": "or.*",
        "partitions": "0,3-5",
        "amount": None,
        "moment": "2026-01-31T03:00:00+00:00",
        "reference": None,
        "noun": "connector",
        "only_back": True,
        "catalogs": [],
        "columns": None,
    }
    del written["only_back"], written["noun"], written["catalogs"]
    assert Request.from_json(written) == replace(request, only_back=False)


def test_a_request_as_text() -> None:
    """Messages quote this form of a request."""
    assert (
        str(parsed("offset", "5", topics="or.*", partitions="3 - 5")) == "to=offset value=5 topics=or.* partitions=3-5"
    )
    assert str(parsed("clear")) == "to=clear"


def test_kinds_of_requests() -> None:
    """They depend on ``to`` only."""
    assert {to for to in To if to.by_time} == {To.DATETIME, To.DURATION}
    assert {to for to in To if to.by_list} == {To.FILE, To.QUERY, To.CONNECTOR}
    assert {to for to in To if to.is_relative} == {To.SHIFT, To.SKIP}
    assert {to for to in To if not to.needs_position} == {To.FILE, To.QUERY, To.CONNECTOR, To.CLEAR}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("topic=t, partition=p ,last=max_offset", TableColumns("t", "p", last="max_offset")),
        ("position=next", TableColumns(position="next")),
    ],
)
def test_columns_of_a_table(text: str, columns: TableColumns) -> None:
    """What is not named is called as it should be; written and read again it is the same."""
    request = Request.parse(connector="flow", to="query", value="SELECT 1", columns=text, now=NOW)

    assert request.columns == columns
    assert TableColumns.parse(str(columns)) == columns
    assert request.reads_table


@pytest.mark.parametrize(
    ("to", "text", "sentence"),
    [
        ("query", "t", "columns: 't' in 't' is not valid. Write each of topic, partition, position, last at most once"),
        ("query", "topic=", "'topic=' in 'topic=' is not valid"),
        ("query", "topic=a,topic=b", "'topic=b' in"),
        ("query", "position=a,last=b", "has both position"),
        ("offset", "topic=a", "to=offset reads no table, but columns='topic=a,partition=partition' was given"),
    ],
)
def test_invalid_columns(to: str, text: str, sentence: str) -> None:
    """The sentence names the part that is wrong."""
    with pytest.raises(InvalidRequest) as caught:
        Request.parse(connector="flow", to=to, value="5", columns=text, now=NOW)

    assert sentence in str(caught.value)


def test_a_long_query_is_shown_in_one_line() -> None:
    """It is also cut off."""
    shown = parsed("query", f"SELECT\n  {'a' * 2000}").value_shown

    assert (len(shown), shown[:9], shown[-1]) == (1001, "SELECT aa", "…")
