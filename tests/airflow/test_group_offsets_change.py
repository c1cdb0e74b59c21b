"""The DAG that changes where consumer groups of plain applications resume."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.assets import group_asset
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.outcome import FleetUndo
from sandbox import Sandbox
from tests.support.airflow.asset_events import asset_events
from tests.support.airflow.dag_runs import Ran, connections_in, params_of
from tests.support.flows.group_changer import PlainGroup
from tests.support.flows.groups import member

pytestmark = pytest.mark.jobs
RunDag = Callable[..., Ran]


def test_groups_are_planned_and_changed_in_one_run(sandbox: Sandbox, run_dag: RunDag, workspace: str) -> None:
    """All are applied and undone at once; each is an asset event; report and log speak of consumer groups."""
    mark = uuid4().hex[:8]
    groups = [PlainGroup.start(sandbox.target, f"billing/{mark}/{number}") for number in range(2)]
    prior = [dict(group.offsets) for group in groups]
    params = {"groups": f"billing/{mark}/.*", "topics": "invoices-.*", "kafka_conn_id": "kafka_target"}

    ran = run_dag("group_offsets_change", to="offset", value="5", **params)

    assert (ran.state, ran.tasks["apply"], ran.tasks["restore"]) == ("success", "success", "success")
    assert [dict(group.offsets) for group in groups] == [{0: 5, 1: 5, 2: 5}] * 2
    assert "As planned: 2 consumer groups" in ran.output
    html = Path(FleetDirectory(ran.directory.uri).report.removeprefix("file://")).read_text()
    assert "2 consumer groups: Applied" in html
    assert "onnector" not in re.sub(r'href="[^"]*"', "", html)
    events = asset_events(ran.run)
    assert events.keys() == {group_asset(str(sandbox.target.cluster_id()), group.name).uri for group in groups}
    first = events[group_asset(str(sandbox.target.cluster_id()), groups[0].name).uri]
    assert (first["partitions"], first["moved_back"], first["after"]) == (
        3,
        2,
        {groups[0].topic: {"partitions": 3, "lowest": 5, "highest": 5}},
    )
    assert connections_in(workspace, groups[0].name) == {"kafka_conn_id=kafka_target"}

    undo = FleetUndo.read(FleetDirectory(ran.directory.uri).undo)
    assert undo is not None
    assert undo.command in unescape(html)
    back = params_of(undo.command, "group_offsets_change")
    assert run_dag("group_offsets_change", **back).state == "success"
    assert [dict(group.offsets) for group in groups] == prior != [{0: 5, 1: 5, 2: 5}] * 2


def test_nothing_is_changed_if_one_of_them_has_members(sandbox: Sandbox, run_dag: RunDag) -> None:
    """The plan fails, names the group, and no group is changed; none is an asset event."""
    mark = uuid4().hex[:8]
    groups = [PlainGroup.start(sandbox.target, f"audit-{mark}-{number}") for number in range(2)]
    with member(sandbox.target, groups[1].name, groups[1].topic):
        ran = run_dag("group_offsets_change", groups=f"audit-{mark}-.*", to="earliest", kafka_conn_id="kafka_target")

    assert (ran.state, ran.tasks["plan"], ran.tasks["apply"]) == ("failed", "failed", "upstream_failed")
    assert f"`{groups[1].name}`: the consumer group has members" in ran.output
    assert [dict(group.offsets) for group in groups] == [{0: 60, 1: 20}] * 2
    assert asset_events(ran.run) == {}
