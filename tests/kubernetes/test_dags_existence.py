"""Connectors that are created, copied and replayed by a clone: by a resource alone, and over REST with a resource."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox import Sandbox, wait_for
from sandbox.kubernetes import Release
from tests.support.airflow.dag_runs import Ran
from tests.support.flows.flows import RECORDS, SinkFlow
from tests.support.flows.replays import A_DAY, DAYS, START, by_day, name_of, start_daily_sink
from tests.support.strimzi.owned import Owned
from tests.support.strimzi.resources import annotations_of

pytestmark = [pytest.mark.kubernetes, pytest.mark.parametrize("release", [Release.V1], indirect=True)]
RunDag = Callable[..., Ran]
DAGS = Path(__file__).parents[1] / "airflow" / "dags"
CONTROLS = pytest.mark.parametrize("control", ["strimzi", "strimzi+rest"])
BACKFILL = """
from datetime import datetime

from airflow_provider_connect_offsets.dags import connector_offsets_backfill

dag = connector_offsets_backfill(
    start_date=datetime.fromisoformat("{start}"),
    params={{"connector": "{connector}", "control": "{control}", "mode": "replay", "approval": False}},
)
"""


@CONTROLS
def test_a_connector_is_copied_created_and_deleted(
    sandbox: Sandbox, owned: Owned, run_dag: RunDag, tmp_path: Path, control: str
) -> None:
    """A copy, one at an offset, and its deletion, as role-create-delete.yaml allows."""
    flow = SinkFlow.start(sandbox, create=owned.create)
    copy, created = f"{flow.name}-copy", f"{flow.name}-new"

    with owned.kept(flow.name):
        copied = run_dag("connector_offsets_copy", connector=flow.name, new_name=copy, control=control)

    assert copied.state == "success", copied.output
    wait_for(lambda: sandbox.connect.stored_offsets(copy), [{"kafka_offset": RECORDS}], 60, "the copy has no offset")
    assert len(flow.lines()) == RECORDS
    file = tmp_path / "new.txt"

    ran = run_dag("created_and_deleted", DAGS, connector=created, topic=flow.topic, file=str(file), control=control)

    assert (ran.state, set(ran.tasks.values())) == ("success", {"success"}), ran.output
    assert file.read_text().split() == [str(number) for number in range(15, RECORDS)]
    left: dict[str, Any] = {one["metadata"]["name"]: one for one in owned.strimzi.resources.list("KafkaConnector")}
    assert sorted(one for one in left if one.startswith(flow.name)) == [flow.name, copy]
    owned.delete(copy, flow.name)


@CONTROLS
def test_a_renamed_connector_keeps_what_a_person_has_set(
    sandbox: Sandbox, owned: Owned, run_dag: RunDag, control: str
) -> None:
    """It keeps labels, annotations and restarts; and no state appears that nobody has set."""
    flow = SinkFlow.start(sandbox, create=owned.create)
    resources, new = owned.strimzi.resources, f"{flow.name}-new"
    metadata = {"labels": {"team": "payments"}, "annotations": {"owner": "me"}}
    resources.merge("KafkaConnector", flow.name, {"metadata": metadata, "spec": {"autoRestart": {"enabled": True}}})
    before = owned.strimzi.observed("KafkaConnector", flow.name)

    ran = run_dag("connector_offsets_copy", connector=flow.name, new_name=new, rename=True, control=control)

    assert ran.state == "success", ran.output
    assert resources.get("KafkaConnector", flow.name) is None
    after = owned.strimzi.read("KafkaConnector", new)
    assert after["spec"] == before["spec"]
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert annotations_of(after) == {"owner": "me"}
    owned.delete(new)


@CONTROLS
def test_a_day_is_replayed_by_a_clone(
    sandbox: Sandbox, owned: Owned, run_dag: RunDag, tmp_path: Path, control: str
) -> None:
    """Of the day all is delivered again, and neither clone nor resource is left."""
    name, file = start_daily_sink(sandbox, owned.create)
    path = tmp_path / "connector_offsets_backfill.py"
    path.write_text(BACKFILL.format(start=START.isoformat(), connector=name, control=control))

    with owned.kept(name):
        ran = run_dag("connector_offsets_backfill", tmp_path)

    left = [one["metadata"]["name"] for one in owned.strimzi.resources.list("KafkaConnector")]
    assert [one for one in left if one.startswith(name)] == [name]
    delivered = by_day(file.read_text().splitlines())
    assert ran.state == "success", ran.output
    assert delivered[name_of(DAYS - 1)] == 2 * A_DAY
    assert delivered[name_of(0)] == A_DAY
    owned.delete(name)
