"""``connect-offsets`` with right and wrong arguments, and with unreadable documents and files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_provider_connect_offsets.cli import importing
from airflow_provider_connect_offsets.connect.protocols import WriteReply
from airflow_provider_connect_offsets.connect.storage.offsets_file import write_mappings
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.exceptions import LeftStopped, NotApplied
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets, canonical_json, parse_kip199
from tests.support.programs.shell import Shell, shell
from tests.support.rows.json_maps import SMALL_MAPS, TEXTS

ENTRIES = st.lists(
    st.fixed_dictionaries({"partition": SMALL_MAPS, "offset": SMALL_MAPS}),
    max_size=4,
    unique_by=lambda one: canonical_json(one["partition"]),
)
STORED = {
    b'["lines",{"filename":"b"}]': b'{"position":8}',
    b'["lines",{"filename":"a"}]': b'{"position":4}',
    b'["gr\xc3\xb6\xc3\x9fe",{"filename":"a"}]': b'{"position":1}',
}
EXPORTED = """\
{
  "größe": [
    {"partition": {"filename":"a"}, "offset": {"position":1}}
  ],
  "lines": [
    {"partition": {"filename":"a"}, "offset": {"position":4}},
    {"partition": {"filename":"b"}, "offset": {"position":8}}
  ]
}
"""


@pytest.fixture(name="run")
def _run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    monkeypatch.chdir(tmp_path)
    return shell(monkeypatch, capsys)


@pytest.fixture(name="config")
def _config(tmp_path: Path) -> Path:
    """The properties of a standalone worker that is down, and its file."""
    write_mappings(tmp_path / "connect.offsets", STORED)
    path = tmp_path / "worker.properties"
    path.write_text(f"offset.storage.file.filename={tmp_path / 'connect.offsets'}\nlisteners=http://127.0.0.1:1\n")
    return path


def test_it_is_installed_under_its_name() -> None:
    """KIP-199's name, in the directory of the interpreter."""
    done = subprocess.run(
        [Path(sys.executable).with_name("connect-offsets"), "--help"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0
    assert all(option in done.stdout for option in ("--export", "--import", "--config", "--connectors", "--dry-run"))
    assert "..." not in done.stdout.partition("Commands:")[2], "the first sentence of each command fits its line"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Give --export or --import with --config"),
        (("--export",), "Give --export or --import with --config"),
        (("--config", "worker.properties"), "Give --export or --import with --config"),
        (("export",), "Give the worker's properties file with --config."),
        (("recover", "orders"), "Missing option '--workspace'"),
        (
            ("recover", "orders", "--workspace", "w"),
            "Name the connector, with its worker (--url) or",
        ),
        (("recover", "orders", "--workspace", "w", "--list"), "With --list, only --workspace can be given."),
        (("recover", "--workspace", "w", "--groups"), "--groups needs --target-kafka, the cluster on which"),
        (("recover", "orders", "--workspace", "w", "--groups", "--target-kafka", "k"), "--groups needs --target-kafka"),
        (("--export", "--config", "nowhere.properties"), "'nowhere.properties' does not exist"),
        (("--export", "--config", "worker.properties", "--dry-run"), "--dry-run makes no sense with --export"),
        (("--import", "--config", "worker.properties", "--from-beginning"), "makes no sense with --import"),
        (("--export", "--config", "worker.properties", "--flow", "a->b"), "not a file of MirrorMaker 2"),
        (("--config", "worker.properties", "export"), "Give the options after export, not before it."),
        (("--export", "export"), "Give the options after export, not before it."),
        (("--import", "--export", "--config", "worker.properties"), "Give --export or --import, not both."),
        (("--export", "--import", "--config", "worker.properties"), "Give --export or --import, not both."),
        (("--export", "--config", "worker.properties", "--connectors", ""), "--connectors needs at least one name."),
        (("--import", "--config", "worker.properties", "--connectors", ","), "--connectors needs at least one name."),
        (("orphans", "--config", "topics.properties", "--remove", "--connectors", ""), "needs at least one name."),
        (("copy", "--config", "worker.properties", "--connectors", " "), "--connectors needs at least one name."),
        (("orphans", "--config", "worker.properties", "--backup", "b"), "--backup makes no sense without --remove"),
        (("import", "--config", "worker.properties", "--dry-run", "--backup", "b"), "no sense with --dry-run"),
        (("diff", "worker.properties", "worker.properties", "--flow", "a->b"), "no sense without --config"),
        (("orphans", "--config", "topics.properties", "--remove"), "config.storage.topic is not set, so it is unknown"),
        (("export", "--exports"), "No such option"),
        (("import", "--config", "worker.properties", "--file", "no.json"), "document no.json can't be read: No such"),
        (
            ("recover", "orders", "--workspace", "w", "--url", "http://127.0.0.1:1", "--namespace", "kafka"),
            "--namespace makes no sense without --strimzi-cluster.",
        ),
        (("diff", "worker.properties"), "Give two exports, or one export and the --config"),
        (("copy", "--config", "worker.properties", "--connectors", "lines"), "belongs to a standalone worker"),
        (("orphans", "--config", "worker.properties"), "a standalone worker stores no list of connectors"),
    ],
)
def test_used_wrongly(run: Shell, config: Path, arguments: tuple[str, ...], sentence: str) -> None:
    """The exit code is 2, and the only output is usage or one sentence."""
    distributed = "bootstrap.servers=127.0.0.1:1\ngroup.id=g\noffset.storage.topic=o\n"
    config.with_name("topics.properties").write_text(distributed)

    ended = run(*arguments)

    assert (ended.code, ended.out) == (2, "")
    assert sentence in ended.err
    assert "Traceback" not in ended.err
    assert list(config.parent.glob("*.bak")) == []


