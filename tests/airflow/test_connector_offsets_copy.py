"""``connector_offsets_copy``: what it says it will do, and what it does, on a real Connect."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, ParamValidationError

from airflow_provider_connect_offsets.dags.connector_offsets_copy import connector_offsets_copy
from airflow_provider_connect_offsets.operators.existence import CopyConnectorOperator, CreateConnectorOperator
from airflow_provider_connect_offsets.operators.existence import RenameConnectorOperator as Rename
from sandbox import Sandbox, wait_for
from sandbox.connectors import file_sink_config
from tests.airflow.test_single_steps import run
from tests.support.airflow.dag_runs import Ran

pytestmark = pytest.mark.jobs
RunDag = Callable[..., Ran]
DAGS = Path(__file__).parent / "dags"
PAGE = Path(__file__).parents[2] / "docs" / "use-cases" / "copy-or-rename.md"
RECORDS = 20


@pytest.fixture
def name(sandbox: Sandbox) -> Iterator[str]:
    """A running sink that has committed all records of its topic; its copies are deleted as well."""
    name = f"orders-sink-{uuid4().hex[:8]}"
    sandbox.target.create_topic(name)
    sandbox.target.produce(name, [str(number) for number in range(RECORDS)])
    sandbox.connect.create(name, file_sink_config(name, sandbox.data / f"{name}.txt"))
    wait_for(lambda: sandbox.connect.stored_offsets(name), [{"kafka_offset": RECORDS}], 60, "it commits nothing")
    yield name
    for each in sandbox.connect.connectors():
        if each.startswith(name):
            sandbox.connect.delete(each)


def test_it_says_what_it_will_do_and_renames(sandbox: Sandbox, run_dag: RunDag, name: str) -> None:
    """A dry run changes nothing; the rename leaves the connector under its new name only, where it was."""
    given = {"connector": name, "new_name": f"{name}-2", "rename": True, "config": '{"errors.tolerance": "all"}'}

    dry = run_dag("connector_offsets_copy", dry_run=True, **given)

    skipped = dict.fromkeys(("approve", "copy", "outcome"), "skipped")
    assert (dry.state, dry.tasks) == ("success", {"check": "success", **skipped, "release": "success"})
    sentence = (
        f"Create '{name}-2' with the settings of '{name}' (changed settings: errors.tolerance=all) and its "
        f"offsets of 1 partition. '{name}-2' will be RUNNING. '{name}' is stopped meanwhile, then deleted with its "
        "offsets. This can't be undone."
    )
    assert sentence in dry.output
    assert sandbox.connect.connectors().count(f"{name}-2") == 0

    ran = run_dag("connector_offsets_copy", approval=False, **given)

    assert (ran.state, ran.tasks["copy"]) == ("success", "success")
    assert f"'{name}' was renamed to '{name}-2', which has offsets of 1 partition." in ran.output
    assert [one for one in sandbox.connect.connectors() if one.startswith(name)] == [f"{name}-2"]
    assert sandbox.connect.config(f"{name}-2")["errors.tolerance"] == "all"
    assert sandbox.connect.stored_offsets(f"{name}-2") == [{"kafka_offset": RECORDS}]


def test_the_documented_dag(sandbox: Sandbox, run_dag: RunDag, name: str) -> None:
    """The docs show the tested DAG file unchanged.

    It splits a sink with two topics into two copies, each with the offset of its own topic.
    """
    shown = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert shown == [(DAGS / "split_orders.py").read_text()]
    topics = [f"{name}-eu", f"{name}-us"]
    for topic in topics:
        sandbox.target.create_topic(topic)
        sandbox.target.produce(topic, ["one", "two"])
    sandbox.connect.update_config(name, file_sink_config(",".join(topics), sandbox.data / f"{name}.txt"))
    wait_for(lambda: sandbox.connect.stored_offsets(name).count({"kafka_offset": 2}), 2, 60, "it commits nothing")

    ran = run_dag("split_orders", DAGS, connector=name)

    assert ran.state == "success", ran.output
    [entry] = sandbox.connect.offsets(f"{name}-us")
    assert entry == {"partition": {"kafka_topic": topics[1], "kafka_partition": 0}, "offset": {"kafka_offset": 2}}
    states = [sandbox.connect.wait_state(f"{name}-{part}", "RUNNING", tasks=1) for part in ("eu", "us")]
    assert len(states) == 2


@pytest.mark.parametrize(
    ("config", "is_refused"),
    [
        ('{"sasl.password": "hunter2"}', True),
        ('{"a": 1,\n "db.secret" : 7}', True),
        ('{"database.password": "${file:/secrets:db}", "token": null, "topics": "orders"}', False),
        (None, False),
    ],
)
def test_a_secret_in_plain_is_no_param(config: str | None, *, is_refused: bool) -> None:
    """Airflow would store and show it; the run is refused before it does."""
    config_param = connector_offsets_copy().params.get_param("config")
    with pytest.raises(ParamValidationError) if is_refused else nullcontext():
        config_param.resolve(config)


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("{", "config is not valid JSON: Expecting property name.* It is not shown here"),
        ("[1]", "config is not a JSON object of plain values"),
        ({"topics": ["a"]}, "is not a JSON object of plain values"),
    ],
)
def test_settings_that_are_none_fail_in_one_sentence(config: Any, said: str) -> None:
    """The task fails before it sends any request to Connect."""
    with pytest.raises(AirflowFailException, match=said):
        run(CopyConnectorOperator(task_id="copy", connector="a", new_name="b", config=config))


@pytest.mark.usefixtures("connections")
def test_operators_that_create_at_the_log_end_and_rename(sandbox: Sandbox, name: str) -> None:
    """A mapping of settings may have numbers, flags and null."""
    created, renamed = f"{name}-end", f"{name}-renamed"
    config = file_sink_config(name, sandbox.data / f"{name}-end.txt")

    count = run(
        CreateConnectorOperator(
            task_id="create", connector=created, config=config, start_at="latest", kafka_conn_id="kafka_default"
        )
    )
    settings = {"tasks.max": 2, "errors.log.enable": True, "transforms": None}
    said = run(Rename(task_id="rename", connector=created, new_name=renamed, config=settings))

    assert count == 1
    assert said == f"'{created}' was renamed to '{renamed}', which has offsets of 1 partition."
    found = sandbox.connect.config(renamed)
    assert (found["tasks.max"], found["errors.log.enable"], "transforms" in found) == ("2", "true", False)
    assert sandbox.connect.stored_offsets(renamed) == [{"kafka_offset": RECORDS}]


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize("given", [{"start_at": "now"}, {"start_at": "latest", "offsets": [{"partition": {}}]}])
def test_a_start_that_is_none(given: dict[str, Any]) -> None:
    """An invalid start is refused in one sentence."""
    with pytest.raises(AirflowFailException, match="must be earliest or latest, and offsets must not be given"):
        run(CreateConnectorOperator(task_id="create", connector="new", config={"connector.class": "x"}, **given))


def test_a_query_by_the_form(run_dag: RunDag, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The DAG of a change hands query and columns on, where queries are allowed at all."""
    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__QUERIES", "spark_catalog")
    query = f"SELECT '{name}' AS t, 0 AS p, 11 AS landed"

    ran = run_dag(connector=name, to="query", value=query, columns="topic=t,partition=p,last=landed")

    assert ran.state == "success", ran.output
    assert ran.outcome is not None
    assert ran.outcome.result == "applied"
    assert [(one.before_position, one.after_position) for one in ran.outcome.offsets] == [(RECORDS, 12)]
