"""Which connectors a command is about: lists, and documents that name none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.connect.storage.offsets_file import read_mappings, write_mappings
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.connect.storage.topic_storage import WorkerTopics
from airflow_provider_connect_offsets.kafka.topic_reader import TopicRecord
from tests.support.programs.shell import Shell, shell

ANSWER = json.dumps({"offsets": [{"partition": {"filename": "x"}, "offset": {"position": 9}}]})


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The file of a standalone worker that is down, with offsets of three connectors."""
    names = ("a", "b", "c,d")
    mappings = {
        json.dumps([name, {"filename": "x"}], separators=(",", ":")).encode(): b'{"position":1}' for name in names
    }
    write_mappings(tmp_path / "connect.offsets", mappings)
    return tmp_path / "connect.offsets"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, store: Path) -> Shell:
    """The shell, with the worker's properties in its directory."""
    (tmp_path / "w.properties").write_text(f"offset.storage.file.filename={store}\nlisteners=http://127.0.0.1:1\n")
    monkeypatch.chdir(tmp_path)
    return shell(monkeypatch, capsys)


@pytest.mark.parametrize(
    ("lists", "names"),
    [
        ((), {"a", "b", "c,d"}),
        (("a,b",), {"a", "b"}),
        (("a", "b"), {"a", "b"}),
        (("a,", r"c\,d"), {"a", "c,d"}),
        ((r" b , c\,d",), {"b", "c,d"}),
    ],
)
def test_an_option_may_be_repeated_and_a_name_may_have_a_comma(
    run: Shell, lists: tuple[str, ...], names: set[str]
) -> None:
    """All lists count, not only the last."""
    options = [word for names in lists for word in ("--connectors", names)]

    assert set(json.loads(run("export", "--config", "w.properties", *options).out)) == names


def test_an_answer_of_connect_names_no_connector(run: Shell, store: Path) -> None:
    """It was imported for a connector called ``offsets``, with exit code 0."""
    before = store.read_bytes()
    for options in ((), ("--connectors", "a,b")):
        refused = run("import", "--config", "w.properties", *options, stdin=ANSWER)
        assert (refused.code, store.read_bytes()) == (2, before)
        assert "looks like the answer of GET /connectors/{c}/offsets, which does not contain the" in refused.err

    assert run("import", "--config", "w.properties", "--connectors", "a", stdin=ANSWER).code == 0
    assert read_mappings(store)[b'["a",{"filename":"x"}]'] == b'{"position":9}'


def test_a_connector_may_be_called_offsets(run: Shell, store: Path) -> None:
    """If that is said."""
    assert run("import", "--config", "w.properties", "--connectors", "offsets", stdin=ANSWER).code == 0
    assert read_mappings(store)[b'["offsets",{"filename":"x"}]'] == b'{"position":9}'


def test_all_that_a_damaged_topic_still_has_is_exported(
    run: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """From the beginning, an overwritten value counts; damage to connectors that were not requested doesn't matter."""
    written = [("a", b'{"position":1}'), ("b", b"{"), ("a", b'{"position":2}'), ("b", b'{"position":3}'), ("c", None)]
    records = [
        TopicRecord(0, at, 0, json.dumps([name, {"filename": "x"}], separators=(",", ":")).encode(), value)
        for at, (name, value) in enumerate(written)
    ]
    monkeypatch.setattr(OffsetsTopic, "records", lambda _self, _progress=None: iter(records))
    monkeypatch.setattr(WorkerTopics, "connectors", lambda _self: {})
    topics = "\n".join(f"{name}={name}" for name in ("group.id", "offset.storage.topic", "config.storage.topic"))
    (tmp_path / "t.properties").write_text(f"bootstrap.servers=127.0.0.1:1\nlisteners=http://127.0.0.1:1\n{topics}\n")
    call = ("export", "--config", "t.properties", "--from-beginning")

    every, asked, other = run(*call), run(*call, "--connectors", "b,nobody"), run(*call, "--connectors", "a")

    positions = [entry["offset"]["position"] for entry in json.loads(every.out)["a"]]
    assert (every.code, list(json.loads(every.out)), positions) == (1, ["a", "c"], [1, 2])
    assert "1 connector could not be exported." in every.err
    assert every.err.count("an offset of connector 'b' that can't be read") == 1
    assert (asked.code, json.loads(asked.out)) == (1, {})
    assert "Connector 'nobody' has no offsets" in asked.err
    assert (other.code, list(json.loads(other.out))) == (0, ["a"])


@pytest.mark.parametrize("value", [b"{", b"[1]", b"\xff"])
def test_what_can_not_be_read_is_named_and_the_rest_exported(run: Shell, store: Path, value: bytes) -> None:
    """The whole export died, with JSON that was cut off; also if another connector was asked for."""
    write_mappings(store, {**read_mappings(store), b'["b",{"filename":"x"}]': value})

    done = run("export", "--config", "w.properties")

    assert (done.code, set(json.loads(done.out))) == (1, {"a", "c,d"})
    assert "1 connector could not be exported." in done.err
    assert "'b'" in done.err
    other = run("export", "--config", "w.properties", "--connectors", "a")
    assert (other.code, set(json.loads(other.out))) == (0, {"a"})
    both = run("export", "--config", "w.properties", "--connectors", "a,b,nobody")
    assert (both.code, set(json.loads(both.out))) == (1, {"a"})
    assert "Connector 'nobody' has no offsets" in both.err
    assert "Connector 'b' has no offsets" not in both.err