def test_without_arguments_all_parameters_are_listed(run: Shell) -> None:
    """As KIP-199 has it."""
    assert "--from-beginning" in run().err


def test_an_export_is_sorted(run: Shell, config: Path) -> None:
    """It is sorted by connector and partition, with one partition a line."""
    assert run("--export", "--config", config).out == EXPORTED


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ("", "The document isn't valid JSON"),
        (EXPORTED[:-5], "The document isn't valid JSON, or was cut off"),
        ("[]", "a KIP-199 document must look like"),
        ('{"lines": [{"partition": {"filename": {}}, "offset": null}]}', "only primitive values"),
        ('{"lines": [{"partition": {"a": 1, "a": 2}, "offset": null}]}', "occurs twice"),
        ('{"lines": [{"offset": {"position": 1}}]}', "connector 'lines', entry 1 must be"),
        ('{"lines": []}', "has no offsets of connector 'größe'"),
    ],
)
def test_a_document_that_is_none(run: Shell, config: Path, document: str, sentence: str) -> None:
    """Exit code 2, and the file is as it was."""
    before = (config.parent / "connect.offsets").read_bytes()

    ended = run("--import", "--config", config, "--connectors", "größe", stdin=document)

    assert (ended.code, sentence in ended.err) == (2, True), ended.err
    assert (config.parent / "connect.offsets").read_bytes() == before


def test_a_damaged_file_is_never_empty(run: Shell, config: Path) -> None:
    """Export and import fail with exit code 1."""
    stored = config.parent / "connect.offsets"
    stored.write_bytes(stored.read_bytes()[:-9])

    for call in (run("--export", "--config", config), run("--import", "--config", config, stdin=EXPORTED)):
        assert (call.code, "isn't a complete offsets file of a standalone worker" in call.err) == (1, True)


def test_a_failed_export_leaves_no_file(run: Shell, config: Path) -> None:
    """It neither leaves half an export nor replaces an older export."""
    target = config.parent / "export.json"
    target.write_text("older")
    (config.parent / "connect.offsets").write_bytes(b"no map")

    assert run("export", "--config", config, "--file", target).code == 1
    assert target.read_text() == "older"
    assert sorted(path.name for path in config.parent.iterdir()) == [
        "connect.offsets",
        "export.json",
        "worker.properties",
    ]


