"""Intervals that are delivered once more by a clone, on a real Connect; nothing is left of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.exceptions import Drift, InvalidRequest, NotApplied, PlanRefused
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.layout import ReplayDirectory
from airflow_provider_connect_offsets.workspace.replay import DeliveredRange, ReplayOutcome, ReplayResult
from sandbox import Sandbox
from sandbox.connectors import file_source_config
from tests.support.faults.faulty_clients import Fault, Faults, Killed
from tests.support.flows.existence import owner
from tests.support.flows.flows import Changer
from tests.support.flows.replays import A_DAY, DAYS, Replayed, by_day, name_of

pytestmark = pytest.mark.jobs
SECRET = "a-secret-of-the-original"


@pytest.fixture
def sink(sandbox: Sandbox, target_changer: Changer) -> Iterator[Replayed]:
    one = Replayed.sink(sandbox, target_changer, **{"connection.password": SECRET})
    yield one
    sandbox.connect.delete(one.name)


def test_a_sink_delivers_the_interval_and_counts_what_comes_after_it(sink: Replayed) -> None:
    """All records of the day are delivered once more, nothing before them; the original does not notice."""
    config, committed = sink.sandbox.connect.config(sink.name), sink.committed(sink.name)
    run, summary = sink.plan(sink.request(day=1))

    outcome = sink.replay(run, owner())

    assert (summary["partitions"], summary["left_out"], summary["offsets"], summary["errors"]) == (1, 1, A_DAY, [])
    again = sink.delivered() - Counter({name_of(day): A_DAY for day in range(DAYS)}) - Counter({name_of(0): A_DAY})
    assert again[name_of(1)] == A_DAY
    assert name_of(0) not in again
    assert outcome.result is ReplayResult.DELIVERED
    assert outcome.beyond_count == sum(again.values()) - A_DAY
    assert outcome.ranges[0] == DeliveredRange(sink.topic, 0, A_DAY, 2 * A_DAY, A_DAY, outcome.beyond_count)
    assert sink.left() == []
    assert (sink.sandbox.connect.config(sink.name), sink.committed(sink.name)) == (config, committed)
    written = [path for path in Path(sink.changer.workspace.removeprefix("file://")).rglob("*") if path.is_file()]
    assert len(written) > 5
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []


def test_a_cleared_replay_delivers_nothing_again(sink: Replayed) -> None:
    """Its clone is gone, as it should be."""
    run, by = sink.plan(sink.request(day=1))[0], owner()
    first, delivered = sink.replay(run, by), sink.delivered()

    again = sink.replay(run, by)

    assert (again.result, again.delivered_count) == (ReplayResult.DELIVERED, first.delivered_count)
    assert sink.delivered() == delivered


def test_a_reconfigured_sink_is_not_replayed(sink: Replayed) -> None:
    """Its interval is that of other topics."""
    run, _summary = sink.plan(sink.request(day=1))
    connect = sink.sandbox.connect
    connect.call("PUT", f"/connectors/{sink.name}/config", {**connect.config(sink.name), "topics": "another"})

    with pytest.raises(Drift, match=r"reconfigured since .*: topics was '.*' and is 'another'"):
        sink.replay(run, owner())
    assert sink.left() == []


def test_a_mirror_source_replicates_the_interval_again_without_offset_syncs(
    sandbox: Sandbox, source_changer: Changer
) -> None:
    """The records are appended to the remote topic; groups are translated as before, as they have no offset sync."""
    flow = Replayed.mirror(sandbox, source_changer)
    syncs = "mm2-offset-syncs.target.internal"
    run, _summary = flow.plan(flow.request(day=DAYS - 2, days=2))
    sandbox.connect.stop(flow.name)  # so that no sync comes from it
    before = sandbox.source.log_bounds(syncs)

    outcome = flow.replay(run, owner())

    again = by_day(flow.remote()) - Counter({name_of(day): A_DAY for day in range(DAYS)})
    assert again == {name_of(DAYS - 2): A_DAY, name_of(DAYS - 1): A_DAY}
    assert (outcome.delivered_count, outcome.beyond_count) == (2 * A_DAY, 0)
    assert sandbox.source.log_bounds(syncs) == before
    assert flow.left() == []
    config = {**sandbox.connect.config(flow.name), "name": outcome.clone}
    sandbox.connect.create(outcome.clone, config, initial_state="STOPPED")
    assert sandbox.connect.stored_offsets(outcome.clone) == []
    sandbox.connect.delete(outcome.clone)
    sandbox.connect.delete(flow.name)


def test_a_clone_that_fails_is_removed_and_the_message_says_how_far_it_came(
    sandbox: Sandbox, target_changer: Changer
) -> None:
    """The converter refuses records that are no JSON: nothing is left, and the next attempt starts anew."""
    sink = Replayed.sink(sandbox, target_changer)
    run, _summary = sink.plan(sink.request(day=0))
    poisoned = {**sandbox.connect.config(sink.name), "value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    sandbox.connect.update_config(sink.name, poisoned)

    with pytest.raises(
        NotApplied, match=r"not delivered completely.*has failed \(.*0 of 20 offsets of the interval were"
    ) as e:
        sink.replay(run, owner())

    assert f"{sink.topic}-0 up to 0 of 10" in str(e.value)
    assert sink.left() == []
    sandbox.connect.delete(sink.name)


def test_a_clone_that_stalls_ends_with_the_time_limit(sink: Replayed) -> None:
    """It is removed like one that fails."""
    request = replace(sink.request(day=1), limit_seconds=0.0)
    run, _summary = sink.plan(request)

    with pytest.raises(
        NotApplied, match=r"The time limit of 0 s \(replay_limit\) has passed. The clone .* are deleted"
    ):
        sink.replay(run, owner())

    assert sink.left() == []


def test_what_retention_has_removed_is_refused_or_left_out(sink: Replayed) -> None:
    """With ``partial`` the rest of the interval is delivered, and the plan says how much that is."""
    sink.sandbox.target.delete_records(sink.topic, {0: 15})

    refused_run, refused = sink.plan(sink.request(day=1))
    run, allowed = sink.plan(sink.request(day=1, partial=True))
    outcome = sink.replay(run, owner())

    assert "records before offset 15 were deleted" in refused["errors"][0]
    assert "The interval has 5 offsets left" in allowed["warnings"][0]
    assert outcome.delivered_count == 5
    with pytest.raises(PlanRefused, match="Nothing was created"):
        sink.replay(refused_run, owner())


def test_what_can_not_be_replayed_is_refused_before_anything_is_created(
    sandbox: Sandbox, sink: Replayed, tmp_path: Path
) -> None:
    """Other sources, a clone's name that is taken, and an interval without records."""
    name = f"{sink.name}-lines"
    sandbox.connect.create(name, file_source_config(name, tmp_path / "lines.txt"))
    with pytest.raises(InvalidRequest, match=r"FileStreamSource.*its offsets count bytes of a file"):
        replace(sink, name=name).plan(replace(sink.request(), connector=name))
    sandbox.connect.delete(name)

    run, summary = sink.plan(sink.request(day=2, days=1))
    sandbox.connect.create(
        summary["clone"], {**sandbox.connect.config(sink.name), "name": summary["clone"], "topics": "others"}
    )
    with pytest.raises(InvalidRequest, match=f"a connector '{summary['clone']}' already exists"):
        sink.replay(run, owner())
    assert sandbox.connect.config(summary["clone"])["topics"] == "others"
    sandbox.connect.delete(summary["clone"])

    _run, empty = sink.plan(sink.request(day=-3, days=2))
    assert (empty["partitions"], empty["errors"]) == (0, [])


