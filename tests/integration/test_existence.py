"""Connectors created at offsets, and deleted with their offsets, on a real Connect."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import (
    Drift,
    Interfered,
    InvalidRequest,
    NotApplied,
    UnknownConnector,
)
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_kip199, parse_rest
from airflow_provider_connect_offsets.operations.existence import create_delete
from airflow_provider_connect_offsets.operations.existence.new_connector import NewConnector
from airflow_provider_connect_offsets.operations.registry import make_registry
from airflow_provider_connect_offsets.saga import settle
from sandbox import Sandbox, wait_for
from sandbox.connectors import mirror_checkpoint_config, mirror_source_config
from tests.support.faults.faulty_clients import Fault, Faults, Killed
from tests.support.flows.existence import RECORDS, NewSink, at, file_source, owner
from tests.support.flows.flows import Changer, text

pytestmark = pytest.mark.usefixtures("nothing_created_left")


def test_a_sink_begins_at_the_requested_record(sandbox: Sandbox, target_changer: Changer, tmp_path: Path) -> None:
    """It delivers all from there on and nothing before; deleted, it leaves no offset, but a file with all of them."""
    sink = NewSink.ready(sandbox, target_changer, position=15)

    assert sink.create() == 1

    wait_for(sink.lines, [str(number) for number in range(15, RECORDS)], 60, "it delivers nothing")
    wait_for(lambda: sink.committed, RECORDS, 60, "it commits nothing")
    kept = tmp_path / "kept.json"

    assert sink.delete(kept.as_uri()) == 1

    assert (sink.exists, sink.committed) == (False, None)
    assert parse_kip199(json.loads(kept.read_text()))[sink.new.name] == at(sink.topic, RECORDS)


def test_a_mirror_source_begins_at_the_requested_position(sandbox: Sandbox, source_changer: Changer) -> None:
    """Its first replicated record is that one; partitions without an offset begin at the log start."""
    mark = uuid4().hex[:8]
    name, topic = f"created-{mark}", f"mirrored-{mark}"
    sandbox.source.create_topic(topic, partitions=2)
    for partition in (0, 1):
        sandbox.source.produce(topic, [f"{partition}:{number}" for number in range(10)], partition=partition)
    where = {"cluster": "source", "topic": topic, "partition": 0}
    offsets = parse_rest({"offsets": [{"partition": where, "offset": {"offset": 6}}]})
    new = NewConnector(name, mirror_source_config(sandbox, topic), offsets)

    with source_changer.clients() as clients:
        assert create_delete.create(new, clients, owner()) == 1

    def replicated() -> list[list[str]]:
        target = f"source.{topic}"
        if target not in sandbox.target.topics():
            return []
        return [[text(one.value) for one in sandbox.target.consume(target, partition=number)] for number in (0, 1)]

    expected = [[f"0:{number}" for number in (7, 8, 9)], [f"1:{number}" for number in range(10)]]
    wait_for(replicated, expected, 60, f"{name} replicates otherwise")


def test_offsets_of_an_earlier_connector_are_removed_unless_they_are_inherited(
    sandbox: Sandbox, target_changer: Changer, tmp_path: Path
) -> None:
    """Connect leaves a source's offsets behind when it is deleted by hand: who creates it again may be surprised."""
    name, config = file_source(sandbox, tmp_path)
    sandbox.connect.delete(name)

    with target_changer.clients() as clients:
        inheriting = NewConnector(name, config, state=State.STOPPED, inherit=True)
        assert create_delete.create(inheriting, clients, owner()) == 1
        existing = sandbox.connect.offsets(name)
        sandbox.connect.delete(name)

        broken = NewConnector(name, {**config, "tasks.max": "none"}, state=State.STOPPED)
        with pytest.raises(NotApplied, match=rf"(?s)'{name}' was not created: .*tasks.max.* Nothing is left"):
            create_delete.create(broken, clients, owner())
        assert create_delete.create(inheriting, clients, owner()) == 1
        assert sandbox.connect.offsets(name) == existing
        sandbox.connect.delete(name)

        assert create_delete.create(NewConnector(name, config, state=State.STOPPED), clients, owner()) == 0
        assert sandbox.connect.stored_offsets(name) == []


def test_one_that_fails_right_after_its_start_is_deleted_again(sandbox: Sandbox, target_changer: Changer) -> None:
    """Neither connector nor offsets are left, and the error has the cause."""
    sink = NewSink.ready(sandbox, target_changer)
    sink = sink.but(config={**sink.new.config, "file": "/no/such/folder/file.txt"})

    with pytest.raises(NotApplied, match=rf"'{sink.new.name}' was not created: .*/no/such/folder/file.txt.*Nothing is"):
        sink.create()

    assert (sink.exists, sink.committed) == (False, None)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"config": {"connector.class": "NoSuch"}}, "connector.class 'NoSuch' of .* is not installed on the worker"),
        ({"config": {"name": "other", "connector.class": "FileStreamSink"}}, "but its configuration has name='other'"),
        ({"offsets": at("t", -1)}, "partition .*kafka_partition.*: "),
    ],
)
def test_what_is_invalid_is_refused_before_anything_is_created(
    sandbox: Sandbox, target_changer: Changer, changed: dict[str, object], said: str
) -> None:
    """The error is one sentence that names the connector."""
    sink = NewSink.ready(sandbox, target_changer).but(**changed)

    with pytest.raises(InvalidRequest, match=f"Nothing was created: .*{said}"):
        sink.create()

    assert not sink.exists


