"""A change of offsets in their store: the file afterwards, and what a person must do."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from airflow_provider_connect_offsets.connect.protocols import ConnectorStatus, State, WriteReply
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.connect.storage.offsets_file import write_mappings
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.connect.storage.storage_control import StorageControl
from airflow_provider_connect_offsets.exceptions import Drift, LeftStopped, Overlap, Unreachable
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow
from airflow_provider_connect_offsets.offsets.requests.flow_reset import FlowReset
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operations.connector import direct, stepwise, stopped
from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
from airflow_provider_connect_offsets.operations.flow.flow_reset import (
    ResetPlan,
    clear_syncs,
    reset_flow,
)
from airflow_provider_connect_offsets.operations.registry import journal_of, settle_of
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import RESET_TOPICS
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from airflow_provider_connect_offsets.workspace.outcome import Result
from tests.support.programs.import_process import killed
from tests.support.rows.made_up_cluster import AllSeen

PARTITION = '{"filename":"a"}'
RESET = FlowReset(source_connector="lines", checkpoint_connector=None, checkpoints=False, flow=Flow())


class Lying(StandaloneFile):
    """Always writes the same position, whatever is requested."""

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        wrong = Offsets.of(Entry(change.partition, '{"position":1}') for change in changes)
        return super().write_offsets(connector, wrong)


class Elsewhere(StandaloneFile):
    """Answers as Connect does for a connector that may keep its position elsewhere as well."""

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        super().write_offsets(connector, changes)
        return WriteReply("Alter them manually in its system, too.", externally_managed=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a worker that is down."""
    write_mappings(tmp_path / "connect.offsets", {b'["lines",{"filename":"a"}]': b'{"position":8}'})
    return tmp_path / "connect.offsets"


def set_back(store: StandaloneFile, *, before: int, was_running: bool) -> OffsetPlan:
    """A plan that was made when ``before`` was stored."""
    row = PlanRow(
        "lines",
        "file_stream_source",
        PARTITION,
        topic=None,
        kafka_partition=None,
        before=f'{{"position":{before}}}',
        before_position=None,
        after='{"position":4}',
        after_position=None,
        action=Action.SET,
        reason="",
    )
    request = Request.parse(connector="lines", to="file", value=store.path.as_uri(), now=datetime.now(tz=UTC))
    return OffsetPlan.of(request, [row], was_running=was_running)


OWNER = Owner.here(run="test/run", task="apply")


def clients_of(store: StandaloneFile) -> Clients:
    """Without a worker at its address."""
    control = StorageControl(
        store,
        lambda urls, timeout: ConnectRest(ConnectEndpoint(urls), timeout=timeout),
        rest_urls=("http://127.0.0.1:1",),
    )
    workspace = store.path.parent.as_uri()
    return Clients(store, control, timeout=1.0, origin=Origin.FILE, cluster=store.cluster(), workspace=workspace)


def lines_of(store: StandaloneFile) -> Journal:
    return journal_of(clients_of(store), "lines")


def apply(plan: OffsetPlan, store: StandaloneFile) -> Result:
    """Apply it."""
    return apply_plan(plan, clients_of(store), OWNER).result


def test_it_is_written_and_proved(path: Path) -> None:
    """What a worker stores between the plan and its end is no drift; a change by someone else while it is down is."""
    store = StandaloneFile(path)

    with pytest.raises(Drift, match="was changed by someone else"):
        apply(set_back(store, before=6, was_running=False), store)

    assert store.read_offsets("lines").by_partition() == {PARTITION: '{"position":8}'}
    assert apply(set_back(store, before=6, was_running=True), store) is Result.APPLIED
    assert store.read_offsets("lines").by_partition() == {PARTITION: '{"position":4}'}


def test_the_error_names_what_works_without_rest(path: Path) -> None:
    """If neither the planned nor the prior offsets can be verified, the kept offsets are a file for the DAG."""
    plan = set_back(StandaloneFile(path), before=8, was_running=False)

    with pytest.raises(LeftStopped, match=r"control=storage, to=file and value=file://\S+\.$") as raised:
        apply(plan, Lying(path))

    kept = Path(str(raised.value).rsplit("value=file://", maxsplit=1)[1].removesuffix("."))
    assert json.loads(kept.read_text()) == {"offsets": [{"partition": {"filename": "a"}, "offset": {"position": 8}}]}


