"""A snapshot of 500 connectors, compared with a sequential loop of curl's requests; then its comparison and restore.

One real Connect worker has 500 stopped connectors with two partitions each, so that no consumer takes part in the
times. Both read the same: configuration, state and offsets of each connector, and nothing else (no log ends). Then all
offsets are moved, the next snapshot is compared on Spark, and the first one restored, and each offset is checked. At
last 200 of them run and are changed five at once. Shell loops of curl do the same with some of them, one after the
other, and five at once.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from uuid import uuid4

import requests
from downtime import seconds_by_curl
from plan_job import NOTHING
from rows import Row
from timing import submit, timed

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.kafka.remaining import RemainingRecords
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.observe.cluster_snapshot import SnapshotClients, take_cluster_snapshot
from airflow_provider_connect_offsets.observe.snapshot import take_snapshots
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.offsets.requests.guards import Guards
from airflow_provider_connect_offsets.offsets.requests.snapshots import SnapshotRequest
from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.operations.snapshot_restore import read_snapshot, restore_of
from airflow_provider_connect_offsets.pipeline.shipping import job_path, write_py_files
from airflow_provider_connect_offsets.report import FleetChange, read_report
from airflow_provider_connect_offsets.report.change_report import write_change_report
from airflow_provider_connect_offsets.report.html import render_template
from airflow_provider_connect_offsets.report.pages.operations import unfinished_operations
from airflow_provider_connect_offsets.report.pages.overview import seen_clusters
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.many import ManySagas
from airflow_provider_connect_offsets.workspace.datasets import each_read_once
from airflow_provider_connect_offsets.workspace.files import read_json, write_json
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.journals.journal_store import JournalStore
from airflow_provider_connect_offsets.workspace.layout import RunDirectory, journal_root
from airflow_provider_connect_offsets.workspace.snapshots import (
    ComparisonDirectory,
    KeptSnapshot,
    SnapshotDirectory,
    series_root,
)
from sandbox import ConnectWorker, Sandbox, wait_for
from sandbox.connectors import file_sink_config

CONNECTORS, RUNNING = 500, 200
BY_CURL = 20  # of the running connectors; the time of all is computed from these
TOPIC, RECORDS, THEN, LATER, MAX_DOWN = "orders", 100, 80, 30, 5


def rows(runs: int, scale: float) -> Iterator[Row]:
    """Return a row for the snapshot, one for its comparison, and one for the restore."""
    with Sandbox() as sandbox, tempfile.TemporaryDirectory() as scratch:
        names = [f"sink-{number:03d}" for number in range(max(1, round(CONNECTORS * scale)))]
        _create(sandbox, names)
        work = _Work(sandbox, names, Path(scratch))
        curl, ours = timed(runs, work.curl, work.snapshot)
        yield Row(f"snapshot of {len(names)} connectors", ours, "a loop of requests", curl, goal=1.0)
        first = work.snapshot()
        by_hand = _timed(_alter_one_by_one, sandbox, names, LATER)[1]
        changed, compared = _timed(work.compared, first)
        nothing = _timed(submit, str(work.nothing))[1]
        yield Row(
            f"comparison of two snapshots of {len(names)}", [compared], "a Spark job that does nothing", [nothing]
        )
        restored, parts = work.restored(first, ".*")
        took = _listed(parts)
        one = work.restored(first, names[0])[1]
        name = f"snapshot and plan of {len(names)} connectors, from trigger to question without Airflow"
        yield Row(
            name, [_asked(parts)], "the same of one connector", [_asked(one)], goal=2.0, shows=f"of one: {_listed(one)}"
        )
        name = f"restore of {len(names)} connectors, {MAX_DOWN} at once"
        yield Row(name, [parts["apply"]], "a loop that reads, patches and reads", [by_hand], goal=1.0, shows=took)
        listed, page = timed(runs, work.listed, partial(work.page, first))
        name = f"page of {len(names)} connectors, from the newest snapshot and their journals"
        yield Row(name, page, "one request that lists them", listed)
        yield from _running(work, first, names[: max(1, round(RUNNING * scale))])
        stored = dict(zip(names, map(sandbox.connect.stored_offsets, names), strict=True))
    _require(changed == 2 * len(names), f"each partition is found to have moved back, not {changed}")
    _require(restored == len(names), f"each connector is restored, not {restored}")
    _require(stored == {name: [{"kafka_offset": THEN}] * 2 for name in names}, "offsets are those of the snapshot")


def _running(work: _Work, first: SnapshotDirectory, names: list[str]) -> Iterator[Row]:
    """Restore running connectors, five at once; shell loops do the same with some of them, one and five at once."""
    worker, by_curl = work.sandbox.connect, names[:BY_CURL]
    for name in names:
        worker.resume(name)
    _await_running(worker, names)
    one_by_one = _timed(_change_by_curl, worker, by_curl, 1)[1] * len(names) / len(by_curl)
    _await_running(worker, by_curl)
    at_once = _timed(_change_by_curl, worker, by_curl, MAX_DOWN)[1] * len(names) / len(by_curl)
    _await_running(worker, by_curl)
    changed, parts = work.restored(first, "|".join(names))
    _require(changed == len(names), f"each running connector is changed, not {changed}")
    what, computed = f"change of {len(names)} running connectors, {MAX_DOWN} at once", f"computed from {len(by_curl)}"
    for name in names:
        worker.stop(name)
        worker.alter(name, _entries(THEN))
    yield Row(what, [parts["apply"]], f"a shell loop of curl ({computed})", [one_by_one], shows=_listed(parts))
    side_by_side = f"{MAX_DOWN} such loops side by side ({computed})"
    yield Row(what, [parts["apply"]], side_by_side, [at_once], goal=1 / 0.9)
    shared = f"a {MAX_DOWN}th of what these changes take together: always {MAX_DOWN} under way"
    yield Row(what, [parts["apply"]], shared, [work.busy / MAX_DOWN], goal=1 / 0.9)


def _await_running(worker: ConnectWorker, names: list[str]) -> None:
    for name in names:
        worker.wait_state(name, "RUNNING", tasks=1)
        wait_for(partial(worker.stored_offsets, name), [{"kafka_offset": RECORDS}] * 2, 120, f"{name} lags")


def _change_by_curl(worker: ConnectWorker, names: list[str], at_once: int) -> None:
    url, body = f"{worker.url}/connectors", {"offsets": _entries(THEN)}
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(lambda name: seconds_by_curl(f"{url}/{name}", body), names))


def _write_reports(fleet: FleetDirectory) -> None:
    """Write what the approver reads."""
    change = FleetChange.read(fleet)
    for member in change.members.values():
        write_change_report(member)
    change.write()


def _asked(parts: Mapping[str, float]) -> float:
    return parts["observe"] + parts["plan"] + parts["report"]


def _listed(parts: Mapping[str, float]) -> str:
    return ", ".join(f"{part} {seconds:.1f} s" for part, seconds in parts.items())


def _require(holds: bool, what: str) -> None:  # noqa: FBT001 - the condition of the sentence
    if not holds:
        raise SystemExit(f"not so: {what}")


class _Work:
    """What is timed."""

    def __init__(self, sandbox: Sandbox, names: list[str], scratch: Path) -> None:
        self.sandbox, self.names, self.scratch = sandbox, names, scratch
        self.shipped = write_py_files(scratch / "connect_offsets.zip")
        self.nothing = scratch / "nothing.py"
        self.nothing.write_text(NOTHING)
        self.taken, self.busy = 0, 0.0

    def curl(self) -> None:
        """Three requests for each connector, one after the other, each on a connection of its own, as curl's are."""
        url = f"{self.sandbox.connect.url}/connectors"
        for name in requests.get(url, timeout=30).json():
            for path in ("", "/status", "/offsets"):
                requests.get(f"{url}/{name}{path}", timeout=30).raise_for_status()

    def listed(self) -> None:
        """Ask Connect for all connectors with configuration and state."""
        requests.get(f"{self.sandbox.connect.url}/connectors?expand=info&expand=status", timeout=30).raise_for_status()

    def page(self, newest: SnapshotDirectory) -> None:
        """Make the page of the workspace, without what Airflow's database adds to it."""
        series = series_root(
            self.scratch.as_uri(), dag_id="snapshots", cluster="sandbox", connect_conn_id="connect", connectors=".*"
        )
        kept = Path(f"{series}/2026-01-31T120000.000000Z".removeprefix("file://"))
        if not kept.exists():
            shutil.copytree(newest.uri.removeprefix("file://"), kept)
        clusters = list(seen_clusters(self.scratch.as_uri(), "snapshots"))
        unfinished = list(unfinished_operations(JournalStore(journal_root(self.scratch.as_uri()))))
        shown: dict[str, Any] = {
            "waiting": [],
            "flows": [],
            "runs": [],
            "dag_urls": {"snapshots": "/dags/snapshots"},
            "connector_url": lambda cluster, name: f"/connector/{cluster.series}/{name}",
            "series_url": lambda cluster: f"/series/{cluster.series}",
        }
        html = render_template(
            "overview.html.j2", title="Connect offsets", clusters=clusters, unfinished=unfinished, **shown
        )
        _require(all(name in html for name in self.names), "the page has each connector")

    def snapshot(self) -> SnapshotDirectory:
        """Take a snapshot."""
        self.taken += 1
        directory = SnapshotDirectory((self.scratch / f"snapshot-{self.taken}").as_uri())
        with self._rest() as rest:
            clients = SnapshotClients(control=rest, offsets=rest, logs={}, cluster="sandbox", origin=Origin.REST)
            take_cluster_snapshot(rest.connectors(), clients, directory, run="bench/run")
        return directory

    def compared(self, first: SnapshotDirectory) -> int:
        """Take the next snapshot and compare it; returns how many partitions have moved back."""
        directory = ComparisonDirectory((self.scratch / "comparison").as_uri())
        kept = KeptSnapshot(self.scratch.as_uri(), self.snapshot().uri, first.uri)
        write_json(directory.request, SnapshotRequest().as_json())
        write_json(directory.kept, kept.as_json())
        self._job("offset-changes", directory.uri)
        return int(read_json(directory.summary)["changes"]["moved_back"])

    def restored(self, first: SnapshotDirectory, pattern: str) -> tuple[int, Mapping[str, float]]:
        """Restore connectors of the first snapshot; returns how many were changed, and the seconds of each part."""
        fleet = FleetDirectory((self.scratch / uuid4().hex).as_uri())
        _, observed = _timed(self._observe, first, fleet, pattern)
        _, planned = _timed(self._job, "plan", fleet.uri)
        _, reported = _timed(_write_reports, fleet)
        changed, applied = _timed(self._apply, fleet.members())
        return changed, {"observe": observed, "plan": planned, "report": reported, "apply": applied}

    def _observe(self, first: SnapshotDirectory, fleet: FleetDirectory, pattern: str) -> None:
        with self._clients() as clients:
            now = datetime.now(tz=UTC)
            restore = restore_of(read_snapshot(first.uri), pattern, clients, fleet, clear_new=False, now=now)
            requests = [(fleet.member(request.connector), request) for request in restore.requests]
            take_snapshots(requests, clients, observed=restore.observed)
        fleet.publish((request.connector for request in restore.requests), notes=restore.notes)

    def _apply(self, members: Mapping[str, RunDirectory]) -> int:
        """Do what the task does: apply the plans, and write the report of each when it has ended."""
        owner, free = Owner.here(run="bench/run", task="apply"), SimpleQueue[Clients]()
        self.busy = 0.0  # seconds of all changes together

        def apply(plan: OffsetPlan) -> float:
            clients = free.get()
            try:
                return _timed(apply_plan, plan, clients, owner)[1]
            finally:
                free.put(clients)

        with ExitStack() as stack:
            for _ in range(MAX_DOWN):
                free.put(stack.enter_context(self._clients()))
            stack.enter_context(each_read_once())
            plans = [read_plan(run) for run in members.values()]
            sagas = ManySagas(apply, at_once=MAX_DOWN, max_failures=1)
            changed = 0
            for plan, result in sagas.run(plans):
                read_report(members[plan.connector]).write()
                if not isinstance(result, Exception):
                    changed, self.busy = changed + 1, self.busy + result
        return changed

    def _rest(self) -> ConnectRest:
        return ConnectRest(ConnectEndpoint((self.sandbox.connect.url,)))

    @contextmanager
    def _clients(self) -> Iterator[Clients]:
        config = {"bootstrap.servers": self.sandbox.target.bootstrap}
        with self._rest() as rest, RemainingRecords(config) as logs, ConsumerGroups(config) as groups:
            workspace = self.scratch.as_uri()
            guards = Guards(readable=(workspace,))
            yield Clients(rest, rest, logs=logs, groups=groups, cluster="sandbox", workspace=workspace, guards=guards)

    def _job(self, *arguments: str) -> None:
        submit("--py-files", str(self.shipped), str(job_path()), *arguments)


