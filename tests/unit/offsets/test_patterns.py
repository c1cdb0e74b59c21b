"""Invalid regular expressions, and those that only Java knows: one readable error, wherever they come from."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.exceptions import InvalidRequest, UnreadablePattern
from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.observe.lag import AwaitedLag
from airflow_provider_connect_offsets.observe.positions import Awaited
from airflow_provider_connect_offsets.observe.waiting import consumes
from airflow_provider_connect_offsets.offsets.families import ConnectorType
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanRequest
from airflow_provider_connect_offsets.offsets.requests.patterns import configured_pattern
from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operations.fleet import select

NOW = datetime(2026, 1, 31, tzinfo=UTC)
MIRROR = {"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector"}


def failover(**patterns: Any) -> FailoverRequest:
    return FailoverRequest.parse(planned=True, flow=Flow(), source_connector="m", **({"groups": ".*"} | patterns))


TYPED: dict[str, Callable[[str], object]] = {
    "topics": lambda text: Request.parse(connector="c", to="earliest", topics=text, now=NOW),
    "topics of a sensor": lambda text: Awaited.parse(topics=text),
    "topics of a lag": lambda text: AwaitedLag.parse(topics=text),
    "topics of a failover": lambda text: failover(topics=text),
    "groups of a failover": lambda text: failover(groups=text),
    "rewind": lambda text: failover(rewind=text),
    "groups": lambda text: ReadinessRequest.parse(
        source_connector="m", checkpoint_connector="", groups=text, thresholds={}
    ),
    "groups of a cluster": lambda text: ConsumerGroups({"bootstrap.servers": "127.0.0.1:1"}).list_groups(text),
    "connectors": lambda text: select(["c"], text),
}


@pytest.mark.parametrize("param", TYPED)
@pytest.mark.parametrize("text", ["a(", r"\p{Alpha}+", "a{99999999999}", "(" * 5000 + ")" * 5000])
def test_an_invalid_typed_pattern_is_refused_in_one_sentence(param: str, text: str) -> None:
    """It names the parameter; nothing is touched before."""
    with pytest.raises(InvalidRequest, match="is no regular expression: ") as caught:
        TYPED[param](text)

    assert str(caught.value).startswith(f"{param.split(maxsplit=1)[0]}: {text!r}")


def test_a_pattern_for_orphans_may_be_javas() -> None:
    """Only Spark matches their names."""
    assert OrphanRequest.parse(topic="t", connectors=r"\p{Alpha}+", now=NOW).connectors == r"\p{Alpha}+"


@pytest.mark.parametrize("text", [r"\p{Alpha}+", r"\Qa.b\E", "(?<name>a)", "[a-z&&[^b]]", "[a[bc]]", r"a\h"])
def test_a_connectors_pattern_that_only_java_knows_is_named(text: str) -> None:
    """No traceback of Python's re, and no guess: the topics are unknown."""
    info = ConnectorInfo("mirror", ConnectorType.SOURCE, {**MIRROR, "topics": f"orders,{text}"})

    with pytest.raises(UnreadablePattern, match=r"'mirror' is configured to choose topics by .* Nothing was changed"):
        consumes(info)
    with pytest.raises(UnreadablePattern, match="which Java can match"):
        configured_pattern(text, connector="mirror")


@pytest.mark.parametrize("text", [r"a\.b", "[a-z]+", r"\[a", "[^]a]", "[a]|[b]", "(?:a|b)*+", r"[\[]"])
def test_a_pattern_that_both_read_alike_is_used(text: str) -> None:
    """A bracket counts only if it opens a class."""
    assert configured_pattern(text, connector="c").pattern == text
