"""What a saga can't do, and what people are told then: no way to all that it changed, one connector named twice."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

from airflow_provider_connect_offsets.change.captured import EMPTY, STOP
from airflow_provider_connect_offsets.change.doors import Doors
from airflow_provider_connect_offsets.change.held import Member, hold_stopped
from airflow_provider_connect_offsets.change.recovery import built
from airflow_provider_connect_offsets.exceptions import InvalidRequest, Overlap
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import SagaRecord, StageRecord

NO_CLIENT = cast("Any", None)


@pytest.mark.parametrize(
    ("title", "cluster", "advice"),
    [
        (EMPTY, "here", "Run mirror_reset with the same connectors once more (a dry run does not do it), which"),
        (STOP, "elsewhere", "Run it once more (a dry run does not do it), which finishes or restores it;"),
    ],
)
def test_they_are_refused_and_told_what_to_run(title: str, cluster: str, advice: str) -> None:
    """A reset needs the clusters of its flow, and a connector the Connect cluster that it is in."""
    stage = StageRecord(title, "flow", cluster, {"optional": False, "topics": [], "kept": ""})
    record = SagaRecord("flow", Owner("dag/dead", "apply", "host", 1), operation="the operation", stages=(stage,))

    with pytest.raises(Overlap, match=r"the operation of 'flow' by run 'dag/dead' .*" + re.escape(advice)):
        built(record, Doors(NO_CLIENT, NO_CLIENT, cluster="here"))


def test_a_connector_that_is_named_twice_is_not_held(tmp_path: Path) -> None:
    """Refused before it is asked anything."""
    journal = Journal(tmp_path.as_uri(), cluster="here", connector="mirror")
    members = [Member(Doors(NO_CLIENT, NO_CLIENT), journal)] * 2

    with pytest.raises(InvalidRequest, match=r"Nothing was stopped, .* 'mirror' is named for two connectors"):
        hold_stopped(members, Owner("dag/run", "begin", "host", 1), seconds=60)

    assert list(tmp_path.iterdir()) == []
