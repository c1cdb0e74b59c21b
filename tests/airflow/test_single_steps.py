"""Single-step operators and the sensor, on real connectors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_connect_offsets.exceptions import NotStopped
from airflow_provider_connect_offsets.offsets.document import canonical_json, parse_kip199
from airflow_provider_connect_offsets.operators.connector import (
    AlterConnectorOffsetsOperator,
    ResetConnectorOffsetsOperator,
    ResumeConnectorOperator,
)
from airflow_provider_connect_offsets.sensors.connector import ConnectorStateSensor
from tests.support.airflow.dag_runs import Ran
from tests.support.flows.flows import RECORDS, SinkFlow, world

RunDag = Callable[..., Ran]
DAGS = Path(__file__).parent / "dags"


def test_single_steps_stop_reset_alter_and_resume(sink: SinkFlow, run_dag: RunDag) -> None:
    """Each observes what it requested, and the sink goes on at the offset that was written."""
    written = len(sink.lines())

    ran = run_dag("single_steps", DAGS, connector=sink.name, topic=sink.topic)

    assert (ran.state, set(ran.tasks.values())) == ("success", {"success"})
    sink.wait_until_caught_up()
    assert sink.lines()[written:] == [str(number) for number in range(97, RECORDS)]
    document = json.loads(Path(f"{ran.directory.uri}/get.json".removeprefix("file://")).read_text())
    offset = parse_kip199(document)[sink.name].by_partition()[
        canonical_json({"kafka_topic": sink.topic, "kafka_partition": 0})
    ]
    assert json.loads(offset) == {"kafka_offset": 97}


@pytest.mark.usefixtures("connections")
def test_what_still_runs_is_neither_altered_nor_reset(sink: SinkFlow) -> None:
    """Both say so before they write anything."""
    entry = {"partition": {"kafka_topic": sink.topic, "kafka_partition": 0}, "offset": {"kafka_offset": 1}}
    before = world(sink.sandbox)

    for step in (
        AlterConnectorOffsetsOperator(task_id="alter", connector=sink.name, offsets=[entry]),
        ResetConnectorOffsetsOperator(task_id="reset", connector=sink.name),
    ):
        with pytest.raises(NotStopped, match=rf"Nothing was written: '{sink.name}' is RUNNING with 1 task. Stop it"):
            run(step)

    before.assert_stands()


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize(
    ("partition", "offset", "sentence"),
    [
        ({"kafka_topic": "t"}, {"kafka_offset": 1}, "kafka_partition"),
        ({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": -1}, "must be 0 or greater, not -1"),
        ({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": {"a": 1}}, "may have only primitive values"),
        (None, {"kafka_offset": 1}, "partition"),
    ],
)
def test_offsets_no_connector_of_the_family_can_have_are_refused(
    sink: SinkFlow, partition: Any, offset: Any, sentence: str
) -> None:
    """They are refused even while it is STOPPED; the message names the connector or the part that is wrong."""
    sink.sandbox.connect.stop(sink.name)
    before = world(sink.sandbox)
    entry = {"partition": partition, "offset": offset}

    with pytest.raises(AirflowFailException, match=f"Nothing was written: '{sink.name}'.*{sentence}"):
        run(AlterConnectorOffsetsOperator(task_id="alter", connector=sink.name, offsets=[entry]))

    before.assert_stands()


@pytest.mark.usefixtures("connections")
def test_unknown_states_and_connectors_are_refused(sink: SinkFlow) -> None:
    """A typo in either is one sentence."""
    for step in (
        ResumeConnectorOperator(task_id="resume", connector=sink.name, state="RUNING"),
        ConnectorStateSensor(task_id="wait", connector=sink.name, state="RUNING"),
    ):
        with pytest.raises(AirflowFailException, match="'RUNING'"):
            run(step)
    with pytest.raises(AirflowFailException, match="no-such-connector"):
        run(ConnectorStateSensor(task_id="wait", connector="no-such-connector"))


def run(step: Any) -> Any:
    """Execute an operator outside of any DAG run."""
    task: Any = {"ti": SimpleNamespace(dag_id="own", run_id="run", task_id=step.task_id, map_index=-1)}
    return type(step).execute.__wrapped__(step, task)
