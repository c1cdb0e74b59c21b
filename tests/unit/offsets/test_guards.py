"""What a stranger's Param may read and change."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.family import Noun
from airflow_provider_connect_offsets.offsets.requests.guards import Guards, Named, NamePatterns, is_within
from airflow_provider_connect_offsets.offsets.requests.request import Request

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
HERE = Guards(readable=("file:///data/workspace", "s3://lake/positions/"))


@pytest.mark.parametrize(
    "uri",
    [
        "file:///data/workspace/dag/run/plan.json",
        "/data/workspace/positions.csv",
        "/data//workspace/my positions.csv",
        "file:///data/workspace",
        "s3://lake/positions/today.parquet",
        "s3a://lake/positions/part-*.parquet",
    ],
)
def test_what_is_in_a_readable_directory_is_read(uri: str) -> None:
    """Whatever the scheme is called, and whether or not there is one."""
    HERE.refuse_unreadable(uri, param="value")


@pytest.mark.parametrize(
    "uri",
    [
        "http://169.254.169.254/latest/meta-data/",
        "reference::http://attacker/refs.json",
        "simplecache::s3://lake/positions/x",
        "zip://x.json::file:///data/workspace/x.zip",
        "file:///data/workspace/x::http://attacker/",
        "file:///data/workspace/../../etc/shadow",
        "file:///data/workspace/{a,../../../etc}/shadow",
        "file:///data/workspace-of-others/x",
        "file://host/data/workspace/x",
        "file:/data/workspace/x",
        "local:///data/workspace/x",
        "data/workspace/x",
        "s3://lake/positions-of-others/x",
        "s3://lake.attacker/positions/x",
        "s3://key:secret@lake/positions/x",
        "s3://lake/positions/x?versionId=1",
        "s3://lake/positions\\..\\x",
        "S3://LAKE/positions/x",
        "//data/workspace/x",
        "file:///data/workspace/\nx",
        "https://lake/positions/x",
        "http://[",
        "",
    ],
)
def test_everything_else_is_refused(uri: str) -> None:
    """Chains, logins, ways out of the directory, and whatever two programs might read in two ways."""
    with pytest.raises(InvalidRequest, match=r"Nothing was read or changed. value: .* may not be read here"):
        HERE.refuse_unreadable(uri, param="value")


@given(st.lists(st.sampled_from(["..", ".", "a", "", "%2e%2e", "::", "@", "?", "#", "{", "*"]), max_size=6))
def test_nothing_leads_out_of_a_directory(parts: list[str]) -> None:
    """However a path is put together: if it is accepted, the segments that follow the directory never go up."""
    uri = "/".join(["file:///data/workspace", *parts])
    accepted = is_within(uri, "/data/workspace")

    assert accepted is not any(part in {"..", "::", "?", "#", "{"} for part in parts)


def test_a_container_of_azure_is_no_login() -> None:
    """Its URIs have it before the host."""
    assert is_within(
        "abfss://lake@account.dfs.core.windows.net/positions/x", "abfs://lake@account.dfs.core.windows.net"
    )
    assert not is_within("abfss://others@account.dfs.core.windows.net/x", "abfs://lake@account.dfs.core.windows.net/")


def test_protected_names_are_not_changed() -> None:
    """Whole names, of all kinds or of one; and if some are allowed, no others."""
    guards = Guards(
        protected=NamePatterns.parse("payments-.*\n topic=ledger group=x{1,2}", option="protected"),
        allowed=NamePatterns.parse("connector=.*-staging payments-1", option="allowed"),
    )

    def refused(kind: Named, name: str) -> str:
        with pytest.raises(InvalidRequest) as error:
            guards.refuse_names(kind, [name])
        return str(error.value)

    guards.refuse_names(Named.CONNECTOR, ["orders-staging", "ledger-staging"])
    assert refused(Named.CONNECTOR, "payments-1") == (
        "Nothing was changed: connector 'payments-1' is protected here ([connect_offsets] protected: payments-.*)."
    )
    assert "is protected here" in refused(Named.GROUP, "xx")
    assert "is protected here" in refused(Named.TOPIC, "ledger")
    assert refused(Named.CONNECTOR, "orders") == (
        "Nothing was changed: connector 'orders' may not be changed here, because it is not in the list of allowed "
        "names ([connect_offsets] allowed: .*-staging payments-1)."
    )
    Guards(allowed=NamePatterns.parse("connector=a", option="allowed")).refuse_names(Named.TOPIC, ["orders"])


def test_a_pattern_that_is_none_names_its_option() -> None:
    """Before anything is changed under a rule that nobody meant."""
    with pytest.raises(InvalidRequest, match=r"\[connect_offsets\] protected: '\(' is not a regular expression"):
        NamePatterns.parse("orders (", option="protected")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"to": "file", "value": "/etc/shadow"}, "value: '/etc/shadow' may not be read here"),
        ({"to": "query", "value": "SELECT 1"}, "to=query is disabled here"),
        ({"to": "earliest", "connector": "payments"}, "connector 'payments' is protected here"),
        ({"to": "earliest", "connector": "payments", "noun": Noun.GROUP}, "group 'payments' is protected"),
    ],
)
def test_a_request_is_refused_before_anything_is_read(request_: dict[str, str], message: str) -> None:
    """Whatever it would find."""
    guards = Guards(readable=("/data",), protected=NamePatterns.parse("payments", option="protected"))
    request = Request.parse(**{"connector": "orders", **request_}, now=NOW)

    with pytest.raises(InvalidRequest, match=message):
        guards.refuse(request)


def test_what_is_configured_is_allowed() -> None:
    """A query of a place that names catalogs, and a file in a readable directory."""
    guards = Guards(readable=("/data",), catalogs=("spark_catalog",))

    guards.refuse(Request.parse(connector="orders", to="query", value="SELECT 1", now=NOW))
    guards.refuse(Request.parse(connector="orders", to="file", value="/data/x.json", now=NOW))
