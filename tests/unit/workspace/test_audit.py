"""The audit log: what its verification finds, two that add records at once, and the removal of old ones."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.journals import audit as audit_module
from airflow_provider_connect_offsets.workspace.journals.audit import AuditEvent, AuditLog, AuditRecord, Head, digest_of
from airflow_provider_connect_offsets.workspace.journals.journal_store import JournalStore

KEY = "a key that only the workers have"


def log_in(path: Path, *, key: str = "", days: float | None = None) -> AuditLog:
    return AuditLog(JournalStore(path.as_uri(), key), days)


def filled(path: Path, count: int, *, key: str = "") -> AuditLog:
    """A log of that many records."""
    log = log_in(path, key=key)
    for number in range(1, count + 1):
        log.append(AuditEvent.BEGUN, resource=f"connector-{number}")
    return log


def file_of(path: Path, number: int) -> Path:
    return path / "000000" / f"{number:09d}.json"


def edit(file: Path, **fields: object) -> None:
    """Change fields of a record, as someone does who has a text editor."""
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


def pretend_removed(path: Path, number: int, last: object) -> None:
    """Let a record say that others were removed, so that nobody asks for them."""
    edit(file_of(path, number), event="pruned", removed={"number": last, "digest": ""})


def remove(path: Path, number: int) -> None:
    file_of(path, number).unlink()


def exchange(path: Path, number: int) -> None:
    first, second = file_of(path, number), file_of(path, number + 1)
    one, other = first.read_text(), second.read_text()
    first.write_text(other)
    second.write_text(one)


def write_anew(path: Path, number: int) -> None:
    """Another chain from a record on, with its head: only who has noted the former one can tell."""
    for later in range(number, 8):
        file_of(path, later).unlink(missing_ok=True)
    (path / "head.json").unlink()
    log = log_in(path)
    for _ in range(number, 8):
        log.append(AuditEvent.BEGUN, resource="something harmless")


def test_a_log_that_nobody_touched(tmp_path: Path) -> None:
    """Each record names the digest of the one before."""
    log = filled(tmp_path, 7)
    found = log.verify()

    assert found.problems == ()
    assert (found.first, found.head.number) == (1, 7)
    assert log.verify(known=found.head).problems == ()
    assert [one.resource for one in log.records()] == [f"connector-{number}" for number in range(1, 8)]
    assert log_in(tmp_path / "empty").verify().head == Head()


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (lambda path: edit(file_of(path, 3), run="another/run"), "Record 3 was changed, or record 4 was"),
        (lambda path: edit(file_of(path, 7), run="another/run"), "Record 7 was changed: its digest was noted"),
        (lambda path: pretend_removed(path, 7, 3), "Record 7 was changed: its digest was noted"),
        (lambda path: pretend_removed(path, 5, 3), "Record 5 was changed, or record 6 was"),
        (
            lambda path: pretend_removed(path, 3, 7),
            "Record 3 says that record 7 was removed before it.",
        ),
        (lambda path: pretend_removed(path, 3, "many"), "Record 3 can't be read"),
        (lambda path: remove(path, 3), "Record 3 is missing."),
        (lambda path: remove(path, 1), "Record 1 is missing."),
        (lambda path: remove(path, 7), "Record 7 is missing."),
        (lambda path: exchange(path, 3), "Record 3 is record 4, in its place."),
        (lambda path: file_of(path, 3).write_text("{"), "Record 3 can't be read"),
        (lambda path: (path / "head.json").write_text('{"number": "x"}'), "head.json is damaged"),
    ],
    ids=[
        "changed",
        "newest changed",
        *("removal", "earlier removal", "later removal", "no removal"),
        "missing",
        "first missing",
        "newest missing",
        "exchanged",
        "damaged",
        "head",
    ],
)
def test_what_is_not_as_it_was_written_is_found(tamper: Callable[[Path], None], said: str, tmp_path: Path) -> None:
    """With the number of the record."""
    log = filled(tmp_path, 7)
    tamper(tmp_path)

    assert any(said in problem for problem in log.verify().problems), log.verify().problems


@given(
    number=st.integers(1, 7),
    field=st.sampled_from([field.name for field in dataclasses.fields(AuditRecord)]),
    value=st.none()
    | st.text(max_size=5)
    | st.integers(0, 9)
    | st.sampled_from(AuditEvent)
    | st.fixed_dictionaries({"number": st.integers(0, 9) | st.text(max_size=1), "digest": st.text(max_size=1)}),
)
@settings(deadline=None)
def test_no_field_can_be_changed(
    number: int, field: str, value: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Not in any record, whatever it says then; also not that records were removed."""
    path = tmp_path_factory.mktemp("log")
    log = filled(path, 7)
    assume(json.loads(file_of(path, number).read_text())[field] != value)
    edit(file_of(path, number), **{field: value})

    assert log.verify().problems


def test_a_chain_that_was_written_anew_is_found_by_what_was_noted(tmp_path: Path) -> None:
    """Also one that was cut off; without the note, both are chains like any other."""
    log = filled(tmp_path, 7)
    noted = log.verify().head
    write_anew(tmp_path, 5)

    assert log.verify().problems == ()
    assert log.verify(known=noted).problems == ("Record 7 was changed: its digest was noted, and is another one now.",)
    remove(tmp_path, 7)
    (tmp_path / "head.json").unlink()
    assert log.verify().problems == ()
    assert log.verify(known=noted).problems == ("Record 7 is missing.",)


