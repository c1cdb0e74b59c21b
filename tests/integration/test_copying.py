"""Connectors copied and renamed with their offsets, on a real Connect."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import (
    Drift,
    InvalidRequest,
    NotApplied,
    NotRunning,
    Overlap,
    UnknownConnector,
)
from airflow_provider_connect_offsets.operations.existence import copy_check, copying
from airflow_provider_connect_offsets.operations.existence.copy_check import Copying
from sandbox import Sandbox, wait_for
from sandbox.connectors import mirror_source_config
from tests.support.flows.copying import CopiedSink
from tests.support.flows.existence import RECORDS, NewSink, file_source, owner
from tests.support.flows.flows import Changer, text

pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("nothing_created_left")]


def running(sandbox: Sandbox, changer: Changer, **overrides: str) -> NewSink:
    """A sink that has delivered all records from position 15 on, and committed that."""
    sink = NewSink.ready(sandbox, changer)
    sink = sink.but(config={**sink.new.config, **overrides})
    sink.create()
    wait_for(sink.lines, [str(number) for number in range(15, RECORDS)], 60, "it delivers nothing")
    return sink


def test_a_renamed_sink_goes_on_where_it_was(sandbox: Sandbox, target_changer: Changer, tmp_path: Path) -> None:
    """Nothing is delivered twice or left out; the old name is gone with its group; no secret is in the workspace."""
    sink = running(sandbox, target_changer, **{"secret.of.mine": "hunter-2"})
    renamed = CopiedSink.of(sink, rename=True)

    assert renamed.copy() == 1

    sandbox.target.produce(sink.topic, ["new"])
    wait_for(sink.lines, [*[str(number) for number in range(15, RECORDS)], "new"], 60, "it delivers otherwise")
    assert (sink.exists, sink.committed, renamed.exists) == (False, None, True)
    settings = sandbox.connect.config(renamed.how.new_name)
    assert settings == {**sink.new.config, "name": renamed.how.new_name}
    written = [file.read_text() for file in tmp_path.rglob("*.json")]
    assert written
    assert not [text for text in written if "hunter-2" in text]


def test_a_cleared_copy_does_not_call_done_what_was_deleted(sandbox: Sandbox, target_changer: Changer) -> None:
    """While the copy is there it is done; afterwards the task fails, and copies nothing again."""
    copied, by = CopiedSink.of(running(sandbox, target_changer), stop_original=True), owner()
    assert [copied.copy(by), copied.copy(by)] == [1, 1]
    sandbox.connect.delete(copied.how.new_name)

    with pytest.raises(Drift, match=r"the copying of .* no longer stands"):
        copied.copy(by)
    assert not copied.exists


@pytest.mark.parametrize("stopping", [False, True])
def test_a_copy_of_a_sink_begins_where_the_original_is(
    sandbox: Sandbox, target_changer: Changer, *, stopping: bool
) -> None:
    """The original goes on, stopped meanwhile or not; each delivers what comes then to its own file."""
    sink = running(sandbox, target_changer)
    if not stopping:
        wait_for(lambda: sink.committed, RECORDS, 60, "it commits nothing")
    other = sink.file.with_suffix(".copy")
    copied = CopiedSink.of(sink, overrides={"file": str(other)}, stop_original=stopping)

    assert copied.copy() == 1

    sandbox.target.produce(sink.topic, ["new"])
    wait_for(lambda: other.read_text().split() if other.exists() else [], ["new"], 60, "the copy delivers otherwise")
    wait_for(lambda: sink.lines()[-1], "new", 60, "the original has not gone on")
    assert sink.lines().count("19") == 1


def test_a_mirror_source_is_copied_to_another_alias_and_fewer_topics(sandbox: Sandbox, source_changer: Changer) -> None:
    """Its offsets name the new alias; those of topics that it does not read are left out, with a warning."""
    mark = uuid4().hex[:8]
    name, topics = f"created-{mark}", [f"one-{mark}", f"two-{mark}"]
    for topic in topics:
        sandbox.source.create_topic(topic)
        sandbox.source.produce(topic, [str(number) for number in range(10)])
    sandbox.connect.create(name, mirror_source_config(sandbox, ",".join(topics)))
    wait_for(lambda: len(sandbox.connect.stored_offsets(name)), 2, 60, "it stores no offsets")
    how = Copying(name, f"{name}-copy", {"topics": topics[0], "source.cluster.alias": f"other{mark}"}, rename=True)

    with source_changer.clients() as clients:
        checked = copy_check.check(how, clients)
        assert copying.copy(how, clients, owner()) == 1

    assert [text for text in checked.warnings if text.startswith("1 partition of")]
    assert [text for text in checked.warnings if text.startswith("The source alias changes")]
    [stored] = sandbox.connect.offsets(how.new_name)
    assert stored == {
        "partition": {"cluster": f"other{mark}", "topic": topics[0], "partition": 0},
        "offset": {"offset": 9},
    }
    sandbox.source.produce(topics[0], ["new"])
    remote = f"other{mark}.{topics[0]}"
    wait_for(
        lambda: (
            [text(one.value) for one in sandbox.target.consume(remote)] if remote in sandbox.target.topics() else []
        ),
        ["new"],
        60,
        "it replicates otherwise",
    )


def test_a_group_of_its_own_is_not_shared(sandbox: Sandbox, target_changer: Changer) -> None:
    """With consumer.override.group.id a copy would take partitions from the original; a rename takes the group over."""
    group = f"mine-{uuid4().hex[:8]}"
    sink = running(sandbox, target_changer, **{"consumer.override.group.id": group})
    copied = CopiedSink.of(sink)

    with pytest.raises(InvalidRequest, match=rf"both would have the consumer group '{group}'.*Set consumer.override"):
        copied.copy()
    assert not copied.exists

    assert copied.but(overrides={"consumer.override.group.id": None, "file": f"{sink.file}.2"}).copy() == 1
    sandbox.connect.delete(copied.how.new_name)
    assert copied.but(rename=True).copy() == 1
    sandbox.target.produce(sink.topic, ["new"])
    wait_for(lambda: sink.lines()[-2:], ["19", "new"], 60, "it delivers otherwise")


def test_a_source_keeps_its_state_and_its_position_in_the_file(
    sandbox: Sandbox, target_changer: Changer, tmp_path: Path
) -> None:
    """A STOPPED source stays STOPPED; nothing is left under the old name."""
    name, config = file_source(sandbox, tmp_path)
    sandbox.connect.stop(name)
    sandbox.connect.wait_state(name, "STOPPED")
    before = sandbox.connect.offsets(name)
    how = Copying(name, f"{name}-copy", rename=True)

    with target_changer.clients() as clients:
        with pytest.raises(InvalidRequest, match="so it would never read an offset of"):
            copying.copy(Copying(name, f"{name}-copy", {"file": "/other"}, rename=True), clients, owner())
        assert copying.copy(how, clients, owner()) == 1

    assert sandbox.connect.offsets(how.new_name) == before
    assert sandbox.connect.wait_state(how.new_name, "STOPPED")["tasks"] == []
    sandbox.connect.create(name, config, initial_state="STOPPED")
    assert sandbox.connect.stored_offsets(name) == []


def test_settings_that_connect_refuses_touch_nothing(sandbox: Sandbox, target_changer: Changer) -> None:
    """The original was not even stopped."""
    sink = running(sandbox, target_changer)
    copied = CopiedSink.of(sink, rename=True, overrides={"tasks.max": "none"})

    with pytest.raises(
        NotApplied, match=rf"(?s)tasks.max.*Nothing is left of the copy, and '{sink.new.name}' was not touched"
    ):
        copied.copy()

    assert (sink.exists, copied.exists) == (True, False)
    assert sandbox.connect.wait_state(sink.new.name, "RUNNING", tasks=1)


def test_a_renamed_one_that_does_not_start_is_there_and_can_be_mended(
    sandbox: Sandbox, target_changer: Changer
) -> None:
    """The original is gone by then; the error says so, and a retry succeeds once the settings are right."""
    sink, by = running(sandbox, target_changer), owner()
    renamed = CopiedSink.of(sink, rename=True, overrides={"file": "/no/such/folder/file.txt"})

    with pytest.raises(NotRunning, match=rf"(?s)no/such/folder.*exists with its offsets, and '{sink.new.name}' is del"):
        renamed.copy(by)
    assert (sink.exists, renamed.committed) == (False, RECORDS)
    sandbox.connect.update_config(renamed.how.new_name, {**sink.new.config})
    sandbox.connect.wait_state(renamed.how.new_name, "RUNNING", tasks=1)

    assert [renamed.copy(by), renamed.copy(by)] == [1, 1]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"new_name": "{name}"}, "a connector '.*' already exists. Choose another name, or delete it first"),
        ({"overrides": {"name": "third"}}, "config has name='third', but new_name is '.*-copy'"),
        (
            {"overrides": {"connector.class": "FileStreamSource", "topic": "t"}},
            "FileStreamSource can't use offsets of .*FileStreamSinkConnector",
        ),
        ({"overrides": {"connector.class": "NoSuch"}}, "connector.class 'NoSuch' of '.*' is not installed"),
    ],
)
def test_what_can_not_work_is_refused(
    sandbox: Sandbox, target_changer: Changer, how: Mapping[str, Any], said: str
) -> None:
    """With one sentence, before anything is touched, whether the original would be deleted or not."""
    sink = NewSink.ready(sandbox, target_changer, state=State.STOPPED)
    sink.create()
    given = {name: value.format(name=sink.new.name) if isinstance(value, str) else value for name, value in how.items()}

    for rename in (False, True):
        with pytest.raises(InvalidRequest, match=f"Nothing was c[a-z]+: .*{said}"):
            CopiedSink.of(sink).but(rename=rename, **given).copy()

    assert sandbox.connect.wait_state(sink.new.name, "STOPPED")


def test_an_unknown_connector_is_not_copied(sandbox: Sandbox, target_changer: Changer) -> None:
    """One that never was."""
    with pytest.raises(UnknownConnector):
        CopiedSink.of(NewSink.ready(sandbox, target_changer), rename=True).copy()


@pytest.mark.parametrize("rename", [False, True])
def test_a_connector_that_another_run_changes_is_not_copied(
    sandbox: Sandbox, target_changer: Changer, *, rename: bool
) -> None:
    """It may be at offsets that are about to be undone; nothing is created meanwhile, and nothing is left claimed."""
    sink = NewSink.ready(sandbox, target_changer, state=State.STOPPED)
    sink.create()
    copied = CopiedSink.of(sink, rename=rename)

    with target_changer.journal(sink.new.name).claim(owner()), pytest.raises(Overlap, match=sink.new.name):
        copied.copy()

    assert (sink.exists, copied.exists) == (True, False)
    assert copied.copy() == 1