def test_a_name_that_is_taken_is_refused(sandbox: Sandbox, target_changer: Changer) -> None:
    """The connector that has it stays as it is."""
    sink = NewSink.ready(sandbox, target_changer)
    sink.create()
    before = sandbox.connect.config(sink.new.name)

    with pytest.raises(InvalidRequest, match=rf"a connector '{sink.new.name}' already exists. Choose another name"):
        sink.but(offsets=Offsets()).create()

    assert sandbox.connect.config(sink.new.name) == before


def test_a_retry_finds_what_was_done(sandbox: Sandbox, target_changer: Changer, tmp_path: Path) -> None:
    """Airflow may lose a task's success: the next attempt neither fails nor does it again."""
    sink, kept = NewSink.ready(sandbox, target_changer, state=State.STOPPED), (tmp_path / "kept.json").as_uri()
    creating, deleting = owner(), owner()

    assert [sink.create(creating), sink.create(creating)] == [1, 1]
    assert sink.committed == 15
    assert [sink.delete(kept, deleting), sink.delete(kept, deleting)] == [1, 1]

    assert not sink.exists


def test_a_cleared_task_does_not_call_done_what_was_taken_back(
    sandbox: Sandbox, target_changer: Changer, tmp_path: Path
) -> None:
    """Nothing is created, or deleted, a second time: whoever has undone it may have had a reason."""
    sink, kept = NewSink.ready(sandbox, target_changer, state=State.STOPPED), (tmp_path / "kept.json").as_uri()
    creating, deleting = owner(), owner()
    sink.create(creating)
    sandbox.connect.delete(sink.new.name)
    with pytest.raises(Drift, match=r"the creation of .* no longer stands: 'created-\w+' has been deleted"):
        sink.create(creating)

    sink.create()
    sink.delete(kept, deleting)
    sandbox.connect.create(sink.new.name, sink.new.config, initial_state="STOPPED")
    with pytest.raises(Drift, match=r"the deletion of .* no longer stands: A connector 'created-\w+' has been created"):
        sink.delete(kept, deleting)
    assert sink.exists


def test_a_connector_of_someone_else_is_not_deleted(sandbox: Sandbox, target_changer: Changer) -> None:
    """If someone replaces a connector that we created, our undo leaves theirs alone."""
    sink = NewSink.ready(sandbox, target_changer)

    class Theirs:
        """A worker at which someone replaces the connector right after it was created."""

        def __init__(self, control: object) -> None:
            self._control = control

        def __getattr__(self, name: str) -> object:
            return getattr(self._control, name)

        def create(self, name: str, config: dict[str, str], *, initial_state: str, like: str) -> None:
            del like
            sandbox.connect.create(name, {**config, "topics": "others"}, initial_state=initial_state)
            raise NotApplied("it was created otherwise")

    with (
        target_changer.clients() as clients,
        pytest.raises(Interfered, match="someone else has created or changed it"),
    ):
        sink.create(clients=replace(clients, control=Theirs(clients.control)))  # type: ignore[arg-type]

    assert sandbox.connect.config(sink.new.name)["topics"] == "others"


def test_a_connector_without_tasks_is_created(sandbox: Sandbox, source_changer: Changer) -> None:
    """A MirrorCheckpoint whose groups match none has nothing to do yet, and is no failure."""
    name = f"created-{uuid4().hex[:8]}"
    config = mirror_checkpoint_config(sandbox, groups="no-such-group")
    changer = replace(source_changer, timeout=8)

    with changer.clients() as clients:
        assert create_delete.create(NewConnector(name, config), clients, owner()) == 0

    assert sandbox.connect.wait_state(name, "RUNNING")["tasks"] == []


@pytest.mark.parametrize(
    ("deleting", "said"),
    [
        (False, "the creation by run '.*', which ended unfinished, was undone: nothing is left of the connector."),
        (True, "the deletion by run '.*', which ended unfinished, was finished: the connector and its offsets are "),
    ],
)
def test_what_a_dead_run_left_is_reported_as_it_is(
    sandbox: Sandbox,
    target_changer: Changer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    deleting: bool,
    said: str,
) -> None:
    """Who settles it reads neither of offsets nor of a state that a missing connector would have."""
    sink, by = NewSink.ready(sandbox, target_changer, state=State.STOPPED), owner()

    def act(faults: Faults) -> None:
        with target_changer.clients() as clients:
            broken = faults.clients(clients)
            _ = sink.delete((tmp_path / "kept.json").as_uri(), by, broken) if deleting else sink.create(by, broken)

    if deleting:
        sink.create()
    counted = Faults()
    act(counted)
    # Once more, as it was before.
    by, sink = owner(), NewSink.ready(sandbox, target_changer, state=State.STOPPED)
    if deleting:
        sink.create()
    last = len(counted.calls) - 1 - counted.calls[::-1].index("delete" if deleting else "write_offsets")
    dying = Faults(Fault.KILLED, last, after=True)

    with dying.files(monkeypatch), pytest.raises(Killed):
        act(dying)
    dying.mend()
    with target_changer.clients() as clients:
        left = settle(target_changer.journal(sink.new.name), by, make_registry(clients))

    assert left is not None
    assert re.search(said, left.sentence)
    assert (sink.exists, sink.committed) == (False, None)


def test_what_can_not_be_deleted_says_so(sandbox: Sandbox, target_changer: Changer, tmp_path: Path) -> None:
    """One that does not exist."""
    sink = NewSink.ready(sandbox, target_changer)

    with pytest.raises(UnknownConnector, match=sink.new.name):
        sink.delete((tmp_path / "kept.json").as_uri())
