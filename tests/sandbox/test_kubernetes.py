"""What builds the API server and the definitions of Strimzi's resources: once, or a sentence why not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox.errors import SandboxError
from sandbox.java import java_from
from sandbox.kubernetes import binaries, why_missing

_GO = """#!/bin/sh
# In place of Go, which takes minutes.
echo once >> {times}
echo etcd > built
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the user's, and a path with nothing on it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "airflow-provider-connect-offsets"


def program(path: Path, text: str) -> None:
    """A shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def java_of(home: Path, version: str) -> Path:
    """A fake ``java`` that only prints its version."""
    printed = f"echo '    java.specification.version = {version}' >&2"
    program(home / "bin" / "java", f"#!/bin/sh\n{printed}\n")
    return home / "bin" / "java"


def test_without_go_a_sentence_says_how_to_get_it(cache: Path) -> None:
    """Tests that need the programs are skipped with it."""
    assert "Go is not installed" in (why_missing() or "")
    with pytest.raises(SandboxError, match=r"Go is not installed.*golang-go"):
        binaries.etcd()
    assert not list(cache.glob("etcd-v*[0-9]"))


def test_programs_that_are_built_already_need_no_go(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing is missing but perhaps a Java."""
    cache.mkdir(parents=True)
    for name in (f"etcd-{binaries.ETCD_VERSION}", f"kube-apiserver-{binaries.KUBERNETES_VERSION}"):
        (cache / name).touch()
    monkeypatch.setenv("JAVA_HOME", str(java_of(cache.parent / "jdk", "25").parents[1]))

    assert why_missing() is None


def test_two_at_once_build_once(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One builds, the others wait; nothing but the program and its lock is left."""
    times = tmp_path / "times"
    program(tmp_path / "bin" / "go", _GO.format(times=times))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    # Threads do for processes: each opens the lock's file itself, and that is what the lock goes by.
    with ThreadPoolExecutor(max_workers=4) as pool:
        found = {call.result() for call in [pool.submit(binaries.etcd) for _ in range(4)]}

    name = f"etcd-{binaries.ETCD_VERSION}"
    assert found == {cache / name}
    assert times.read_text().splitlines() == ["once"]
    assert {path.name for path in cache.iterdir()} == {name, f"{name}.lock"}


def test_a_failed_build_says_why_and_leaves_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Go says is shown."""
    program(tmp_path / "bin" / "go", "#!/bin/sh\necho 'no network' >&2\nexit 1\n")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    with pytest.raises(SandboxError, match=r"(?s)go build.*no network"):
        binaries.etcd()
    assert {path.name for path in cache.iterdir()} == {f"etcd-{binaries.ETCD_VERSION}.lock"}


@pytest.mark.parametrize(("home", "on_path", "found"), [("21", "17", "home"), ("17", "25", "path")])
def test_the_first_java_that_is_new_enough(
    home: str, on_path: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JAVA_HOME comes first, but it may have the older Java that Kafka runs on."""
    javas = {"home": java_of(tmp_path / "home", home), "path": java_of(tmp_path / "path", on_path)}
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))

    assert java_from(21) == javas[found]


def test_no_java_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence says so."""
    monkeypatch.setenv("JAVA_HOME", str(java_of(tmp_path / "home", "17").parents[1]))
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SandboxError, match="There is no Java 99 or later"):
        java_from(99)
