"""``connect-offsets audit``: who has changed what, and whether its records are those that were written."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.workspace.journals.audit import AuditEvent, AuditLog
from airflow_provider_connect_offsets.workspace.journals.journal_store import JournalStore
from airflow_provider_connect_offsets.workspace.layout import audit_root
from tests.support.programs.shell import Shell, shell


@pytest.fixture(name="run")
def _run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "no-airflow"))
    return shell(monkeypatch, capsys)


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    """One whose audit log has two operations."""
    uri = (tmp_path / "workspace").as_uri()
    log = AuditLog(JournalStore(audit_root(uri)))
    for name, result in (("orders", "done"), ("invoices", "undone")):
        for event, state in ((AuditEvent.BEGUN, "forward"), (AuditEvent.ENDED, result)):
            log.append(
                event,
                resource=name,
                operation="the change of offsets",
                result=state,
                run="dag/run",
                triggered_by="bob",
                stages=({"title": "alter_offsets", "captured": {"prior_offsets": {"offsets": []}}},),
            )
    return uri


def test_the_list_of_changes(run: Shell, workspace: str) -> None:
    """Of all, or of one; a table for people, all that is known as JSON."""
    table = run("audit", "list", "--workspace", workspace)
    rows = list(csv.DictReader(io.StringIO(run("audit", "list", "--workspace", workspace, "--format", "csv").out)))
    shown = run("audit", "list", "--workspace", workspace, "--resource", "orders", "--format", "json")

    assert (table.code, table.err) == (0, "")
    assert "invoices" in table.out
    assert [(row["resource"], row["event"], row["result"]) for row in rows] == [
        ("orders", "begun", "forward"),
        ("orders", "ended", "done"),
        ("invoices", "begun", "forward"),
        ("invoices", "ended", "undone"),
    ]
    assert {row["triggered_by"] for row in rows} == {"bob"}
    records = json.loads(shown.out)
    assert [one["number"] for one in records] == [1, 2]
    assert records[0]["stages"][0]["captured"] == {"prior_offsets": {"offsets": []}}


def test_a_verification_and_what_it_notes(run: Shell, workspace: str) -> None:
    """Standard output has only what is to be noted, so that a script can keep it."""
    first = run("audit", "verify", "--workspace", workspace)
    assert first.code == 0
    assert "4 records, from 1 to 4: none was changed." in first.err
    assert run("audit", "verify", "--workspace", workspace, "--known", first.out.strip()).code == 0

    newest = Path(audit_root(workspace).removeprefix("file://"), "000000", "000000004.json")
    newest.unlink()
    cut_off = run("audit", "verify", "--workspace", workspace, "--known", first.out.strip())
    assert (cut_off.code, cut_off.out) == (1, "")
    assert "The audit log is not what was written. Record 4 is missing." in cut_off.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["audit", "verify", "--known", "4"], 2, "--known: '4' is not NUMBER:DIGEST"),
        (["audit", "list", "--format", "yaml"], 2, "'yaml' is not one of"),
        (["audit", "verify", "--workspace", "nowhere://x"], 1, "nowhere"),
    ],
    ids=str,
)
def test_bad_input_of_a_verification(run: Shell, arguments: list[str], code: int, said: str) -> None:
    """One sentence, and nothing on standard output."""
    ended = run(*arguments)

    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err


def test_a_log_without_records(run: Shell, tmp_path: Path) -> None:
    """Is no error: nothing was changed yet."""
    for command, said in (("list", "There are no records."), ("verify", "There are no records.")):
        ended = run("audit", command, "--workspace", (tmp_path / "empty").as_uri())
        assert ended.code == 0
        assert said in ended.out + ended.err
