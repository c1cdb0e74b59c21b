"""Orphaned offsets on a real Connect cluster: found and removed, and nothing else is changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_connect_offsets.cli.main import main
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.exceptions import NotRemoved, Unreachable
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import parse_kip199
from airflow_provider_connect_offsets.offsets.storage import key_bytes
from airflow_provider_connect_offsets.operations.orphans import remove_orphans
from airflow_provider_connect_offsets.operations.stages.orphans.orphaned_offsets import Removal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory
from sandbox import Sandbox, wait_for
from tests.support.airflow.dag_runs import Ran
from tests.support.airflow.orphan_runs import directory_of, execute, local, partition_of, read, removal, tasks
from tests.support.faults.orphan_cell import LINES, Cell
from tests.support.rows.unfolded import unfolded

RunDag = Callable[..., Ran]
ODD = 'größe "a" b'


@pytest.fixture(scope="module")
def cell(sandbox: Sandbox) -> Iterator[Cell]:
    name = f"orphans-{uuid4().hex[:6]}"
    sandbox.target.create_topic(f"{name}-lines")
    worker = sandbox.another_cluster(name)
    found = Cell(sandbox, worker, name)
    found.create("kept")
    yield found
    worker.process.close()


@pytest.fixture
def run(cell: Cell, run_dag: RunDag, monkeypatch: pytest.MonkeyPatch) -> RunDag:
    """Run the DAG on the cell."""
    host, _, port = cell.worker.url.removeprefix("http://").partition(":")
    connection = {"conn_type": "kafka_connect", "schema": "http", "host": host, "port": int(port)}
    monkeypatch.setenv("AIRFLOW_CONN_CELL", json.dumps(connection))

    def run(**params: Any) -> Ran:
        return run_dag("connector_offsets_orphans", connect_conn_id="cell", offsets_topic=cell.topic, **params)

    return run


def _owner() -> Owner:
    return Owner.here(run=f"test/{uuid4().hex}", task="remove")


@pytest.mark.processes
def test_a_report_touches_nothing_and_a_removal_only_what_is_gone(cell: Cell, run: RunDag, run_dag: RunDag) -> None:
    """The offsets of connectors that exist stay; a connector that is created again starts from the beginning.

    And it can be put where the old one stood.
    """
    cell.gone("gone", ODD)
    ends, kept, stored = cell.ends(), cell.worker.offsets("kept"), cell.live_offsets()
    assert set(stored) == {"kept", "gone", ODD}

    reported = run()

    assert (reported.state, tasks(reported)) == (
        "success",
        {"snapshot": "success", "find": "success", "approve": "skipped", "remove": "skipped"},
    )
    assert cell.ends() == ends
    summary = read(directory_of(reported).summary)
    assert {one["connector"]: json.loads(one["offset"]) for one in summary["connectors"]} == {
        "gone": {"position": len(LINES)},
        ODD: {"position": len(LINES)},
    }
    assert "Found, not removed" in local(directory_of(reported).report).read_text()

    removed = run(remove=True)

    assert (removed.state, set(removed.tasks.values())) == ("success", {"success"})
    assert cell.live_offsets() == {"kept": stored["kept"]}
    assert cell.worker.offsets("kept") == kept
    assert sum(cell.ends().values()) == sum(ends.values()) + 2
    outcome = read(directory_of(removed).outcome)
    assert (outcome["removed"], outcome["partitions"], outcome["left"]) == (["gone", ODD], 2, {})
    uri = directory_of(removed).removed
    assert f"<code>value</code>: <code>{uri}</code>" in unfolded(local(directory_of(removed).report).read_text())
    kept_back = parse_kip199(read(uri))
    assert {name: [entry.offset for entry in offsets] for name, offsets in kept_back.items()} == {
        "gone": ['{"position":8}'],
        ODD: ['{"position":8}'],
    }
    delivered = cell.delivered()
    for name in ("gone", ODD):
        cell.create(name)
    assert cell.delivered() - delivered == 2 * LINES.count("\n")

    with cell.file(ODD).open("a") as file:
        file.write("three\n")
    wait_for(lambda: cell.position(ODD), len(LINES) + 6, 60, "the third line was not read", progress=cell.work)
    way_back = {"to": "file", "value": uri}
    back = run_dag("connector_offsets_change", connector=ODD, connect_conn_id="cell", kafka_conn_id="", **way_back)

    assert back.state == "success"
    lines = delivered + 2 * LINES.count("\n") + 2
    wait_for(cell.delivered, lines, 60, "the line is not read again", progress=cell.work)
    for name in ("gone", ODD):
        cell.worker.delete(name)


@pytest.mark.processes
def test_what_has_changed_since_is_left_alone(cell: Cell, run: RunDag) -> None:
    """The others are removed, and the task fails and names those that were not, and why.

    A connector that exists again, one with a later offset, one with an offset under another key, one whose value is no
    offset. A key in two partitions is removed from both, as a worker might find the one that is left.
    """
    cell.gone("back", "written", "more")
    put = cell.sandbox.target.produce
    astray = key_bytes("astray", {"filename": "a"})
    for number, value in enumerate([b'{"position":1}', b'{"position":2}']):
        put(cell.topic, [value], keys=[astray], partition=number)
    put(cell.topic, [b"no json"], keys=[key_bytes("damaged", {"filename": "a"})])
    directory = directory_of(run(connectors="back|written|more|astray|damaged"))
    summary = read(directory.summary)
    assert (summary["orphaned"], summary["in_two_partitions"]) == (5, 1)
    cell.create("back")
    put(cell.topic, [b'{"position":1}'], keys=[key_bytes("written", partition_of("written", directory))])
    put(cell.topic, [b'{"position":1}'], keys=[key_bytes("more", {"filename": "another"})])
    before, ends = cell.live_offsets(), cell.ends()

    with pytest.raises(AirflowFailException, match=r"Nothing was removed\. .* not the approved ones"):
        execute(removal(directory, "of another"))
    assert cell.ends() == ends
    with pytest.raises(AirflowFailException) as failed:
        execute(removal(directory, summary["digest"]))

    message = str(failed.value)
    assert f"Topic '{cell.topic}': orphaned offsets of 1 of 5 connectors were removed." in message
    assert "'back': it exists again." in message
    assert "'damaged': one of its offsets can't be read, so the removal could not be undone." in message
    assert "'more', 'written': one of its offsets was written after the search." in message
    assert "Removed: 'astray'. To undo the removal, import" in message
    assert cell.live_offsets() == {name: value for name, value in before.items() if name != "astray"}
    records = cell.sandbox.target.consume(cell.topic)
    assert [(one.partition, one.value) for one in records if one.key == astray and one.value is None] == [
        (0, None),
        (1, None),
    ]
    html = local(directory.report).read_text()
    assert html.index("it exists again") < html.index(">removed<")
    ends = cell.ends()

    with pytest.raises(AirflowFailException):  # again: nothing more is written, and the file to import still has it
        execute(removal(directory, summary["digest"]))

    assert cell.ends() == ends
    assert set(read(directory.removed)) == {"astray"}
    cell.worker.delete("back")


@pytest.mark.processes
def test_what_is_written_in_the_midst_is_named(cell: Cell, run: RunDag, workspace: str) -> None:
    """The topic is read again after the tombstones: an offset that is still stored then is no success."""
    cell.gone("busy", "returned")
    directory = directory_of(run(connectors="busy|returned"))
    partition = partition_of("busy", directory)

    class Disturbed(OffsetsTopic):
        def remove_keys(self, places: Any, *, whose: str) -> None:
            super().remove_keys(places, whose=whose)
            cell.sandbox.target.produce(cell.topic, [b'{"position":5}'], keys=[key_bytes("busy", partition)])
            cell.create("returned")

    with (
        cell.connect() as connect,
        Disturbed(cell.sandbox.target.client_settings(), cell.topic) as topic,
        pytest.raises(NotRemoved) as failed,
    ):
        removed_by(workspace, directory, connect, topic)
    assert "'busy': the topic still has one of its offsets after the tombstones." in str(failed.value)
    returned = "'returned': it was created again while its offsets were removed, so check where it resumed."
    assert returned in str(failed.value)
    assert set(read(directory.removed)) == {"busy", "returned"}
    cell.worker.delete("returned")


@pytest.mark.processes
@pytest.mark.parametrize("ending", [SystemExit(143), Unreachable("Kafka is gone.")])
def test_a_removal_that_ends_in_the_midst_is_finished_by_the_next(
    cell: Cell, run: RunDag, workspace: str, ending: BaseException
) -> None:
    """Any later run finishes it: what was approved is removed, and the file to import has all of it."""
    cell.gone("first", "second", "later")
    dead, other = (directory_of(run(connectors=names)) for names in ("first|second", "later"))

    with cell.connect() as connect, OffsetsTopic(cell.sandbox.target.client_settings(), cell.topic) as topic:
        leave(cell, dead, workspace, ending)
        removal = removed_by(workspace, other, connect, topic)

    assert removal.removed == ("later",)
    assert not {"first", "second", "later"} & set(cell.live_offsets())
    assert_is_finished(dead)


@pytest.mark.processes
def test_a_person_finishes_a_removal_that_has_ended_in_the_midst(
    cell: Cell, run: RunDag, workspace: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """No other removal is needed: ``recover --list`` names it, and ``recover`` finishes it."""
    cell.gone("first", "second", "later")
    dead = directory_of(run(connectors="first|second"))
    leave(cell, dead, workspace, SystemExit(143))
    shell, target = ["recover", "--workspace", workspace], cell.sandbox.target.bootstrap
    finish = [*shell, "--offsets-topic", cell.topic, "--kafka", target, "--url", cell.worker.url]

    for arguments in ([*shell, "--list"], finish, finish):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert not ended.value.code

    message = capfd.readouterr()
    assert f"offsets topic {cell.topic}: the removal of the orphaned offsets in {dead.uri}" in message.out
    assert "; by the connections kafka_conn_id=eu\n" in message.out
    assert "It has been finished now." in message.err
    assert f"There is nothing to recover for a removal from {cell.topic}" in message.err
    assert "later" in cell.live_offsets()
    assert not {"first", "second"} & set(cell.live_offsets())
    assert_is_finished(dead)


def removed_by(workspace: str, directory: OrphansDirectory, connect: ConnectRest, topic: OffsetsTopic) -> Removal:
    """Remove what was found."""
    clients = Clients(connect, connect, topic=topic, connections={"kafka_conn_id": "eu"}, workspace=workspace)
    return remove_orphans(directory, clients, _owner(), digest=digest_of(directory))


def digest_of(directory: OrphansDirectory) -> str:
    """The digest of the orphans found, which their removal must be given."""
    return str(read(directory.summary)["digest"])


def leave(cell: Cell, directory: OrphansDirectory, workspace: str, ending: BaseException) -> None:
    """Begin a removal that ends after its first tombstone."""

    class Ending(OffsetsTopic):
        def remove_keys(self, places: Any, *, whose: str) -> None:
            super().remove_keys(dict(list(places.items())[:1]), whose=whose)
            raise ending

    with (
        cell.connect() as connect,
        Ending(cell.sandbox.target.client_settings(), cell.topic) as broken,
        pytest.raises(type(ending)),
    ):
        removed_by(workspace, directory, connect, broken)


def assert_is_finished(directory: OrphansDirectory) -> None:
    """What was removed can be imported, and its run says what that was."""
    assert set(read(directory.removed)) == {"first", "second"}
    assert read(directory.outcome)["removed"] == ["first", "second"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kafka_conn_id": "kafka_source"}, "where all offsets would look orphaned"),
        ({"offsets_topic": "no-such-topic"}, "There is no topic 'no-such-topic' in the cluster of"),
        ({"older_than": "a month"}, "older_than: 'a month' is not an ISO 8601 duration"),
    ],
)
def test_what_can_not_be_meant_is_refused(
    cell: Cell, run_dag: RunDag, run: RunDag, params: dict[str, str], message: str
) -> None:
    """The first task fails, in one sentence, and nothing is read."""
    del run
    ran = run_dag(
        "connector_offsets_orphans",
        **{"connect_conn_id": "cell", "offsets_topic": cell.topic, "remove": True, **params},
    )

    assert (ran.state, tasks(ran)["snapshot"], tasks(ran)["remove"]) == ("failed", "failed", "upstream_failed")
    assert message in ran.output


def test_a_pattern_that_is_none_is_refused(run: RunDag) -> None:
    """The task that searches fails with one sentence."""
    ran = run(connectors="files-[", remove=True)

    assert (ran.state, tasks(ran)["find"], tasks(ran)["remove"]) == ("failed", "failed", "upstream_failed")
    assert "Nothing was removed. connectors: 'files-[' is not a valid regular expression" in ran.output
