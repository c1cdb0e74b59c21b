"""Where a new connector begins: at the log ends by offsets, or by auto.offset.reset, on a real Connect."""

from __future__ import annotations

import logging
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.operations.existence import create_delete
from airflow_provider_connect_offsets.operations.existence.new_connector import NewConnector, StartAt, log_offsets
from sandbox import Sandbox, wait_for
from sandbox.connectors import file_source_config, mirror_source_config
from tests.support.flows.existence import RECORDS, NewSink, at, owner
from tests.support.flows.flows import Changer, text

pytestmark = [pytest.mark.jobs, pytest.mark.usefixtures("nothing_created_left")]
OLD = 5


@pytest.mark.parametrize(
    ("by_setting", "replicated"),
    [pytest.param(False, ["early", "late"], id="start_at"), pytest.param(True, ["late"], id="auto.offset.reset")],
)
def test_a_mirror_source_that_begins_at_the_end(
    sandbox: Sandbox,
    source_changer: Changer,
    caplog: pytest.LogCaptureFixture,
    *,
    by_setting: bool,
    replicated: list[str],
) -> None:
    """Neither replicates what was there before. By the setting, a new partition's first records are skipped as well."""
    mark = uuid4().hex[:8]
    name, topic, later = f"created-{mark}", f"old-{mark}", f"new-{mark}"
    sandbox.source.create_topic(topic, partitions=2)
    sandbox.source.produce(topic, ["old"] * OLD, partition=0)
    overrides = {"source.consumer.auto.offset.reset": "latest"} if by_setting else {}
    config = mirror_source_config(sandbox, f".*-{mark}", source_alias=mark, overrides=overrides)
    with source_changer.clients() as clients, caplog.at_level(logging.WARNING):
        offsets = Offsets() if by_setting else log_offsets(name, config, StartAt.LATEST, clients)
        new = NewConnector(name, config, offsets)
        assert create_delete.create(new, clients, owner()) == (0 if by_setting else 1)

    said = f"never replicated (now {OLD:,} offsets in 2 partitions)"
    assert (said in caplog.text) == by_setting
    sandbox.source.produce(topic, ["new"], partition=0)
    wait_for(lambda: values(sandbox, f"{mark}.{topic}"), ["new"], 60, "it replicates otherwise")
    sandbox.source.create_topic(later)
    sandbox.source.produce(later, ["early"])
    wait_for(
        lambda: f"{mark}.{later}" in sandbox.target.topics(), expected=True, timeout=60, message="it sees no topic"
    )
    wait_for(lambda: running_tasks(sandbox, name), 1, 60, "it does not run")
    wait_for(lambda: values_after(sandbox, later, f"{mark}.{later}"), replicated, 60, "it replicates otherwise")


def test_a_sink_that_begins_at_the_end_or_the_start(sandbox: Sandbox, target_changer: Changer) -> None:
    """Of the logs as they are when it is created, whatever the worker's auto.offset.reset is."""
    sink = NewSink.ready(sandbox, target_changer)

    with target_changer.clients() as clients:
        starts = {start: log_offsets(sink.new.name, sink.new.config, start, clients) for start in StartAt}

    assert starts == {StartAt.EARLIEST: at(sink.topic, 0), StartAt.LATEST: at(sink.topic, RECORDS)}


def test_the_first_record_is_out_of_reach_of_a_setting(sandbox: Sandbox, source_changer: Changer) -> None:
    """A MirrorSource resumes at 0 by having no offset, and then auto.offset.reset=latest would start it at the end."""
    topic = f"created-{uuid4().hex[:8]}"
    sandbox.source.create_topic(topic)
    config = mirror_source_config(sandbox, topic, overrides={"consumer.auto.offset.reset": "latest"})

    with (
        source_changer.clients() as clients,
        pytest.raises(InvalidRequest, match="can't begin at earliest: no offset can be stored for the first record of"),
    ):
        log_offsets("new", config, StartAt.EARLIEST, clients)


def test_what_has_no_log_to_begin_in(sandbox: Sandbox, target_changer: Changer) -> None:
    """A file is no log; and a topic that does not exist has no end."""
    sink = NewSink.ready(sandbox, target_changer)
    with target_changer.clients() as clients:
        with pytest.raises(InvalidRequest, match="can't begin at latest: the cluster has no topic that it reads"):
            log_offsets("new", {**sink.new.config, "topics": "nowhere"}, StartAt.LATEST, clients)
        with pytest.raises(InvalidRequest, match="can't begin at latest: its offsets count bytes of a file"):
            log_offsets("new", file_source_config("t", sink.file), StartAt.LATEST, clients)


def values(sandbox: Sandbox, topic: str) -> list[str]:
    """The values of a topic's first partition; empty without the topic."""
    return (
        [text(one.value) for one in sandbox.target.consume(topic, partition=0)]
        if topic in sandbox.target.topics()
        else []
    )


def running_tasks(sandbox: Sandbox, name: str) -> int:
    """How many of its tasks run."""
    tasks = sandbox.connect.call("GET", f"/connectors/{name}/status")["tasks"]
    return sum(task["state"] == "RUNNING" for task in tasks)


def values_after(sandbox: Sandbox, source: str, remote: str) -> list[str]:
    """The values that arrive, once each: another one is sent until the first does."""
    if not (arrived := values(sandbox, remote)):
        sandbox.source.produce(source, ["late"])
    return list(dict.fromkeys(arrived))