def test_what_connect_warns_of_is_logged(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Of a change, and of offsets without a plan, which have no outcome to show it."""
    store = Elsewhere(path)

    apply(set_back(store, before=8, was_running=False), store)
    direct.alter("lines", clients_of(store), OWNER, Offsets.of([Entry(PARTITION, '{"position":5}')]))

    assert caplog.messages.count("Alter them manually in its system, too.") == 2


@pytest.fixture
def after_a_killed_import(path: Path, monkeypatch: pytest.MonkeyPatch) -> StandaloneFile:
    """The file as an import left it that was killed, with Airflow's workspace, before it had read back."""
    monkeypatch.chdir(path.parent)
    Path("worker.properties").write_text(f"offset.storage.file.filename={path}\n")
    entry = {"partition": {"filename": "a"}, "offset": {"position": 100}}
    Path("requested.json").write_text(json.dumps({"lines": [entry], "others": [entry]}))
    options = ("--file", "requested.json", "--workspace", path.parent.as_uri())
    killed("after", "import", "--config", "worker.properties", *options)
    store = StandaloneFile(path)
    assert store.read_offsets("others").by_partition() == {PARTITION: '{"position":100}'}
    return store


def kept_from_the_import(store: StandaloneFile) -> OffsetPlan:
    """A plan that leaves the offset alone that the killed import has written."""
    row = replace(set_back(store, before=100, was_running=False).rows[0], after='{"position":100}', action=Action.KEEP)
    request = Request.parse(connector="lines", to="file", value=store.path.as_uri(), now=datetime.now(tz=UTC))
    return OffsetPlan.of(request, [row], was_running=False)


class Silent(AllSeen):
    """A Kafka cluster that does not answer."""

    def cluster_id(self) -> str:
        return "silent"

    def topics(self) -> dict[str, int]:
        raise Unreachable("no answer")


def both_of(store: StandaloneFile) -> Clients:
    """With both clusters of a flow."""
    silent = cast("Any", Silent())
    return replace(clients_of(store), clusters=Clusters(silent, silent))


def test_a_change_undoes_what_a_killed_import_has_left(after_a_killed_import: StandaloneFile) -> None:
    """It undoes the import for all connectors; then it does its own work, and reports both."""
    store = after_a_killed_import
    plan = set_back(store, before=8, was_running=False)

    outcome = apply_plan(plan, clients_of(store), OWNER)

    assert outcome.result is Result.APPLIED
    assert "was undone, and read back." in outcome.warnings[0]
    assert {name: offsets.by_partition() for name, offsets in store.read_all()} == {
        "lines": {PARTITION: '{"position":4}'}
    }


def test_a_plan_that_rests_on_what_a_killed_import_has_left_is_refused(after_a_killed_import: StandaloneFile) -> None:
    """It kept the offset of a partition, which is no longer stored."""
    store = after_a_killed_import

    with pytest.raises(Drift, match=r"Its plan was made from offsets that a dead run had left.* was undone, .*new run"):
        apply_plan(kept_from_the_import(store), clients_of(store), OWNER)

    assert {name: offsets.by_partition() for name, offsets in store.read_all()} == {
        "lines": {PARTITION: '{"position":8}'}
    }


def test_so_is_a_reset_of_a_flow(after_a_killed_import: StandaloneFile) -> None:
    """Its plan kept an offset of the import, which is undone before the reset stops or empties anything."""
    store = after_a_killed_import
    plan = kept_from_the_import(store)
    run = ResetDirectory((store.path.parent / "reset").as_uri())
    write_dataset(run.reset_topics, RESET_TOPICS, [])

    with pytest.raises(Drift, match=r"Its plan was made from offsets that a dead run had left.* was undone, .*new run"):
        reset_flow(ResetPlan(plan, RESET), both_of(store), OWNER, run)

    assert {name: offsets.by_partition() for name, offsets in store.read_all()} == {
        "lines": {PARTITION: '{"position":8}'}
    }


@pytest.mark.parametrize("imported", ["source", "checkpoint"])
def test_so_does_the_emptying_of_a_flows_topics(after_a_killed_import: StandaloneFile, imported: str) -> None:
    """It does not matter which connector of the flow the import wrote; reading the topics, which comes later, fails."""
    store = after_a_killed_import
    checkpoint = replace(RESET, source_connector="other", checkpoint_connector="lines")
    run = ResetDirectory((store.path.parent / "reset").as_uri())

    with pytest.raises(Unreachable, match="no answer"):
        clear_syncs(RESET if imported == "source" else checkpoint, both_of(store), OWNER, run, foreign=True)

    assert {name: offsets.by_partition() for name, offsets in store.read_all()} == {
        "lines": {PARTITION: '{"position":8}'}
    }


def test_so_does_a_run_that_keeps_connectors_stopped(after_a_killed_import: StandaloneFile) -> None:
    """A failover, which reads their offsets."""
    store = after_a_killed_import

    stopped.stop_for_run([(clients_of(store), "lines")], OWNER, seconds=60)

    assert {name: offsets.by_partition() for name, offsets in store.read_all()} == {
        "lines": {PARTITION: '{"position":8}'}
    }


class Silenced(StorageControl):
    """Its workers do not answer any more."""

    def status(self, connector: str) -> ConnectorStatus:
        raise Unreachable(f"no answer about {connector}")


def test_single_steps_that_do_not_begin_leave_no_lease(path: Path) -> None:
    """Otherwise no other run could change the connector for as long as the steps may take."""
    store = StandaloneFile(path)
    silenced = replace(clients_of(store), control=Silenced(store, lambda _urls, _timeout: nullcontext(cast("Any", 0))))
    plan = set_back(store, before=8, was_running=False)

    with pytest.raises(Unreachable, match="no answer about lines"):
        stepwise.begin(plan, silenced, OWNER, seconds=3600)

    lines_of(store).refuse_overlap("another/run")


def test_a_run_that_was_taken_over_does_not_begin_anew(path: Path) -> None:
    """Otherwise its later tasks would stop, resume or write as if nothing of it had been undone."""
    store = StandaloneFile(path)
    clients, plan = clients_of(store), set_back(store, before=8, was_running=False)
    stepwise.begin(plan, clients, OWNER, seconds=3600)
    stepwise.alter(plan, clients, OWNER, seconds=3600)
    lines_of(store).end_for(OWNER.run)  # as if it had run out
    settle_of(clients, "lines", Owner.here(run="another/run", task="apply"))

    for begin_anew in (
        lambda: stepwise.set_state("lines", State.STOPPED, clients, OWNER, seconds=3600),
        lambda: direct.reset("lines", clients, OWNER),
    ):
        with pytest.raises(Overlap, match="no longer has the lease of 'lines', which belongs to run 'another/run'"):
            begin_anew()

    assert {name: offsets.by_partition() for name, offsets in store.read_all()} == {
        "lines": {PARTITION: '{"position":8}'}
    }
    direct.reset("lines", clients, Owner.here(run="a third/run", task="apply"))
    assert dict(store.read_all()) == {}


def test_so_do_offsets_without_a_plan(after_a_killed_import: StandaloneFile) -> None:
    """An operator of single steps settles the killed import, too."""
    store = after_a_killed_import

    direct.alter("lines", clients_of(store), OWNER, Offsets.of([Entry(PARTITION, '{"position":5}')]))

    assert {name: offsets.by_partition() for name, offsets in store.read_all()} == {
        "lines": {PARTITION: '{"position":5}'}
    }
    assert lines_of(store).read_left() is None


def test_a_change_of_what_no_import_has_touched_leaves_it(after_a_killed_import: StandaloneFile) -> None:
    """It does not wait for other connectors."""
    store = after_a_killed_import
    journal = lines_of(store).journal_of_sibling("else")
    store.write_all({"else": Offsets.of([Entry(PARTITION, '{"position":1}')])})

    direct.alter(journal.resource, clients_of(store), OWNER, Offsets.of([Entry(PARTITION, '{"position":5}')]))

    stored = {name: offsets.by_partition()[PARTITION] for name, offsets in store.read_all()}
    assert stored == {"else": '{"position":5}', "lines": '{"position":100}', "others": '{"position":100}'}
