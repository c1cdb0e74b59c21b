"""Without a suitable Java, the error names the command that installs one."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.errors import SandboxError
from sandbox.java import java


def fake_jdk(home: Path, version: str, *, compiler: bool = True) -> Path:
    """A Java that only tells its version."""
    binaries = home / "bin"
    binaries.mkdir(parents=True)
    properties = f"    java.home = {home}\n    java.specification.version = {version}\n"
    (binaries / "java").write_text(f"#!/bin/sh\ncat >&2 <<EOF\n{properties}EOF\n")
    (binaries / "java").chmod(0o755)
    if compiler:
        (binaries / "javac").touch()
    return home


@pytest.mark.parametrize(("platform", "command"), [("linux", "apt-get install"), ("darwin", "brew install")])
def test_no_java(platform: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is one sentence with the command that installs Java on this platform."""
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SandboxError, match=f"no java in the path.*{command}"):
        java()


def test_java_home_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong JAVA_HOME is named, not passed over."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(SandboxError, match=f"JAVA_HOME .{tmp_path}"):
        java()


@pytest.mark.parametrize("version", ["1.8", "11", "25"])
def test_a_java_that_does_not_fit(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka needs 17 at least, Spark runs on nothing beyond 21."""
    monkeypatch.setenv("JAVA_HOME", str(fake_jdk(tmp_path, version)))

    with pytest.raises(SandboxError, match=r"a JDK 17 or 21 is needed: .* install openjdk"):
        java()


def test_a_java_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A JRE is not enough."""
    monkeypatch.setenv("JAVA_HOME", str(fake_jdk(tmp_path, "17", compiler=False)))

    with pytest.raises(SandboxError, match="JRE"):
        java()


@pytest.mark.parametrize("version", ["17", "21"])
def test_a_java_that_fits(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one of JAVA_HOME goes before that of the path."""
    monkeypatch.setenv("JAVA_HOME", str(fake_jdk(tmp_path, version)))

    assert java() == tmp_path / "bin" / "java"
