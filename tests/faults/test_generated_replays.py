"""Every call that a bounded replay makes is broken in turn; neither clone, group nor offsets are left in the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.operations.connector.plans import read_replay
from airflow_provider_connect_offsets.saga import Toward
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.layout import ReplayDirectory
from airflow_provider_connect_offsets.workspace.replay import ReplayResult
from sandbox import Sandbox
from tests.support.faults.fault_table import Ending, Note
from tests.support.faults.faulty_clients import Fault, Faults, Killed
from tests.support.faults.moments import each_call
from tests.support.faults.recovered_by import RecoveredBy
from tests.support.flows.existence import owner
from tests.support.flows.flows import Changer
from tests.support.flows.replays import A_DAY, Replayed, name_of

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
FAULTS: list[Fault] = [fault for fault in Fault if fault is not Fault.THEIRS]
# Of the calls one in so many, another one in each run.
SHARE = 16
DAY = 4


@pytest.fixture
def sink(sandbox: Sandbox, spark: SparkSession, tmp_path: Path) -> Iterator[Replayed]:
    """A sink whose days are replayed; nothing is left at the end."""
    cluster = str(sandbox.target.cluster_id())
    changer = Changer(spark, tmp_path.as_uri(), sandbox.connect.url, sandbox.target, cluster, timeout=20)
    one = Replayed.sink(sandbox, changer)
    yield one
    for name in (*one.left(), one.name):
        if name in sandbox.connect.connectors():
            sandbox.connect.delete(name)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_broken_at_each_call(
    sink: Replayed, note_generated: Note, monkeypatch: pytest.MonkeyPatch, *, fault: Fault, whole: bool
) -> None:
    """The interval is delivered in the end, and nothing is left, whoever ends what was begun."""
    counted, nth = Faults(), FAULTS.index(fault)
    _act(sink, _planned(sink, by := owner()), counted, by)
    endings: set[Ending] = set()
    share = 1 if whole else SHARE
    for faults, successor in each_call(fault, counted, index=nth, share=share, successors=list(RecoveredBy)):
        with faults.naming("bounded replay", successor), faults.files(monkeypatch):
            endings |= _cell(sink, faults, successor)
    for ending in sorted(endings):
        note_generated(fault, "bounded replay", "sink", ending)


def _planned(sink: Replayed, by: Owner) -> ReplayDirectory:
    run, summary = sink.plan(sink.request(day=DAY, run=by.run))
    assert summary["errors"] == []
    return run


def _act(sink: Replayed, run: ReplayDirectory, faults: Faults, by: Owner) -> None:
    with sink.changer.clients() as clients:
        assert sink.replay(run, by, faults.clients(clients)).result is ReplayResult.DELIVERED
    assert sink.left() == []


def _cell(sink: Replayed, faults: Faults, successor: RecoveredBy) -> set[Ending]:
    by, error, before = owner(), None, sink.delivered()[name_of(DAY)]
    run = _planned(sink, by)
    try:
        _act(sink, run, faults, by)
    except (Killed, SystemExit, ConnectOffsetsError) as raised:
        error = raised
    faults.mend()
    if not faults.happened:
        return set()
    if error is not None and successor is not RecoveredBy.RETRY:
        _recover(sink, run, by, successor)
        assert sink.left() == []
    delivered = sink.delivered()[name_of(DAY)] - before
    _act(sink, run, Faults(), by)
    assert sink.delivered()[name_of(DAY)] - before >= A_DAY
    return {Ending.APPLIED if error is None else Ending.NEXT if delivered >= A_DAY else Ending.RESTORED}


def _recover(sink: Replayed, run: ReplayDirectory, by: Owner, successor: RecoveredBy) -> None:
    if successor is RecoveredBy.TEARDOWN:
        sink.release(run, by)
    elif successor is RecoveredBy.PERSON:
        systems = {"url": sink.changer.worker, "kafka": sink.changer.kafka.bootstrap}
        clone = read_replay(run).request.clone
        recovering.recover(sink.changer.workspace, clone, toward=Toward.BACK, run=by.run, **systems)
    else:
        other = owner()
        sink.replay(_planned(sink, other), other)
