"""Requests of a failover."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import (
    FailoverRequest,
    Mode,
    digest_of_sums,
    row_numbers,
)

FLOW = Flow(source_alias="eu", target_alias="us")


def test_defaults_select_everything_and_allow_nothing_to_be_left() -> None:
    """All groups and topics, full coverage, no group goes back."""
    request = FailoverRequest.parse(planned=False, flow=FLOW, groups="")

    assert (request.groups, request.topics, request.rewind, request.min_coverage) == (".*", None, None, 1.0)
    assert request.mode is Mode.UNPLANNED


def test_what_a_template_hands_over_is_text() -> None:
    """Numbers come as texts."""
    request = FailoverRequest.parse(
        planned=True, flow=FLOW, groups="g-.*", source_connector="mirror", min_coverage="0.95", compared="0"
    )

    assert (request.mode, request.min_coverage, request.compared) == (Mode.PLANNED, 0.95, 0)


def test_a_request_survives_its_dataset() -> None:
    """As JSON."""
    request = FailoverRequest.parse(
        planned=True,
        flow=FLOW,
        groups="größe",
        source_connector="mirror",
        topics="a.*",
        rewind="b",
        reads_committed=True,
        forward=FLOW.reversed(),
        forward_connector="mirror-there",
    )

    assert FailoverRequest.from_json(json.loads(json.dumps(request.as_json()))) == request


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"planned": True}, "source_connector must name MirrorSource"),
        ({"forward": FLOW.reversed(), "forward_connector": "x"}, "A failback needs both clusters"),
        (
            {"planned": True, "source_connector": "a", "forward": FLOW, "forward_connector": "b"},
            "'a' replicates the same way as 'b', from 'eu': a failback goes the other way",
        ),
        ({"groups": "("}, r"groups: '\(' is no regular expression"),
        ({"topics": "["}, r"topics: '\[' is no regular expression"),
        ({"rewind": "*"}, r"rewind: '\*' is no regular expression"),
        ({"min_coverage": "all"}, "min_coverage: 'all' is no share from 0 to 1"),
        ({"min_coverage": 1.5}, "min_coverage: 1.5 is no share from 0 to 1"),
        ({"compared": "-1"}, "compared: '-1' is no number of records"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, object], told: str) -> None:
    """In one sentence that names the Param."""
    with pytest.raises(InvalidRequest, match=told):
        FailoverRequest.parse(**{"planned": False, "flow": FLOW, "groups": "", **asked})  # type: ignore[arg-type]


Rows = list[tuple[str, str, int, int]]
ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.just("t"), st.integers(0, 3), st.integers(0, 20)), unique=True)


def digest(rows: Rows) -> str:
    return digest_of_sums(map(sum, zip(*(row_numbers(*row) for row in rows), strict=True)))


@given(rows=ROWS.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))), others=ROWS)
def test_a_digest_tells_rows_from_others_in_whatever_order(rows: tuple[Rows, Rows], others: Rows) -> None:
    """Also where offsets are the same and only stand in other places."""
    in_order, shuffled = rows

    assert digest(in_order) == digest(shuffled)
    assert (digest(in_order) == digest(others)) == (set(in_order) == set(others))