def _create(sandbox: Sandbox, names: list[str]) -> None:
    """Create stopped sinks of one topic, all at the same position."""
    sandbox.target.create_topic(TOPIC, partitions=2)
    for partition in (0, 1):
        sandbox.target.produce(TOPIC, ("" for _ in range(RECORDS)), partition=partition)
    for name in names:
        sandbox.connect.create(name, file_sink_config(TOPIC, sandbox.data / name), initial_state="STOPPED")
    for name in names:
        sandbox.connect.wait_state(name, "STOPPED")
    _alter(sandbox, names, THEN)


def _alter(sandbox: Sandbox, names: list[str], position: int) -> None:
    offsets = _entries(position)
    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(lambda name: sandbox.connect.alter(name, offsets), names))


def _alter_one_by_one(sandbox: Sandbox, names: list[str], position: int) -> None:
    """Do what a script does for each connector; only what an approved change adds is missing."""
    url = f"{sandbox.connect.url}/connectors"
    body = {"offsets": _entries(position)}
    for name in names:
        requests.get(f"{url}/{name}/offsets", timeout=30).raise_for_status()
        requests.patch(f"{url}/{name}/offsets", json=body, timeout=30).raise_for_status()
        requests.get(f"{url}/{name}/offsets", timeout=30).raise_for_status()


def _entries(position: int) -> list[dict[str, Any]]:
    partitions = [{"kafka_topic": TOPIC, "kafka_partition": number} for number in (0, 1)]
    return [{"partition": partition, "offset": {"kafka_offset": position}} for partition in partitions]


def _timed(action: Any, *arguments: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    result = action(*arguments)
    return result, time.perf_counter() - began
