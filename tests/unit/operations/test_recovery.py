"""What a saga can't recover, and the message: missing clients, one connector named twice."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import InvalidRequest, Overlap
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.operations.connector.stopped import stop_for_run
from airflow_provider_connect_offsets.operations.registry import make_registry
from airflow_provider_connect_offsets.operations.stages.captured import ADDRESSES, EMPTY, STOP, Alteration, by_hand
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import SagaRecord, StageRecord
from airflow_provider_connect_offsets.saga.stage import Undoing

NO_CLIENT = cast("Any", None)


RESET_AGAIN = "Run mirror_reset again with the same connectors. That finishes or undoes it (a dry run does not)."


@pytest.mark.parametrize(
    ("title", "cluster", "begun_at", "advice"),
    [
        (EMPTY, "here", [], RESET_AGAIN),
        (EMPTY, "here", ["http://one:8083"], RESET_AGAIN),
        (STOP, "elsewhere", [], "Run it again with the same parameters. That finishes or undoes it"),
        (STOP, "elsewhere", ["http://one:8083"], "Run it again with the same parameters. That finishes or undoes it"),
        (
            STOP,
            "here",
            ["http://two:8083"],
            "This is another Connect cluster, at http://one:8083, on the",
        ),
        (
            EMPTY,
            "here",
            ["http://two:8083"],
            "This is another Connect cluster, at http://one:8083, on the",
        ),
    ],
)
def test_they_are_refused_and_the_error_names_what_to_run(
    title: str, cluster: str, begun_at: list[str], advice: str
) -> None:
    """A reset needs the clusters of its flow, and a connector the Connect cluster that it is in."""
    spec = {"optional": False, "topics": [], "kept": "", ADDRESSES: begun_at}
    stage = StageRecord(title, "flow", cluster, spec)
    record = SagaRecord("flow", Owner("dag/dead", "apply", "host", 1), operation="the operation", stages=(stage,))
    control = cast("Any", SimpleNamespace(addresses=lambda _connector: {"http://one:8083"}))

    with pytest.raises(Overlap, match=r"the operation of 'flow' by run 'dag/dead' .*" + re.escape(advice)):
        make_registry(Clients(NO_CLIENT, control, cluster="here")).build(record)


def test_a_connector_that_is_named_twice_is_not_claimed(tmp_path: Path) -> None:
    """Refused before anything is requested of it."""
    members = [(Clients(NO_CLIENT, NO_CLIENT, cluster="here", workspace=tmp_path.as_uri()), "mirror")] * 2

    with pytest.raises(InvalidRequest, match=r"Nothing was stopped, .* 'mirror' is given for two connectors"):
        stop_for_run(members, Owner("dag/run", "begin", "host", 1), seconds=60)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("origin", "advice"),
    [
        (Origin.REST, "send PATCH /connectors/mirror/offsets with the body that the log of this task shows"),
        (Origin.TOPIC, "run connector_offsets_change with control=storage, to=file and value=a file with the offsets"),
        (
            Origin.STRIMZI,
            "run connector_offsets_change with control=strimzi, to=file and value=a file with the",
        ),
    ],
)
def test_prior_offsets_are_logged_if_they_can_not_be_kept(
    origin: Origin, advice: str, caplog: pytest.LogCaptureFixture
) -> None:
    """If the workspace can't be written any more, the log has what a person needs."""

    def keep(_name: str, _value: Any) -> str:
        raise OSError(30, "Read-only file system")

    prior = Offsets.of([Entry('{"partition":0}', '{"offset":7}')])
    found = Alteration(State.RUNNING, prior, prior.removals())
    clients = Clients(NO_CLIENT, NO_CLIENT, origin=origin)

    text = by_hand(clients, "mirror", found, Undoing(returned=False, error=None, keep=keep))

    assert text.startswith(advice)
    assert '"offset": {"offset": 7}' in caplog.text
