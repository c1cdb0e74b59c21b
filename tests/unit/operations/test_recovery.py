"""What a saga can't recover, and the message: missing clients, one connector named twice."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import InvalidRequest, Overlap
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.operations.connector.stopped import Member, stop_for_run
from airflow_provider_connect_offsets.operations.registry import reached
from airflow_provider_connect_offsets.operations.stages.captured import EMPTY, STOP, Alteration, by_hand
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import SagaRecord, StageRecord
from airflow_provider_connect_offsets.saga.stage import Undoing

NO_CLIENT = cast("Any", None)


@pytest.mark.parametrize(
    ("title", "cluster", "advice"),
    [
        (EMPTY, "here", "Run mirror_reset with the same connectors once more (a dry run does not do it), which"),
        (STOP, "elsewhere", "Run it once more (a dry run does not do it), which finishes or restores it;"),
    ],
)
def test_they_are_refused_and_the_error_names_what_to_run(title: str, cluster: str, advice: str) -> None:
    """A reset needs the clusters of its flow, and a connector the Connect cluster that it is in."""
    stage = StageRecord(title, "flow", cluster, {"optional": False, "topics": [], "kept": ""})
    record = SagaRecord("flow", Owner("dag/dead", "apply", "host", 1), operation="the operation", stages=(stage,))

    with pytest.raises(Overlap, match=r"the operation of 'flow' by run 'dag/dead' .*" + re.escape(advice)):
        reached(Clients(NO_CLIENT, NO_CLIENT, cluster="here")).built(record)


def test_a_connector_that_is_named_twice_is_not_claimed(tmp_path: Path) -> None:
    """Refused before anything is requested of it."""
    journal = Journal(tmp_path.as_uri(), cluster="here", resource="mirror")
    members = [Member(Clients(NO_CLIENT, NO_CLIENT), journal)] * 2

    with pytest.raises(InvalidRequest, match=r"Nothing was stopped, .* 'mirror' is named for two connectors"):
        stop_for_run(members, Owner("dag/run", "begin", "host", 1), seconds=60)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("origin", "advice"),
    [
        (Origin.REST, "send PATCH /connectors/mirror/offsets with the body that the log of this task shows"),
        (Origin.TOPIC, "run connector_offsets_change with control=storage, to=file and value=a file that holds the"),
        (Origin.STRIMZI, "run connector_offsets_change with control=strimzi, to=file and value=a file that holds the"),
    ],
)
def test_prior_offsets_are_logged_if_they_can_not_be_kept(
    origin: Origin, advice: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The workspace can't be written any more: the log has what a person needs."""

    def keep(_name: str, _value: Any) -> str:
        raise OSError(30, "Read-only file system")

    prior = Offsets.of([Entry('{"partition":0}', '{"offset":7}')])
    found = Alteration(State.RUNNING, prior, prior.removed())
    clients = Clients(NO_CLIENT, NO_CLIENT, origin=origin)

    text = by_hand(clients, "mirror", found, Undoing(returned=False, error=None, keep=keep))

    assert text.startswith(advice)
    assert '"offset": {"offset": 7}' in caplog.text
