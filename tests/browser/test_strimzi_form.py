"""A connector that Strimzi's operator owns is changed by its resource: connection, form, approval and report."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from sandbox import Sandbox
from sandbox.airflow import DAGS, AirflowStandalone
from sandbox.kubernetes import Release
from tests.browser.conftest import PICTURES
from tests.support.airflow.airflow_ui import AirflowUi, chromium_page
from tests.support.flows.flows import RECORDS, SinkFlow
from tests.support.strimzi.owned import Owned
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.starting import api_server_of, started

pytestmark = pytest.mark.browser
DAG_ID = "connector_offsets_change"
CONNECT, KUBERNETES = "orders_strimzi", "orders_kubernetes"
POSITION = 90


@pytest.fixture(scope="module")
def strimzi(sandbox: Sandbox) -> Iterator[Strimzi]:
    """The worker of the sandbox belongs to Strimzi's operator."""
    with api_server_of(Release.V1) as server, started(server, Release.V1, sandbox) as strimzi:
        yield strimzi


@pytest.fixture
def sink(sandbox: Sandbox, strimzi: Strimzi) -> Iterator[tuple[SinkFlow, Owned]]:
    """A sink that a KafkaConnector describes; the operator acts on events only."""
    with strimzi.without_intervals():
        owned = Owned(strimzi)
        flow = SinkFlow.start(sandbox, create=owned.create)
        yield flow, owned
        owned.delete(flow.name)


@pytest.fixture
def strimzi_ui(sandbox: Sandbox, strimzi: Strimzi, tmp_path: Path) -> Iterator[AirflowUi]:
    """An Airflow that has a connection to Kubernetes, with the rights of our Role only."""
    folder = tmp_path / "dags"
    folder.mkdir()
    shutil.copy(DAGS / f"{DAG_ID}.py", folder)
    kubernetes = {"conn_type": "kubernetes", "extra": {"kube_config_path": str(strimzi.kubeconfig)}}
    airflow = AirflowStandalone(
        sandbox,
        workspace=tmp_path / "workspace",
        dags=folder,
        settings={f"AIRFLOW_CONN_{KUBERNETES.upper()}": json.dumps(kubernetes)},
    )
    airflow.start()
    try:
        airflow.wait_for_dag(DAG_ID)
        with chromium_page() as page:
            yield AirflowUi(page, airflow.url, PICTURES)
    finally:
        airflow.close()


def test_an_approved_change_goes_through_the_resource(
    sink: tuple[SinkFlow, Owned], strimzi: Strimzi, strimzi_ui: AirflowUi
) -> None:
    """Nothing is stopped before the answer; then the operator stops, alters and resumes, and records come again."""
    flow, owned = sink
    cluster = {"strimzi_cluster": strimzi.connect_name, "strimzi_namespace": strimzi.namespace}
    strimzi_ui.add_connection(CONNECT, "Kafka Connect", {}, extra=cluster)
    with owned.kept(flow.name), owned.history(flow.name) as history:
        run = strimzi_ui.trigger(
            DAG_ID,
            {
                "connector": flow.name,
                "to": "offset",
                "value": str(POSITION),
                "control": "strimzi",
                "connect_conn_id": CONNECT,
                "kafka_conn_id": "kafka_target",
                "kubernetes_conn_id": KUBERNETES,
            },
            picture="strimzi-form",
        )
        run.open_question()
        strimzi_ui.picture("strimzi-approval")
        question = strimzi_ui.page.locator("#root").inner_text()

        assert f"Change the offsets of {flow.name}?" in question
        assert f"Records delivered again: {RECORDS - POSITION}" in question
        assert flow.position() == RECORDS
        run.answer("Approve")
        assert run.end() == "success"

    assert set(run.tasks().values()) == {"success"}
    assert history.states == [None, "stopped", None]
    assert [one for one in history.operations if one != "list"] == ["alter"]
    flow.wait_until_caught_up()
    assert flow.lines()[RECORDS:] == [str(number) for number in range(POSITION, RECORDS)]
    report = run.open_report("change.apply")
    expect(report.get_by_text("Applied").first).to_be_visible()
    report.screenshot(path=PICTURES / "strimzi-report.png", full_page=True)
