"""The ways of the backfill: a replay, and a rewind of all connectors that match; and a window that is closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException

from airflow_provider_connect_offsets.sensors import backfill
from airflow_provider_connect_offsets.sensors.backfill import BackfillTurnSensor
from airflow_provider_connect_offsets.workspace.replay import ReplayOutcome, ReplayResult
from sandbox import Sandbox, wait_until
from tests.support.airflow.dag_runs import Ran
from tests.support.airflow.scheduled import DAG_ID
from tests.support.flows.flows import Changer
from tests.support.flows.replays import A_DAY, DAYS, TODAY, Replayed, name_of

RunDag = Callable[..., Ran]
YESTERDAY = name_of(DAYS - 1)


@pytest.fixture
def sink(sandbox: Sandbox, workspace: str) -> Iterator[Replayed]:
    """A sink whose days are delivered again."""
    spark: Any = None  # the DAG plans
    one = Replayed.sink(sandbox, Changer(spark, workspace, sandbox.connect.url, sandbox.target))
    yield one
    sandbox.connect.delete(one.name)


@pytest.mark.jobs
def test_an_interval_is_replayed_and_then_rewound_with_all_that_match(sink: Replayed, run_dag: RunDag) -> None:
    """Only the tasks of the requested mode run; each mode delivers yesterday's records once more."""
    replayed = run_dag(DAG_ID, connector=sink.name, mode="replay", kafka_conn_id="kafka_target")

    outcome = ReplayOutcome.read(replayed.directory.outcome)
    assert (replayed.state, replayed.tasks["replay.deliver"]) == ("success", "success")
    assert (replayed.tasks["apply"], replayed.tasks["fleet.apply"]) == ("skipped", "skipped")
    assert outcome
    assert (outcome.result, outcome.delivered_count, outcome.beyond_count) == (ReplayResult.DELIVERED, A_DAY, 0)
    assert sink.delivered()[YESTERDAY] == 2 * A_DAY
    assert sink.left() == []

    rewound = run_dag(DAG_ID, connectors=f"{sink.name}|no-such", kafka_conn_id="kafka_target")

    assert (rewound.state, rewound.tasks["fleet.apply"]) == ("success", "success")
    assert (rewound.tasks["apply"], rewound.tasks["replay.deliver"]) == ("skipped", "skipped")
    wait_until(lambda: sink.delivered()[YESTERDAY] == 3 * A_DAY, 60, "it was not rewound")
    assert sum(sink.delivered().values()) == (DAYS + 1 + 2) * A_DAY


def _poke(run_type: str = "manual", **given: Any) -> bool:
    """Ask for a turn, in a run of yesterday."""
    sensor = BackfillTurnSensor(task_id="turn", **given)
    instance = SimpleNamespace(dag_id=DAG_ID, run_id="run", map_index=-1)
    dag_run = SimpleNamespace(
        run_id="run",
        run_type=run_type,
        data_interval_start=TODAY - timedelta(days=1),
        data_interval_end=TODAY,
        start_date=None,
        clear_number=0,
    )
    context: Any = {"ti": instance, "dag_run": dag_run}
    return sensor.poke(context)


def test_outside_of_its_window_a_run_is_called_again_when_it_opens(workspace: str) -> None:
    """Nothing is done until then."""
    del workspace
    opens, closes = (datetime.now(tz=UTC) + timedelta(hours=hours) for hours in (2, 3))

    with pytest.raises(backfill.AirflowRescheduleException) as raised:  # type: ignore[attr-defined]
        _poke(connector="orders", window=f"{opens:%H:%M}-{closes:%H:%M}")

    assert raised.value.reschedule_date == opens.replace(second=0, microsecond=0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"connector": "a", "connectors": ".*"}, "both connector='a' and connectors='.*' are given"),
        ({"connectors": ".*", "kind": "replay"}, "mode=replay delivers the interval of one connector"),
        ({"connector": "a", "partitions": "0", "kind": "replay"}, "mode=replay delivers all partitions of a topic"),
        ({"connector": "a", "kind": "again"}, "mode must be rewind or replay, not 'again'"),
        ({"connector": "a", "window": "at night"}, "window: 'at night' is not a time window"),
    ],
)
def test_what_is_unclear_is_refused_before_anything_is_touched(
    workspace: str, given: dict[str, str], said: str
) -> None:
    """The error says in one sentence what is unclear."""
    del workspace

    with pytest.raises(AirflowFailException, match=said):
        _poke(**given)


def test_a_scheduled_run_without_a_connector_is_skipped(workspace: str) -> None:
    """A ready DAG that is turned on before anyone has set it up shows a newcomer no red run."""
    del workspace

    with pytest.raises(AirflowSkipException, match="Nothing was done: no connector is given"):
        _poke(run_type="scheduled")
