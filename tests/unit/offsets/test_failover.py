"""Requests for a failover: parsing, JSON, and the digest of a translation."""

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


def test_templates_give_numbers_as_texts() -> None:
    """They are parsed."""
    request = FailoverRequest.parse(
        planned=True, flow=FLOW, groups="g-.*", source_connector="mirror", min_coverage="0.95", compared="0"
    )

    assert (request.mode, request.min_coverage, request.compared) == (Mode.PLANNED, 0.95, 0)


def test_a_request_is_written_and_read() -> None:
    """The keys and values of its JSON are fixed, so runs of earlier versions can be read."""
    request = FailoverRequest.parse(
        planned=True,
        flow=FLOW,
        groups="größe",
        source_connector="mirror",
        topics="a.*",
        rewind="b",
        max_rereads="7",
        reads_committed=True,
        forward=FLOW.opposite(),
        forward_connector="mirror-there",
    )

    written = json.loads(json.dumps(request.as_json()))

    assert FailoverRequest.from_json(written) == request
    assert written == {
        "mode": "planned",
        "flow": FLOW.as_json(),
        "groups": "größe",
        "topics": "a.*",
        "rewind": "b",
        "min_coverage": 1.0,
        "max_rereads": 7,
        "compared": 100_000,
        "compared_total": 1_000_000,
        "search_timeout": 300,
        "reads_committed": True,
        "trust_checkpoints": True,
        "source_connector": "mirror",
        "checkpoint_connector": "",
        "forward": FLOW.opposite().as_json(),
        "forward_connector": "mirror-there",
    }


def test_a_request_without_later_fields_is_read() -> None:
    """A missing field has its default."""
    written = {"mode": "unplanned", "flow": FLOW.as_json(), "groups": "a"}

    assert FailoverRequest.from_json(written) == FailoverRequest(mode=Mode.UNPLANNED, flow=FLOW, groups="a")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"planned": True}, "Set source_connector to the flow's MirrorSource"),
        ({"forward": FLOW.opposite(), "forward_connector": "x"}, "A failback needs both clusters"),
        (
            {"planned": True, "source_connector": "a", "forward": FLOW, "forward_connector": "b"},
            "'a' and 'b' both replicate from 'eu', but a failback needs a flow in the opposite direction",
        ),
        ({"groups": "("}, r"groups: '\(' is not a regular expression"),
        ({"topics": "["}, r"topics: '\[' is not a regular expression"),
        ({"rewind": "*"}, r"rewind: '\*' is not a regular expression"),
        ({"min_coverage": "all"}, "min_coverage: 'all' is not a number from 0 to 1"),
        ({"min_coverage": 1.5}, "min_coverage: 1.5 is not a number from 0 to 1"),
        ({"max_rereads": "few"}, "max_rereads: 'few' is not a whole number from 0 to"),
        ({"compared": "-1"}, "compared: '-1' is not a whole number from 0 to"),
    ],
)
def test_invalid_values_are_refused(values: dict[str, object], message: str) -> None:
    """The error is one sentence that names the Param."""
    with pytest.raises(InvalidRequest, match=message):
        FailoverRequest.parse(**{"planned": False, "flow": FLOW, "groups": "", **values})  # type: ignore[arg-type]


Rows = list[tuple[str, str, int, int]]
ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.just("t"), st.integers(0, 3), st.integers(0, 20)), unique=True)


def digest(rows: Rows) -> str:
    return digest_of_sums(map(sum, zip(*(row_numbers(*row) for row in rows), strict=True)))


@given(rows=ROWS.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))), others=ROWS)
def test_equal_sets_of_rows_have_equal_digests(rows: tuple[Rows, Rows], others: Rows) -> None:
    """The order does not matter; different sets have different digests, even if only two offsets are swapped."""
    in_order, shuffled = rows

    assert digest(in_order) == digest(shuffled)
    assert (digest(in_order) == digest(others)) == (set(in_order) == set(others))
