"""The DAGs of docs/use-cases/new-connector.md create a connector at an offset, and delete it with its offsets."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_connect_offsets.offsets.document import load_json, parse_kip199
from airflow_provider_connect_offsets.operators.existence import CreateConnectorOperator
from sandbox import Sandbox, wait_for
from tests.airflow.test_single_steps import run
from tests.support.airflow.dag_runs import Ran

RunDag = Callable[..., Ran]
DAGS = Path(__file__).parent / "dags"
PAGE = Path(__file__).parents[2] / "docs" / "use-cases" / "new-connector.md"
RECORDS = 20


def test_the_documentation_shows_the_dags_that_are_tested() -> None:
    """The page has each DAG file line by line."""
    shown = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)

    assert shown == [(DAGS / f"{name}.py").read_text() for name in ("new_orders_sink", "new_mirror", "old_orders_sink")]


def test_the_documented_dags(sandbox: Sandbox, run_dag: RunDag, tmp_path: Path) -> None:
    """The sink delivers from the offset on; deleted, it leaves no group, but a file with its offsets."""
    mark = uuid4().hex[:8]
    name, topic, file = f"orders-sink-{mark}", f"orders-{mark}", tmp_path / "orders.txt"
    sandbox.target.create_topic(topic)
    sandbox.target.produce(topic, [str(number) for number in range(RECORDS)])

    created = run_dag("new_orders_sink", DAGS, connector=name, topic=topic, file=str(file))

    assert (created.state, created.tasks) == ("success", {"create": "success"})
    assert f"'{name}' was created with offsets of 1 partition, and is RUNNING." in created.output
    delivered = [str(number) for number in range(15, RECORDS)]
    wait_for(lambda: file.read_text().split() if file.exists() else [], delivered, 60, "it delivers nothing")
    sandbox.connect.wait_state(name, "RUNNING", tasks=1)
    wait_for(lambda: len(sandbox.connect.stored_offsets(name)), 1, 60, "it commits nothing")

    deleted = run_dag("old_orders_sink", DAGS, connector=name)

    assert (deleted.state, name in sandbox.connect.connectors()) == ("success", False)
    kept = parse_kip199(load_json(Path(f"{deleted.directory.uri}/delete.json".removeprefix("file://")).read_text()))
    assert len(kept[name].by_partition()) == 1


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"state": "FAILED"}, "state must be RUNNING, PAUSED or STOPPED, not 'FAILED'"),
        ({"offsets": [{"partition": 1}]}, "Nothing was created: 'new': entry 1"),
        ({"config": {}}, "connector.class '' of 'new' is not installed"),
        ({"config": "{"}, "config is not valid JSON"),
        ({"config": {"topics": ["a"]}}, "is not a JSON object of plain values"),
        ({"config": '{"connector.class": "None", "topics": null}'}, "connector.class 'None' of 'new' is not installed"),
    ],
)
def test_what_is_invalid_fails_in_one_sentence(given: dict[str, Any], said: str) -> None:
    """Before anything is created."""
    fine: dict[str, Any] = {"config": {"connector.class": "FileStreamSink"}}

    with pytest.raises(AirflowFailException, match=said):
        run(CreateConnectorOperator(task_id="create", connector="new", **{**fine, **given}))