def test_without_the_key_no_record_can_be_written(tmp_path: Path) -> None:
    """Not even as a chain of its own."""
    filled(tmp_path, 2, key=KEY)
    filled(tmp_path / "forged", 2)
    for number in (1, 2):
        file_of(tmp_path, number).write_bytes(file_of(tmp_path / "forged", number).read_bytes())

    problems = log_in(tmp_path, key=KEY).verify().problems

    assert len([one for one in problems if "is not signed with" in one]) == 2


@given(texts=st.lists(st.text(max_size=20), min_size=1, max_size=5))
@settings(max_examples=30, deadline=None)
def test_any_text_is_kept(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """The digest is that of the record, however it is written."""
    log = log_in(tmp_path_factory.mktemp("log"))
    for text in texts:
        log.append(AuditEvent.ENDED, resource=text)

    assert [one.resource for one in log.records()] == texts
    assert log.verify().problems == ()


def test_of_many_that_add_records_at_once_none_is_lost(tmp_path: Path) -> None:
    """Each gets a number of its own, and the chain has no gap."""
    names = [f"connector-{number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: log_in(tmp_path).append(AuditEvent.BEGUN, resource=name), names))

    log = log_in(tmp_path)
    assert sorted(one.resource for one in log.records()) == sorted(names)
    assert log.verify().problems == ()


def test_a_head_that_lags_behind_or_is_gone_does_no_harm(tmp_path: Path) -> None:
    """As after a process that was killed between the two files."""
    log = filled(tmp_path, 3)
    head = (tmp_path / "head.json").read_text()
    log.append(AuditEvent.BEGUN)
    (tmp_path / "head.json").write_text(head)
    log.append(AuditEvent.BEGUN)
    (tmp_path / "head.json").unlink()
    log.append(AuditEvent.BEGUN)

    assert [one.number for one in log.records()] == [1, 2, 3, 4, 5, 6]
    assert log.verify().problems == ()


LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


class Past(datetime):
    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        assert tz is UTC
        return LONG_AGO


@pytest.fixture(name="old_records")
def _old_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two whole directories of four records, and one record in the third."""
    monkeypatch.setattr(audit_module, "SHARD", 4)
    with monkeypatch.context() as patched:
        patched.setattr(audit_module, "datetime", Past)
        filled(tmp_path, 8)


@pytest.mark.usefixtures("old_records")
def test_old_records_are_removed_and_that_is_recorded(tmp_path: Path) -> None:
    """A directory at a time; a verification knows where the rest begins, and finds if more is gone."""
    log = log_in(tmp_path, days=30)
    log.append(AuditEvent.BEGUN, resource="now")

    records = list(log.records())
    assert [one.number for one in records] == [8, 9, 10, 11]
    assert [one.event for one in records] == ["begun", "begun", "pruned", "pruned"]
    assert [one.removed and one.removed["number"] for one in records] == [None, None, 3, 7]
    assert log.verify().problems == ()
    assert log.verify().first == 8
    assert records[1].at - LONG_AGO > timedelta(days=365)
    (tmp_path / "000002" / "000000008.json").unlink()
    assert log.verify().problems == ("Record 8 is missing.",)


@pytest.mark.usefixtures("old_records")
@pytest.mark.parametrize("gone", [(), (1,), (3,), (1, 2), (1, 2, 3)], ids=str)
def test_a_removal_that_was_killed_is_completed(
    gone: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it had removed by then, that accuses nobody, and the next removal goes on there."""

    def die(uri: str) -> None:
        for number in gone:
            file_of(tmp_path, number).unlink()
        assert uri == (tmp_path / "000000").as_uri()
        raise SystemExit(137)

    log = log_in(tmp_path, days=30)
    with monkeypatch.context() as patched:
        patched.setattr(files, "remove_tree", die)
        with pytest.raises(SystemExit):
            log.append(AuditEvent.BEGUN, resource="now")

    assert log.verify().problems == ()
    assert log.verify().first == 4
    while log.append(AuditEvent.ENDED).number % 4 != 1:
        continue
    assert log.verify().problems == ()
    assert min(one.number for one in log.records()) == 8


@pytest.mark.usefixtures("old_records")
def test_a_head_that_was_written_very_late_does_no_harm(tmp_path: Path) -> None:
    """As by a process that was suspended while thousands of records were added, and the first ones removed."""
    log = log_in(tmp_path, days=30)
    early = next(log.records())
    log.append(AuditEvent.BEGUN, resource="now")
    (tmp_path / "head.json").write_text(json.dumps({"number": 1, "digest": digest_of(early.as_json())}))

    assert log.append(AuditEvent.BEGUN, resource="then").number == 12
    assert log.verify().problems == ()


def test_what_a_person_notes_can_be_read_again() -> None:
    """And nothing else is taken for it."""
    head = Head(7, "a" * 64)

    assert Head.parse(f" {head}\n") == head
    for text in ("", "7", "7:abc", f"x:{'a' * 64}"):
        with pytest.raises(ValueError, match="is not NUMBER:DIGEST"):
            Head.parse(text)