def test_a_retry_goes_on_with_the_clone_and_another_run_removes_it(
    sink: Replayed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clone of a killed process is left to the next attempt, or to the next run on the connector."""
    counted, by = Faults(), owner()
    _replay(sink, by, counted)
    started = counted.calls.index("resume")

    by = owner()
    run = _killed(sink, by, Faults(Fault.KILLED, started, after=True), monkeypatch)
    assert sink.replay(run, by).result is ReplayResult.DELIVERED
    assert sink.left() == []

    _killed(sink, owner(), Faults(Fault.KILLED, started), monkeypatch)
    outcome = _replay(sink, owner(), Faults())
    assert "the replay by run" in outcome.warnings[0]
    assert "which ended unfinished, was undone: nothing is left of the connector" in outcome.warnings[0]
    assert sink.left() == []


def _replay(sink: Replayed, by: Owner, faults: Faults) -> ReplayOutcome:
    run, _summary = sink.plan(sink.request(day=DAYS - 1, run=by.run))
    with sink.changer.clients() as clients:
        return sink.replay(run, by, faults.clients(clients))


def _killed(sink: Replayed, by: Owner, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> ReplayDirectory:
    """Replay in a process that is killed, and leaves a clone."""
    run, _summary = sink.plan(sink.request(day=DAYS - 1, run=by.run))
    with sink.changer.clients() as clients, faults.files(monkeypatch), pytest.raises(Killed):
        sink.replay(run, by, faults.clients(clients))
    faults.mend()
    assert sink.left() != []
    return run
