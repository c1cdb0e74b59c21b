"""An applied change is an asset event, which starts other DAGs; a change that was not applied is none."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import pytest
from airflow.sdk import Asset

from airflow_provider_connect_offsets.assets import connector_asset, group_asset, moved_groups_asset
from airflow_provider_connect_offsets.operators.shared.lineage import (
    MOST_CHANGES,
    lineage_of_changes,
    lineage_of_job,
)
from sandbox import Progress, Sandbox, wait_for, wait_until
from sandbox.airflow import DAGS, AirflowStandalone
from sandbox.connectors import file_sink_config

EXAMPLES = Path(__file__).parent / "dags"
PAGE = Path(__file__).parents[2] / "docs" / "use-cases" / "after-a-change.md"
RECORDS = 20


def test_the_documentation_shows_the_dag_that_is_tested() -> None:
    """The page has the DAG file line by line."""
    shown = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)

    assert (EXAMPLES / "totals_again.py").read_text() in shown


@pytest.mark.parametrize("name", ["orders", "groups", "*", "ä b/c%2F?#", "."])
def test_each_name_has_an_asset_of_its_own(name: str) -> None:
    """No connector, group or cluster shares a URI with another, and Airflow keeps the URI as it is."""
    assets = [
        connector_asset("one", name),
        group_asset("one", name),
        moved_groups_asset("one"),
        connector_asset(name, "a"),
    ]
    uris = [asset.uri for asset in assets]

    assert len(set(uris)) == len(uris)
    assert uris[0] == f"connect-offsets://one/{quote(name, safe='')}"
    assert [asset.name for asset in assets] == uris
    assert all(uri.isascii() for uri in uris)


def test_a_uri_is_normalized_and_a_wrong_one_is_refused() -> None:
    """Whoever writes a URI by hand gets the asset of the operators, or one sentence."""
    assert Asset(uri="connect-offsets://one/my orders").uri == connector_asset("one", "my orders").uri
    assert urlsplit(connector_asset("/data/offsets", "a").uri).netloc == "%2Fdata%2Foffsets"
    for uri in ("connect-offsets://one", "connect-offsets://one/a/b", "connect-offsets:///a"):
        with pytest.raises(ValueError, match=r"be the URI of an asset\. Write connect-offsets://"):
            Asset(uri=uri)


@pytest.fixture
def orders(sandbox: Sandbox) -> Iterator[str]:
    """The topic of a running sink ``orders-sink`` that has delivered all records."""
    topic = f"orders-{uuid4().hex[:8]}"
    sandbox.target.create_topic(topic)
    sandbox.target.produce(topic, [str(number) for number in range(RECORDS)])
    sandbox.connect.create("orders-sink", file_sink_config(topic, sandbox.data / f"{topic}.txt"))
    wait_until(
        lambda: sandbox.connect.stored_offsets("orders-sink") == [{"kafka_offset": RECORDS}], 60, "it commits nothing"
    )
    yield topic
    sandbox.connect.delete("orders-sink")


@pytest.mark.jobs
def test_a_rewind_starts_another_dag(sandbox: Sandbox, orders: str, tmp_path: Path) -> None:
    """A real scheduler runs the DAG of the page after the change, with its extra; a dry run starts no DAG."""
    dags = tmp_path / "dags"
    dags.mkdir()
    for file in (DAGS / "connector_offsets_change.py", EXAMPLES / "totals_again.py"):
        shutil.copy(file, dags)
    cluster, lineage = str(sandbox.target.cluster_id()), tmp_path / "lineage.jsonl"
    transport = {"type": "file", "log_file_path": str(lineage), "append": True}
    settings = {
        "CONNECT_CLUSTER": cluster,
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport),
        "AIRFLOW__OPENLINEAGE__SPARK_INJECT_PARENT_JOB_INFO": "True",
    }
    airflow = AirflowStandalone(sandbox, workspace=tmp_path / "workspace", dags=dags, settings=settings)
    airflow.start()
    try:
        for dag_id in ("connector_offsets_change", "totals_again"):
            airflow.wait_for_dag(dag_id)
        dry, real = (_change(airflow, dry_run=dry_run) for dry_run in (True, False))
        runs = partial(_runs, airflow, "totals_again")
        work: Progress = {"consumer": runs, "change": partial(_runs, airflow, "connector_offsets_change")}
        wait_for(lambda: list(runs().values()), ["success"], 180, "it was not started", progress=work, interval=0.5)

        run_id = next(iter(runs()))
        assert _returned(airflow, f"/dags/totals_again/dagRuns/{run_id}", "aggregate") == {orders: 5}
        events = airflow.call("GET", "/assets/events")["asset_events"]
        assert [event["source_run_id"] for event in events] == [real]
        assert real != dry
        extra = events[0]["extra"]
        assert extra["kind"] == "offsets_changed"
        assert extra["before"] == {orders: {"partitions": 1, "lowest": RECORDS, "highest": RECORDS}}
        assert (extra["moved_back"], extra["moved_forward"]) == (1, 0)
        assert extra["plan_uri"] == f"{extra['run_uri']}/offset_plan"
        _expect_lineage(lineage, cluster, extra)
        assert "spark.openlineage.parentRunId" in airflow.log(
            dag_id="connector_offsets_change", run_id=real, task="change.plan"
        )
    finally:
        airflow.close()


def _expect_lineage(file: Path, cluster: str, extra: dict[str, Any]) -> None:
    """OpenLineage has one change, with the extra of its asset event, and both plans."""
    events = [json.loads(line) for line in file.read_text().splitlines()]
    ended = [event for event in events if event["eventType"] == "COMPLETE"]
    changes = [event for event in ended if "connectOffsets_changes" in event["run"]["facets"]]
    jobs = [found for event in ended if (found := event["run"]["facets"].get("connectOffsets_job"))]

    [change] = changes
    assert [(found["namespace"], found["name"]) for found in change["outputs"]] == [
        (f"connect-offsets://{cluster}", "orders-sink")
    ]
    facet = change["run"]["facets"]["connectOffsets_changes"]
    assert (facet["changes"], facet["more"]) == ([extra], 0)
    assert [job["job"] for job in jobs] == ["plan", "plan"]
    assert extra["digest"] in [job["summary"]["digest"] for job in jobs]


def _change(airflow: AirflowStandalone, *, dry_run: bool) -> str:
    conf = {"connector": "orders-sink", "to": "offset", "value": "5", "approval": False, "dry_run": dry_run}
    conf |= {"kafka_conn_id": "kafka_target"}
    path = "/dags/connector_offsets_change/dagRuns"
    made: str = airflow.call("POST", path, {"logical_date": None, "conf": conf})["dag_run_id"]
    state = partial(_runs, airflow, "connector_offsets_change")
    wait_for(lambda: state()[made], "success", 180, "the change failed", progress={"runs": state}, interval=0.5)
    return made


def _runs(airflow: AirflowStandalone, dag_id: str) -> dict[str, str]:
    found = airflow.call("GET", f"/dags/{dag_id}/dagRuns")["dag_runs"]
    return {run["dag_run_id"]: run["state"] for run in found}


def _returned(airflow: AirflowStandalone, run: str, task_id: str) -> object:
    entry = airflow.call("GET", f"{run}/taskInstances/{task_id}/xcomEntries/return_value?deserialize=true")
    return entry["value"]


def test_a_facet_lists_no_more_changes_than_a_backend_takes() -> None:
    """A fleet's task says how many changes its facet leaves out; one without changes has no facet."""
    extras = [{"kind": "offsets_changed", "name": str(number)} for number in range(MOST_CHANGES + 2)]

    facet = lineage_of_changes(extras).run_facets["connectOffsets_changes"]

    assert (facet.changes, facet.more) == (extras[:MOST_CHANGES], 2)
    assert not lineage_of_changes(()).run_facets
    assert not lineage_of_job("plan", None).run_facets
