"""Each operation that changes something is in the audit log: with its beginning and its end, whoever ends it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.exceptions import InvalidRequest, JournalLost
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.operations.connector import direct, stepwise
from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
from airflow_provider_connect_offsets.operations.registry import journal_of, settle_of
from airflow_provider_connect_offsets.operations.stages.captured import ALTER
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.journals import audit as audit_module
from airflow_provider_connect_offsets.workspace.journals.audit import AuditLog, AuditRecord
from airflow_provider_connect_offsets.workspace.journals.journal_store import JournalStore
from tests.unit.operations.test_storage import PARTITION, clients_of, set_back
from tests.unit.operations.test_storage import path as path  # noqa: PLC0414 - a fixture

OWNER = Owner.here(run="test/run", task="apply", triggered_by="bob", approved_by="ada")


@pytest.fixture
def store(path: Path) -> StandaloneFile:
    """The offsets of a worker that is down."""
    return StandaloneFile(path)


@pytest.fixture
def clients(store: StandaloneFile, tmp_path: Path) -> Clients:
    """Clients whose operations are recorded."""
    journal = JournalStore((tmp_path / "journal").as_uri(), audit=(tmp_path / "audit").as_uri())
    return replace(clients_of(store), journal=journal)


def recorded(clients: Clients) -> list[AuditRecord]:
    assert clients.journal is not None
    log = AuditLog.of(clients.journal)
    assert log.verify().problems == ()
    return list(log.records())


def test_a_change_with_who_has_approved_it(store: StandaloneFile, clients: Clients) -> None:
    """Who, what, by which plan, what was there before, and how it ended."""
    plan = set_back(store, before=8, was_running=False)
    apply_plan(plan, clients, OWNER)

    begun, ended = recorded(clients)
    for one in (begun, ended):
        assert (one.resource, one.run, one.task) == ("lines", "test/run", "apply")
        assert (one.triggered_by, one.approved_by) == ("bob", "ada")
        assert plan.digest in one.digest
    assert [(one.event, one.result) for one in (begun, ended)] == [("begun", "forward"), ("ended", "done")]
    [altered] = (stage["captured"] for stage in ended.stages if stage["title"] == ALTER)
    assert altered["prior_offsets"]["offsets"] == [{"partition": {"filename": "a"}, "offset": {"position": 8}}]
    assert altered["changes"]["offsets"] == [{"partition": {"filename": "a"}, "offset": {"position": 4}}]
    assert ended.journal.startswith(f"{clients.journal.uri}/" if clients.journal else "")


def test_what_a_dead_run_left_ends_by_who_settles_it(store: StandaloneFile, clients: Clients) -> None:
    """The record of its beginning was there before anything was changed."""
    plan = set_back(store, before=8, was_running=False)
    stepwise.begin(plan, clients, OWNER, seconds=60)
    stepwise.alter(plan, clients, OWNER, seconds=60)
    assert [one.event for one in recorded(clients)] == ["begun"]

    journal_of(clients, "lines").end_for(OWNER.run)
    settle_of(clients, "lines", Owner.here(run="another/run", task="recover"))

    begun, ended = recorded(clients)
    assert (ended.event, ended.result, ended.run, ended.by) == (
        "ended",
        "undone",
        "test/run",
        "another/run (task recover)",
    )
    assert begun.by == "test/run (task apply)"


def test_what_is_refused_is_no_change(clients: Clients) -> None:
    """Nothing was begun, so nothing is recorded."""
    with pytest.raises(InvalidRequest):
        direct.alter("lines", clients, OWNER, Offsets.of([Entry('{"wrong":"a"}', '{"position":-5}')]))

    assert recorded(clients) == []


def test_nothing_is_changed_that_can_not_be_recorded(
    store: StandaloneFile, clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says so, and the offsets are those that were there."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", "audit")

    monkeypatch.setattr(audit_module.AuditLog, "append", refuse)
    with pytest.raises(JournalLost, match="Read-only file system"):
        direct.alter("lines", clients, OWNER, Offsets.of([Entry(PARTITION, '{"position":5}')]))

    assert store.read_offsets("lines").by_partition() == {PARTITION: '{"position":8}'}
