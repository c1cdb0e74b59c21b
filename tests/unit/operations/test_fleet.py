"""Many connectors: which are selected, and the message if some were not changed."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_connect_offsets.exceptions import (
    FleetIncomplete,
    InvalidRequest,
    NotApplied,
    RecordsDeleted,
    StoreError,
    UnknownConnector,
    Unreachable,
)
from airflow_provider_connect_offsets.operations.fleet import refuse_incomplete, select

NAMES = ["orders-mirror", "orders-sink", "payments-sink"]


def test_whole_names_are_matched() -> None:
    """A part of a name does not match; the result is sorted, whatever the order was."""
    assert select(reversed(NAMES), ".*-sink") == ["orders-sink", "payments-sink"]
    assert select(NAMES, "orders-sink") == ["orders-sink"]


@pytest.mark.parametrize(
    ("pattern", "sentence"), [("sink", "matches none of the 3 connectors"), ("a(", "is not a regular")]
)
def test_a_pattern_that_means_nothing_is_refused(pattern: str, sentence: str) -> None:
    """The error is one sentence that lists existing names."""
    with pytest.raises(InvalidRequest, match=sentence):
        select(NAMES, pattern)


@pytest.mark.parametrize(
    ("ended", "kind", "sentence"),
    [
        (
            {"a": 1, "b": NotApplied("why.")},
            FleetIncomplete,
            r"1 of 2 connectors were not changed\. Failed: b\. The other 1 is",
        ),
        (
            {"a": RecordsDeleted("gone."), "b": NotApplied("why.")},
            FleetIncomplete,
            r"1 of 2 .* Failed: b\. Changed, but records at their positions were deleted: a\. ",
        ),
        ({"a": 1}, FleetIncomplete, r"1 of 2 connectors were not changed\. Not begun: b\."),
        ({"a": 1, "b": Unreachable("down.")}, StoreError, r"Failed: b\. .* down\."),
        ({"a": UnknownConnector("a is gone."), "b": Unreachable("down.")}, FleetIncomplete, "2 of 2"),
    ],
)
def test_what_is_incomplete_is_named(ended: dict[str, Any], kind: type[Exception], sentence: str) -> None:
    """A failure that may pass by itself lets the task be tried again; any other does not."""
    with pytest.raises(kind, match=sentence) as caught:
        refuse_incomplete(ended, ["a", "b"])

    assert type(caught.value) is kind


def test_what_is_complete_is_left_alone() -> None:
    """No error is raised."""
    refuse_incomplete({"a": 1, "b": 2}, ["a", "b"])
