"""Fleets, snapshots and a backfill of connectors that Strimzi's operator owns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox import Sandbox
from sandbox.kubernetes import Release
from tests.support.airflow.dag_runs import Ran
from tests.support.flows.flows import RECORDS, SinkFlow
from tests.support.flows.replays import A_DAY, DAYS, START, by_day, name_of, start_daily_sink, wait_until_read
from tests.support.strimzi.owned import Owned

pytestmark = pytest.mark.kubernetes
RunDag = Callable[..., Ran]
EACH_RELEASE = pytest.mark.parametrize("release", [Release.V1, Release.V1BETA2], indirect=True)
ONE_RELEASE = pytest.mark.parametrize("release", [Release.V1], indirect=True)
BACKFILL = """
from datetime import datetime

from airflow_provider_connect_offsets.dags import connector_offsets_backfill

dag = connector_offsets_backfill(
    start_date=datetime.fromisoformat("{start}"),
    params={{"connector": "{connector}", "control": "strimzi", "approval": False}},
)
"""


@pytest.fixture
def sinks(sandbox: Sandbox, owned: Owned) -> Iterator[list[SinkFlow]]:
    flows = [SinkFlow.start(sandbox, create=owned.create) for _ in range(3)]
    yield flows
    owned.delete(*(flow.name for flow in flows))


@ONE_RELEASE
def test_a_fleet(sinks: list[SinkFlow], owned: Owned, run_dag: RunDag) -> None:
    """A fleet changes three connectors, two at a time; each delivers its last ten records again."""
    names = [flow.name for flow in sinks]
    with owned.kept(*names):
        ran = run_dag(
            "connector_offsets_fleet",
            connectors="|".join(names),
            to="offset",
            value="90",
            max_down=2,
            control="strimzi",
        )

    assert ran.state == "success", ran.output
    for flow in sinks:
        flow.wait_until_caught_up()
        assert flow.lines()[RECORDS:] == [str(number) for number in range(90, RECORDS)]


@EACH_RELEASE
def test_a_snapshot_is_restored(sinks: list[SinkFlow], owned: Owned, run_dag: RunDag) -> None:
    """What was changed after it is undone; the ConfigMaps of the listings are gone, the snapshot is not."""
    names = [flow.name for flow in sinks]
    taken = run_dag("connector_offsets_snapshot", connectors="|".join(names), control="strimzi")
    assert taken.state == "success", taken.output
    for name in names[:2]:
        owned.set_state(name, "paused")
    changed = run_dag(connector=names[0], to="offset", value="7", control="strimzi")
    assert changed.state == "success", changed.output
    assert sinks[0].position() == 7

    with owned.kept(*names):
        restored = run_dag(
            "connector_offsets_restore",
            snapshot_uri=taken.directory.uri,
            connectors="|".join(names[:2]),
            control="strimzi",
        )

    assert restored.state == "success", restored.output
    assert [flow.position() for flow in sinks] == [RECORDS] * 3
    assert len(sinks[0].lines()) == RECORDS


@ONE_RELEASE
def test_a_day_is_delivered_again(sandbox: Sandbox, owned: Owned, run_dag: RunDag, tmp_path: Path) -> None:
    """The DAG rewinds the connector to the start of the data interval."""
    name, file = start_daily_sink(sandbox, owned.create)
    path = tmp_path / "connector_offsets_backfill.py"
    path.write_text(BACKFILL.format(start=START.isoformat(), connector=name))

    with owned.kept(name):
        ran = run_dag("connector_offsets_backfill", tmp_path)

    assert ran.state == "success", ran.output
    wait_until_read(sandbox, name)
    delivered = by_day(file.read_text().splitlines())
    assert delivered[name_of(DAYS - 1)] == 2 * A_DAY
    assert delivered[name_of(0)] == A_DAY
    owned.delete(name)
