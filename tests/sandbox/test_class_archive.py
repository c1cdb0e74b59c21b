"""Kafka's classes are archived once, and the servers' JVM can use the archive."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from sandbox import class_archive as archiving
from sandbox.__main__ import main
from sandbox.class_archive import write_class_archive
from sandbox.jars import cache_directory, class_archive, kafka_jars
from sandbox.launch import kafka_command


def test_a_server_takes_its_classes_from_the_archive(tmp_path: Path) -> None:
    """The JVM says so of nearly all of Kafka's classes; an archive that it can't use would end it here."""
    write_class_archive()
    written = class_archive().stat().st_mtime

    write_class_archive()
    options = ["-Xshare:on", "-Xlog:class+load"]
    command = kafka_command("kafka.tools.StorageTool", ["random-uuid"], home=tmp_path, options=options)
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert class_archive().stat().st_mtime == written
    sources = re.findall(r"org\.apache\.kafka\.\S+ source: (\S+)", loaded)
    assert len(sources) > 20
    assert sources.count("shared") > 0.9 * len(sources)


def test_a_jvm_that_can_not_write_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command says why, and succeeds: servers start without an archive."""
    there = kafka_jars()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache_directory().mkdir(parents=True)
    for file in there.glob("*.j*"):
        if file.suffix != ".jsa":
            cache_directory().joinpath(file.name).symlink_to(file)
    monkeypatch.setattr(archiving, "_list_classes", lambda scratch: scratch / "not there")

    assert main(["jars"]) == 0

    assert re.search(r"java can't archive Kafka's classes, .*classlist failed", capsys.readouterr().err, re.DOTALL)
    assert not class_archive().exists()
    assert "SharedArchiveFile" not in " ".join(kafka_command("kafka.Kafka", [], home=tmp_path))
