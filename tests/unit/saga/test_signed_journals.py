"""A forged record makes no run undo anything: with a key, journals are signed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.exceptions import JournalDamaged
from airflow_provider_connect_offsets.saga import Journal, operate
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.journals.journal_store import JournalStore
from tests.support.faults.made_up_operations import operation
from tests.support.faults.made_up_stages import World

RUN = Owner.here(run="dag/run", task="apply")
LATER = Owner.here(run="dag/later", task="apply")


@pytest.fixture
def store(tmp_path: Path) -> JournalStore:
    """A store with a key."""
    return JournalStore(tmp_path.as_uri(), "a random text of 32 characters...")


def journal(store: JournalStore, resource: str = "x") -> Journal:
    return Journal(store, cluster="c", resource=resource)


def files_of(tmp_path: Path, resource: str = "x") -> list[Path]:
    return sorted((tmp_path / "c" / resource).glob("*.json"))


def test_operations_go_on_as_without_a_key(store: JournalStore, tmp_path: Path) -> None:
    """Every file is signed and can be read again; the key appears neither in the files nor in the store's ``repr``."""
    for owner in (RUN, LATER):
        operate(operation(World(), journal(store)), owner)

    contents = [json.loads(file.read_text()) for file in files_of(tmp_path)]
    assert len(contents) == 4
    assert all(len(one["signature"]) == 64 for one in contents)
    assert store.key not in f"{store!r} {contents}"


@pytest.mark.parametrize("name", ["record", "lease"])
@pytest.mark.parametrize("forged", ["changed", "unsigned", "of another resource", "of another generation", "no object"])
def test_what_is_forged_is_refused(store: JournalStore, tmp_path: Path, name: str, forged: str) -> None:
    """Nothing is undone, and the message names the file."""
    operate(operation(World(), journal(store)), RUN)
    operate(operation(World(), journal(store, "y")), RUN)
    operate(operation(World(), journal(store)), LATER)
    [file] = (tmp_path / "c" / "x").glob(f"000002.{name}.json")
    content = json.loads(file.read_text())
    if forged == "changed":
        content["owner"]["run"] = "dag/run"
    elif forged == "unsigned":
        del content["signature"]
    elif forged == "no object":
        content = []
    else:
        other = "y/000001" if forged == "of another resource" else "x/000001"
        content = json.loads((tmp_path / "c" / f"{other}.{name}.json").read_text())
    file.write_text(json.dumps(content))

    with pytest.raises(JournalDamaged, match=f"000002.{name}.json"):
        operate(operation(World(), journal(store), key="another"), RUN)


def test_another_key_reads_nothing(store: JournalStore, tmp_path: Path) -> None:
    """A key does not read unsigned files either."""
    operate(operation(World(), journal(JournalStore(store.uri))), RUN)

    with pytest.raises(JournalDamaged, match="is not signed with"):
        operate(operation(World(), journal(store)), LATER)
    assert len(files_of(tmp_path)) == 2
