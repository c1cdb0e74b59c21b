"""One change of many connectors: how many are down at once, and what happens when one fails."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_provider_connect_offsets.assets import connector_asset
from airflow_provider_connect_offsets.exceptions import JournalDamaged, LeftStopped, Unforeseen
from airflow_provider_connect_offsets.hooks.failures import PERMANENT
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operators.fleet import ApproveFleetOperator, RestoreFleetOperator
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import FleetUndo, Outcome, Result
from sandbox import Sandbox, wait_for
from sandbox.connectors import file_source_config
from tests.support.airflow.asset_events import asset_events
from tests.support.airflow.dag_runs import Ran
from tests.support.rows.written import rewound_fleet
from tests.support.workers.gate import Fate, Gate, Point, Side, open_gate

RunDag = Callable[..., Ran]
LINES = ["one", "two", "three"]
MAX_DOWN = 5


@dataclass(frozen=True)
class Files:
    """FileStreamSources that have each read a file of three lines into one topic."""

    sandbox: Sandbox
    mark: str
    names: list[str]

    @classmethod
    def start(cls, sandbox: Sandbox, count: int) -> Files:
        """Create them, and wait until all is read and their offsets are stored."""
        mark = uuid4().hex[:8]
        flow = cls(sandbox, mark, [f"file-{mark}-{number:03d}" for number in range(count)])
        sandbox.target.create_topic(flow.topic)
        for name in flow.names:
            file = sandbox.data / f"{name}.txt"
            file.write_text("".join(f"{line}\n" for line in LINES))
            sandbox.connect.create(name, file_source_config(flow.topic, file))
        flow.wait_until_read()
        return flow

    @property
    def topic(self) -> str:
        return f"files-{self.mark}"

    @property
    def pattern(self) -> str:
        return f"file-{self.mark}-.*"

    def wait_until_read(self) -> None:
        """Wait until all run, and have stored where their files end."""
        end = sum(len(line) + 1 for line in LINES)
        for name in self.names:
            self.sandbox.connect.wait_state(name, "RUNNING", tasks=1)
            late, work = f"{name} has not read its file", {"delivered": self.delivered, **self.sandbox.connect.work}
            wait_for(partial(self.sandbox.connect.stored_offsets, name), [{"position": end}], 60, late, progress=work)

    def delivered(self) -> int:
        """How many lines the topic has."""
        return self.sandbox.target.log_bounds(self.topic)[0][1]

    def delete(self) -> None:
        """Remove them."""
        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(self.sandbox.connect.delete, self.names))


@dataclass
class Watch:
    """Counts again and again how many connectors are STOPPED."""

    sandbox: Sandbox
    most: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count, until the end of the block."""
        with ThreadPoolExecutor(max_workers=1) as pool:
            counted = pool.submit(self._count)
            try:
                yield
            finally:
                self._over.set()
            counted.result()

    def _count(self) -> None:
        while not self._over.wait(0.02):
            listed: Mapping[str, Any] = self.sandbox.connect.call("GET", "/connectors?expand=status")
            states = [one["status"]["connector"]["state"] for one in listed.values()]
            self.most = max(self.most, states.count("STOPPED"))


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(7, marks=pytest.mark.jobs),
        pytest.param(200, marks=[pytest.mark.faults, pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
)
def test_one_fails_and_the_others_are_changed(
    sandbox: Sandbox, run_dag: RunDag, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """All but one are applied, that one is restored, the run fails, all run, and never more than five were down."""
    flow = Files.start(sandbox, count)
    victim, watch, delivered = flow.names[count // 2], Watch(sandbox), flow.delivered()
    gate = Gate(sandbox.connect.url, Point("PATCH", f"/{victim}/offsets", Side.BEFORE), lambda: Fate.IS_LOST)
    with open_gate(gate) as url, watch.watching():
        host, _, port = url.removeprefix("http://").partition(":")
        gated = {"conn_type": "kafka_connect", "schema": "http", "host": host, "port": int(port)}
        monkeypatch.setenv("AIRFLOW_CONN_GATED", json.dumps(gated))

        ran = run_dag(
            "connector_offsets_fleet",
            connectors=flow.pattern,
            to="clear",
            kafka_conn_id="",
            connect_conn_id="gated",
            max_down=MAX_DOWN,
        )

    assert (ran.state, ran.tasks["apply"], ran.tasks["restore"]) == ("failed", "failed", "success")
    ended = {name: Outcome.read(run.outcome) for name, run in FleetDirectory(ran.directory.uri).members().items()}
    results = {name: outcome.result if outcome else None for name, outcome in ended.items()}
    assert results == {name: Result.RESTORED if name == victim else Result.APPLIED for name in flow.names}
    flow.wait_until_read()
    assert flow.delivered() - delivered == (count - 1) * len(LINES)
    assert 2 <= watch.most <= MAX_DOWN
    assert (
        f"1 of {count} connectors were not changed. Failed: {victim}. The other {count - 1} are as planned."
        in ran.output
    )
    html = Path(FleetDirectory(ran.directory.uri).report.removeprefix("file://")).read_text()
    assert html.index(victim) < html.index(flow.names[0])  # worst first
    assert f"{count - 1} connectors: Applied" in html
    undo = FleetUndo.read(FleetDirectory(ran.directory.uri).undo)
    assert undo is not None
    assert undo.applied == count - 1
    assert "airflow dags trigger connector_offsets_fleet --conf" in undo.command
    assert victim not in undo.command
    events = asset_events(ran.run)  # by the teardown: Airflow drops the events of a task that fails
    cluster = str(sandbox.target.cluster_id())
    assert events.keys() == {connector_asset(cluster, name).uri for name in flow.names if name != victim}
    flow.delete()


def test_what_can_not_be_meant_is_refused(sandbox: Sandbox, run_dag: RunDag) -> None:
    """A pattern that matches nothing fails the first task, in one sentence."""
    del sandbox

    ran = run_dag("connector_offsets_fleet", connectors="no-such-.*", to="clear")

    assert (ran.state, ran.tasks["snapshot"], ran.tasks["plan"]) == ("failed", "failed", "upstream_failed")
    assert "connectors: 'no-such-.*' matches no" in ran.output


def test_one_question_for_all(tmp_path: Path) -> None:
    """The question names how many connectors; a dry run has no question, and its report says that nothing was done."""
    fleet = FleetDirectory(tmp_path.as_uri())
    rewound_fleet(tmp_path, ["orders-mirror", "payments-mirror"])
    summary = {"run_uri": fleet.uri, "report": fleet.report, "connectors": 2}
    approve = ApproveFleetOperator(task_id="approve", summary=summary, plan_only="true", defaults="Reject")

    subject, body = approve.question()
    with pytest.raises(AirflowSkipException, match="Dry run: nothing is stopped or changed"):
        type(approve).execute.__wrapped__(approve, {})  # type: ignore[attr-defined]

    assert subject == "Change the offsets of 2 connectors?"
    assert all(f"| {name} | 1 | 380 | 0 | 1 |" in body for name in ("orders-mirror", "payments-mirror"))
    assert "2 connectors: Dry run: nothing was changed" in Path(fleet.report.removeprefix("file://")).read_text()


@pytest.mark.usefixtures("connections")
def test_one_that_can_not_be_restored_does_not_keep_the_others_from_it(workspace: str) -> None:
    """All are checked; what another attempt can't mend is reported with what it can."""
    damaged, stopped = JournalDamaged("The journal of 'damaged' is damaged."), LeftStopped("'stopped' stays STOPPED.")

    with pytest.raises(LeftStopped, match=r"'damaged' is damaged\. 'stopped' stays STOPPED\."):
        _restore_all(workspace, {"damaged": damaged, "good": None, "stopped": stopped})


@pytest.mark.usefixtures("connections")
def test_an_error_that_nobody_foresaw_does_not_keep_the_others_from_being_restored(workspace: str) -> None:
    """It is retried, and named with its connector, as its own text rarely names one."""
    damaged = JournalDamaged("The journal of 'damaged' is damaged.")

    with pytest.raises(Unforeseen, match=r"'damaged' is damaged\. .*'lost' failed: KeyError: 'no bucket'\.") as raised:
        _restore_all(workspace, {"damaged": damaged, "good": None, "lost": KeyError("no bucket"), "other": None})
    assert not isinstance(raised.value, PERMANENT)


def _restore_all(workspace: str, endings: Mapping[str, Exception | None]) -> None:
    """Restore a fleet whose members end like that; all of them must have been tried."""
    fleet = FleetDirectory(f"{workspace}/dag/run")
    fleet.publish(endings)
    tried = []

    class Restore(RestoreFleetOperator):
        def restore(self, run: RunDirectory, clients: Clients, context: Any) -> str | None:
            del clients, context
            tried.append(run.uri.rpartition("/")[2])
            error = endings[tried[-1]]
            if error is not None:
                raise error
            return None

    restore = Restore(task_id="restore", run_uri=fleet.uri)
    try:
        type(restore).execute.__wrapped__(restore, {})  # type: ignore[attr-defined]
    finally:
        assert tried == list(endings)
