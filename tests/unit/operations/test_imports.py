"""Imports into a file: in the end all of a document is stored, or nothing of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from airflow_provider_connect_offsets.cli import importing
from airflow_provider_connect_offsets.cli.journals import own_workspace
from airflow_provider_connect_offsets.cli.opened import WorkerStorage, open_storage
from airflow_provider_connect_offsets.connect.protocols import WriteReply
from airflow_provider_connect_offsets.connect.storage.damaged import Damaged, raise_damage
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.exceptions import (
    Drift,
    LeftStopped,
    NotStopped,
    OutcomeUnknown,
)
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets, parse_kip199
from airflow_provider_connect_offsets.operations.imports import Imports
from airflow_provider_connect_offsets.operations.stages.import_stages import ImportOffsets, StoredChange
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.stage import Found
from airflow_provider_connect_offsets.workspace import files
from tests.support.programs.import_process import killed, started
from tests.support.programs.shell import Shell
from tests.support.rows.imported_file import AFTER, BEFORE, REQUESTED, stored_in


def test_nothing_is_kept_of_a_dry_run(run: Shell, config: Path, store: StandaloneFile) -> None:
    """It leaves no journal and no copy, and changes no offset."""
    before = sorted(config.parent.iterdir())

    assert run("import", "--config", config, "--dry-run", stdin=REQUESTED).code == 0

    assert sorted(config.parent.iterdir()) == before
    assert stored_in(store) == BEFORE


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_killed_import_is_undone(run: Shell, config: Path, store: StandaloneFile, moment: str) -> None:
    """The next import undoes it, or a person; until then the offsets are as it left them."""
    killed(moment, "import", "--config", config, "--file", "requested.json")
    assert stored_in(store) == (AFTER if moment == "after" else BEFORE)

    done = run("recover", "--config", config)

    assert (done.code, "was undone, and read back." in done.err) == (0, True), done.err
    assert stored_in(store) == BEFORE
    killed(moment, "import", "--config", config, "--file", "requested.json")
    done = run("--import", "--config", config, "--file", "requested.json")
    assert (done.code, "was undone, and read back." in done.err) == (0, True), done.err
    assert stored_in(store) == AFTER


def test_two_imports_of_other_connectors_never_overlap(run: Shell, config: Path, store: StandaloneFile) -> None:
    """Each of them writes the whole file."""
    other = json.dumps({"other": [{"partition": {"filename": "a"}, "offset": None}]})
    with started("waits", "before", "import", "--config", config, "--file", "requested.json") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        refused = run("import", "--config", config, stdin=other)
        process.communicate()

    assert (refused.code, f"by run 'connect-offsets import, process {process.pid} on" in refused.err) == (1, True)
    assert process.returncode == 0
    assert stored_in(store) == AFTER
    assert run("import", "--config", config, stdin=other).code == 0


def imports(store: StandaloneFile, refuse_running: Callable[[object], None] = lambda _names: None) -> Imports:
    """Imports by this process."""
    control = cast("Any", SimpleNamespace(refuse_running=refuse_running, addresses=lambda _name: frozenset()))
    owner = Owner.here(run="next", task="import")
    return Imports(Clients(store, control, cluster=store.cluster(), workspace=own_workspace()), owner)


def test_a_dead_import_is_not_undone_under_a_running_worker(config: Path, store: StandaloneFile) -> None:
    """It would overwrite that; exactly the connectors of the dead import are checked."""
    killed("after", "import", "--config", config, "--file", "requested.json")
    checked = []

    def refuse_running(names: Any) -> None:
        checked.extend(names)
        raise NotStopped("Nothing was written: it is RUNNING.")

    with pytest.raises(NotStopped, match=r"^The import into file .* ended unfinished, and .* it is RUNNING\.$"):
        imports(store, refuse_running).settle_left()

    assert checked == ["lines", "new"]
    assert stored_in(store) == AFTER
    assert "was undone" in str(imports(store).settle_left())
    assert stored_in(store) == BEFORE


class Stubborn(StandaloneFile):
    """Writes, and reports that it did not; or does not write at all."""

    writes = True

    def write_all(self, changes: Mapping[str, Offsets]) -> WriteReply:
        if self.writes:
            super().write_all(changes)
        raise OutcomeUnknown("the answer was lost.")


def test_what_can_not_be_undone_is_named_with_its_run(config: Path, store: StandaloneFile) -> None:
    """With the document in the journal that a person can import; the next one tries again."""
    killed("after", "import", "--config", config, "--file", "requested.json")

    with pytest.raises(
        LeftStopped, match=r"^The import into .* the answer was lost\. .*/000001\.prior\.json\.$"
    ) as raised:
        imports(Stubborn(store.path)).settle_left()

    kept = parse_kip199(files.read_json(str(raised.value).rpartition(" ")[2][:-1]))
    assert {name: offsets.by_partition() for name, offsets in kept.items()} == {"lines": BEFORE["lines"], "new": {}}
    assert "was undone" in str(imports(store).settle_left())
    assert stored_in(store) == BEFORE


class Interrupted(StandaloneFile):
    """A person presses Ctrl-C while it reads back."""

    written = False

    def read_all(
        self, *, names: Collection[str] | None = None, damaged: Damaged = raise_damage
    ) -> Iterator[tuple[str, Offsets]]:
        if self.written:
            self.written = False
            raise KeyboardInterrupt
        yield from super().read_all(names=names, damaged=damaged)

    def write_all(self, changes: Mapping[str, Offsets]) -> WriteReply:
        self.written = "new" in changes and len(changes["new"].by_partition()) > 0
        return super().write_all(changes)


def test_an_interrupted_import_is_undone_on_its_way_out(config: Path, store: StandaloneFile) -> None:
    """The next import finds nothing left."""
    storage = WorkerStorage(open_storage(config, None).config, Interrupted(store.path))
    changes = importing.plan(storage, importing.read_document(REQUESTED, frozenset()))

    with pytest.raises(KeyboardInterrupt):
        importing.write(storage, changes)

    assert stored_in(store) == BEFORE
    assert len(list(config.parent.glob("*.bak"))) == 2
    assert imports(store).settle_left() is None


def test_what_was_changed_since_it_was_shown_is_drift(config: Path, store: StandaloneFile) -> None:
    """Nothing is written over offsets that were not shown; those that are not listed may change."""
    storage = open_storage(config, None)
    changes = importing.plan(storage, importing.read_document(REQUESTED, frozenset()))
    elsewhere = {"other": [{"partition": {"filename": "a"}, "offset": {"position": 2}}]}
    store.write_all(parse_kip199(elsewhere))
    importing.write(storage, changes)
    assert stored_in(store) == {**AFTER, "other": {'{"filename":"a"}': '{"position":2}'}}

    with pytest.raises(Drift, match=r"has changed offsets of 'lines' since they were shown.*100.*not .*4"):
        importing.write(storage, changes)

    assert stored_in(store)["lines"] == AFTER["lines"]


def test_an_import_whose_answer_is_lost_is_undone(config: Path, store: StandaloneFile) -> None:
    """What was written can't be trusted; if it can't be undone either, the exit code is 3."""
    storage = WorkerStorage(open_storage(config, None).config, Stubborn(store.path))
    changes = importing.plan(storage, importing.read_document(REQUESTED, frozenset()))

    with pytest.raises(LeftStopped, match=r"^the answer was lost\. The prior offsets could not be restored: the ans"):
        importing.write(storage, changes)

    assert imports(store).settle_left() is not None
    assert stored_in(store) == BEFORE


@pytest.mark.parametrize(
    ("positions", "found"),
    [
        ({"a": 4}, Found.BEFORE),
        ({"a": 100, "b": 7}, Found.DONE),
        ({"a": 100}, Found.PARTIAL),
        ({"a": 4, "b": 8}, Found.FOREIGN),
    ],
)
def test_one_observation_shows_how_far_an_import_has_come(
    store: StandaloneFile, tmp_path: Path, positions: dict[str, int], found: Found
) -> None:
    """By what is stored in each of its partitions, as its journal keeps them; others do not matter."""
    changes = [StoredChange("lines", store.read_offsets("lines"), Offsets.of([entry("a", 100), entry("b", 7)]))]
    begun = ImportOffsets(store.name, store, changes, file=lambda name: (tmp_path / name).as_uri())
    captured = begun.capture({})
    store.write_all({"lines": Offsets.of([*(entry(*one) for one in positions.items()), entry("else", 1)])})

    state = ImportOffsets(store.name, store).find(captured)

    assert (state.found, state.why is None) == (found, found is Found.DONE)


def entry(filename: str, position: int) -> Entry:
    return Entry.of({"filename": filename}, {"position": position})