def test_an_import_keeps_what_it_changes(run: Shell, config: Path) -> None:
    """A copy of the file next to it, and a document that undoes the import, if requested."""
    document = json.dumps({"lines": [{"partition": {"filename": "a"}, "offset": None}]})

    done = run("import", "--config", config, "--backup", "before.json", stdin=document)

    assert (done.code, "To undo this change, import that file" in done.err) == (0, True)
    assert json.loads(Path("before.json").read_text()) == {
        "lines": [{"partition": {"filename": "a"}, "offset": {"position": 4}}]
    }
    assert run("import", "--config", config, "--backup", "before.json", stdin=EXPORTED).code == 1  # it is kept
    assert run("import", "--config", config, "--file", "before.json").code == 0
    assert run("export", "--config", config).out == EXPORTED


def test_a_difference_is_shown_by_partition(run: Shell, config: Path) -> None:
    """Two exports, or an export and the present offsets, are compared; numbers have their distance."""
    Path("a.json").write_text(EXPORTED)
    Path("b.json").write_text(EXPORTED.replace('"position":4', '"position":1234').replace('"größe"', '"other"'))

    shown = run("diff", "a.json", "b.json")
    now = run("diff", "b.json", "--config", config, "--connectors", "lines")

    assert shown.code == 0
    assert shown.out.splitlines() == [
        'größe: {"filename":"a"}: {"position":1} → none',
        'lines: {"filename":"a"}: {"position":4} → {"position":1234} (+1,230)',
        'other: {"filename":"a"}: none → {"position":1}',
    ]
    assert now.out == 'lines: {"filename":"a"}: {"position":1234} → {"position":4} (-1,230)\n'
    assert run("diff", "a.json", "--config", config).out == ""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(document=st.dictionaries(TEXTS.filter(bool), ENTRIES.filter(bool), max_size=3))
def test_whatever_is_imported_is_exported(
    run: Shell, config: Path, document: dict[str, list[dict[str, object]]]
) -> None:
    """Any map of primitives can be imported and exported again."""
    (config.parent / "connect.offsets").unlink(missing_ok=True)

    done = run("import", "--config", config, stdin=json.dumps(document))

    assert done.code == 0, done.err
    exported = parse_kip199(json.loads(run("export", "--config", config).out))
    assert {name: offsets.by_partition() for name, offsets in exported.items()} == {
        name: offsets.by_partition() for name, offsets in parse_kip199(document).items()
    }


class Lying(StandaloneFile):
    """A store that writes a wrong position, a number of times."""

    def __init__(self, path: Path, *, times: int) -> None:
        super().__init__(path)
        self.left = times

    def write_all(self, changes: Mapping[str, Offsets]) -> WriteReply:
        self.left -= 1
        wrong = {
            name: Offsets.of(Entry(one.partition, '{"position":3}') for one in offsets)
            for name, offsets in changes.items()
        }
        return super().write_all(changes if self.left < 0 else wrong)


@pytest.mark.parametrize(("times", "error"), [(1, NotApplied), (9, LeftStopped)])
def test_what_can_not_be_proved_is_undone(
    config: Path, monkeypatch: pytest.MonkeyPatch, times: int, error: type[Exception]
) -> None:
    """The connectors before it are undone, too. If that can't be verified, the message says so; the exit code is 3."""
    from airflow_provider_connect_offsets.cli import main, opened

    monkeypatch.chdir(config.parent)
    storage = opened.open_storage(config, None)
    store = Lying(config.parent / "connect.offsets", times=times)
    faulty = opened.WorkerStorage(storage.config, store)
    requested = EXPORTED.replace("1}", "7}").replace("4}", "9}")
    changes = importing.plan(faulty, importing.read_document(requested, frozenset()))

    with pytest.raises(error) as raised:
        importing.write(faulty, changes)

    if error is NotApplied:
        assert {name: list(offsets) for name, offsets in faulty.read_all()} == {
            name: list(offsets) for name, offsets in parse_kip199(json.loads(EXPORTED)).items()
        }
    assert isinstance(raised.value, NotApplied | LeftStopped)
    assert main._exit_code(raised.value) == (1 if error is NotApplied else 3)
