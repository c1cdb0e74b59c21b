"""The door and its journals: other versions, stores that keep no leases, generations that are pruned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_connect_offsets.exceptions import DatasetError, UnknownFormat
from airflow_provider_connect_offsets.saga import operate, settle
from airflow_provider_connect_offsets.saga.generations import REMEMBERED
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Lease, require_single_creation
from airflow_provider_connect_offsets.saga.record import FORMAT
from airflow_provider_connect_offsets.workspace import files
from tests.support.faults.made_up_operations import MINE, OTHER, MadeUpRegistry, die, operation
from tests.support.faults.made_up_stages import Killed, World

pytestmark = pytest.mark.usefixtures("dying")


def test_a_death_between_lease_and_record_hides_nothing(world: World, journal: Journal) -> None:
    """Shell, teardown and later runs find what is left behind it."""
    die(world, journal, "capture resume x")
    files.create_bytes(
        journal.file(journal.newest_generation() + 1, "lease"), files.to_json(Lease(OTHER, 1, 0).as_json())
    )

    found = journal.read_left()
    assert found is not None
    assert found[0].owner == MINE
    left = settle(journal, MINE, MadeUpRegistry(world), run=MINE.run)

    assert left is not None
    assert world.in_effect == {"stop x": False, "alter x": False}


def test_many_deaths_between_lease_and_record_hide_nothing(world: World, journal: Journal) -> None:
    """However many they are: what is behind them is found, settled, and not pruned before."""
    die(world, journal, "capture resume x")
    for number in range(2, REMEMBERED + 10):
        files.create_bytes(journal.file(number, "lease"), files.to_json(Lease(OTHER, 1, 0).as_json()))

    found = journal.read_left()
    assert found is not None
    assert found[0].owner == MINE
    ended = operate(operation(world, journal), OTHER)

    assert ended.left[0].is_undone
    assert world.calls.index("undo alter x") < world.calls.index("capture alter x")


@pytest.mark.parametrize("writes", range(1, 7))
def test_what_was_finished_for_a_dead_run_is_not_made_again_by_its_retry(
    world: World, journal: Journal, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """The run that finished it may die in turn, right after any of the journal's next writes."""
    die(world, journal, "after resume x")
    write, left = files.write_json, [writes]

    def write_and_die(uri: str, value: Any) -> None:
        write(uri, value)
        left[0] -= uri.endswith("record.json")
        if left[0] == 0:
            world.die()

    with monkeypatch.context() as patched:
        patched.setattr(files, "write_json", write_and_die)
        with pytest.raises(Killed):
            operate(operation(world, journal), OTHER)
    world.dead, world.calls = False, []
    files.write_json(journal.file(journal.newest_generation(), "lease"), Lease(OTHER, 1, 0).as_json())

    ended = operate(operation(world, journal), MINE)

    assert ended.record is not None
    assert ended.record.owner == MINE
    assert {"before stop x", "before alter x"} & set(world.calls) == set()


def test_a_write_of_the_journal_lists_nothing(world: World, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many generations there are: it costs the same, as it is part of the downtime."""
    listed: list[str] = []
    names = files.list_names

    def list_names(uri: str) -> list[str]:
        listed.append(uri)
        return names(uri)

    monkeypatch.setattr(files, "list_names", list_names)
    seen: list[int] = []
    world.faults = {f"before {name}": lambda: seen.append(len(listed)) for name in ("stop x", "alter x", "resume x")}

    operate(operation(world, journal), MINE)

    assert len(seen) == 3
    assert len(set(seen)) == 1


def test_settled_generations_are_pruned(world: World, journal: Journal) -> None:
    """The newest stay, and one that is unfinished always does."""
    for number in range(REMEMBERED + 5):
        world.in_effect = {}
        operate(operation(world, journal, key=str(number)), replace(MINE, run=f"dag/{number}"))

    names = files.list_names(journal.uri)
    assert journal.newest_generation() == REMEMBERED + 5
    assert len([name for name in names if name.endswith("lease.json")]) == REMEMBERED + 1
    assert journal.record(1) is None
    assert journal.record_of("dag/10", "10") is not None


@pytest.mark.parametrize(
    ("version", "writer", "settled_by"),
    [
        ("9.9", r"version 9\.9", r"version 9\.9"),
        ("0.1.0", "a version before the first release", "the version that you had before"),
    ],
)
def test_a_stage_of_another_version_is_named(
    world: World, journal: Journal, version: str, writer: str, settled_by: str
) -> None:
    """The error is one sentence that says which version settles it; nothing is changed."""
    die(world, journal, "capture resume x")
    uri = journal.file(1, "record")
    record = files.read_json(uri)
    record["stages"][0]["title"], record["version"] = "unheard_of", version
    files.write_json(uri, record)

    for change in (
        lambda: operate(operation(world, journal), OTHER),
        lambda: settle(journal, OTHER, MadeUpRegistry(world)),
    ):
        with pytest.raises(
            UnknownFormat, match=rf"begun by {writer} of .* the stage 'unheard_of'.* Install {settled_by},"
        ):
            change()
    assert world.calls == []


def test_a_record_of_a_later_format_is_named(world: World, journal: Journal) -> None:
    """The error names its version and format, and nothing is settled."""
    die(world, journal, "capture resume x")
    uri = journal.file(1, "record")
    files.write_json(uri, {**files.read_json(uri), "format": FORMAT + 1, "version": "9.9", "state": "unheard of"})

    with pytest.raises(
        UnknownFormat, match=rf"written by version 9\.9 .* in format {FORMAT + 1}, .* Install version 9"
    ):
        operate(operation(world, journal), OTHER)


def test_a_record_of_an_earlier_version_is_read(world: World, journal: Journal) -> None:
    """It has neither format nor version, and its lease names an end in place of a duration."""
    die(world, journal, "capture resume x")
    uri = journal.file(1, "record")
    files.write_json(
        uri, {key: value for key, value in files.read_json(uri).items() if key not in {"format", "version"}}
    )
    lease = journal.file(1, "lease")
    old = {key: value for key, value in files.read_json(lease).items() if key != "seconds"}
    files.write_json(lease, {**old, "until": old["heard_at"]})

    assert settle(journal, OTHER, MadeUpRegistry(world)) is not None


def test_a_store_that_creates_a_file_twice_keeps_no_leases(
    world: World, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like one that speaks S3's protocol and ignores If-None-Match; it is refused by name before anything is done."""
    require_single_creation.cache_clear()

    def create(uri: str, content: bytes) -> bool:
        files.write_bytes(uri, content)
        return True

    monkeypatch.setattr("airflow_provider_connect_offsets.saga.lease.create_bytes", create)

    with pytest.raises(DatasetError, match=r"Nothing was done: file://.* can't keep leases"):
        operate(operation(world, journal), MINE)

    require_single_creation.cache_clear()
    assert world.calls == []
    assert files.list_names(journal.uri) == []
