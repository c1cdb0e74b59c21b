"""The restart of what has failed, on a real sink whose file can't be opened at first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_connect_offsets.exceptions import NotRunning, Overlap, Unsupported
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.operations.connector import stepwise
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients
from airflow_provider_connect_offsets.operators import RestartConnectorOperator
from sandbox import Sandbox
from tests.airflow.test_single_steps import run
from tests.support.flows.existence import owner
from tests.support.flows.flows import Changer, SinkFlow, world
from tests.support.flows.groups import cluster

pytestmark = pytest.mark.usefixtures("connections")


@pytest.fixture
def failed(sandbox: Sandbox, tmp_path: Path) -> Iterator[str]:
    """A sink with two tasks, both of which fail until their directory exists."""
    name, topic = f"restarted-{tmp_path.name}", f"topic-{tmp_path.name}"
    sandbox.target.create_topic(topic, partitions=2)
    config = {
        "connector.class": "FileStreamSink",
        "topics": topic,
        "tasks.max": "2",
        "file": str(tmp_path / "later" / "out.txt"),
    }
    sandbox.connect.create(name, config)
    sandbox.connect.wait_state(name, "FAILED", tasks=2)
    yield name
    sandbox.connect.delete(name)


def test_failed_tasks_run_again_once_their_cause_is_gone(failed: str, sandbox: Sandbox, tmp_path: Path) -> None:
    """While the cause is there, the error names it; afterwards nothing has failed, so nothing is restarted."""
    with pytest.raises(NotRunning, match=rf"'{failed}' .*failed.*later/out.txt"):
        run(RestartConnectorOperator(task_id="restart", connector=failed, timeout=5))
    (tmp_path / "later").mkdir()

    assert run(RestartConnectorOperator(task_id="restart", connector=failed)) == 2

    sandbox.connect.wait_state(failed, "RUNNING", tasks=2)
    assert run(RestartConnectorOperator(task_id="restart", connector=failed)) == 0


def test_what_runs_is_restarted_on_request(sink: SinkFlow) -> None:
    """It continues where it was."""
    written = len(sink.lines())

    assert run(RestartConnectorOperator(task_id="restart", connector=sink.name, failed_only=False)) == 0

    sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=1)
    assert len(sink.lines()) == written


def test_a_stopped_connector_is_resumed_instead(sink: SinkFlow) -> None:
    """Connect would accept the request, and do nothing."""
    sink.sandbox.connect.stop(sink.name)

    with pytest.raises(AirflowFailException, match=f"Nothing was restarted: '{sink.name}' is STOPPED. Resume it"):
        run(RestartConnectorOperator(task_id="restart", connector=sink.name))


def test_what_is_started_elsewhere_is_not_restarted(sandbox: Sandbox, workspace: str) -> None:
    """Consumer groups and storages have offsets alone; no control of theirs restarts anything."""
    with cluster(sandbox.target) as kafka:
        groups = group_clients(kafka, workspace)

        with pytest.raises(Unsupported, match=r"Nothing was changed.*where only its offsets are stored"):
            stepwise.restart("orders", groups, owner(), failed_only=True, seconds=60)


def test_what_only_strimzi_reaches_is_not_restarted() -> None:
    """Before anything is read; the message names the control that can."""
    nobody: Any = None
    strimzi = Clients(nobody, nobody, origin=Origin.STRIMZI)

    with pytest.raises(Unsupported, match=r"Nothing was restarted: for 'orders' .*Use control=strimzi\+rest"):
        stepwise.restart("orders", strimzi, owner(), failed_only=True, seconds=60)


def test_a_run_may_restart_what_it_has_begun_to_change(sink: SinkFlow, target_changer: Changer) -> None:
    """Its plan is neither carried out nor undone by that, and no other run may restart the connector meanwhile."""
    run, _summary = target_changer.plan(sink.name, "offset", "50")
    plan, mine, journal = read_plan(run), owner(), target_changer.journal(sink.name)
    before = world(sink.sandbox)

    with target_changer.clients() as clients:
        stepwise.begin(plan, clients, mine, seconds=60)

        assert stepwise.restart(sink.name, clients, mine, failed_only=False, seconds=60) == 0
        with pytest.raises(Overlap, match=f"'{sink.name}' is being changed by run '{mine.run}'"):
            stepwise.restart(sink.name, clients, owner(), failed_only=False, seconds=60)

        before.assert_stands()
        assert journal.is_open_for(mine.run)
        stepwise.undo(plan, clients, replace(mine, task="restore"))
    assert journal.read_left() is None
