"""Kafka's jars are published atomically, and fetched once for all processes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox import jars
from sandbox.errors import SandboxError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "airflow-provider-connect-offsets"


@pytest.fixture
def fetched(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with one line for each time that jars were fetched, by no network."""
    times = cache.parent / "fetched"

    def fetch(_wanted: Sequence[str], into: Path, _scratch: Path) -> None:
        with times.open("a") as file:
            file.write("once\n")
        (into / "kafka.jar").write_text("classes")
        (into / "connect.jar").write_text("more classes")

    monkeypatch.setattr(jars, "_fetch", fetch)
    return times


def count(times: Path) -> int:
    """How often jars were fetched."""
    return len(times.read_text().splitlines())


@pytest.mark.parametrize("configured", [None, "", "relative/path"])
def test_the_cache_is_the_users(configured: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an absolute XDG_CACHE_HOME it is in the home directory."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if configured is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", configured)

    assert jars.cache_directory().is_relative_to(tmp_path / ".cache" / "airflow-provider-connect-offsets")


def test_jars_are_fetched_once(cache: Path, fetched: Path) -> None:
    """The second call finds them, and nothing but them and a lock lies in the cache."""
    assert jars.kafka_jars() == jars.kafka_jars()

    assert count(fetched) == 1
    assert {path.name for path in cache.iterdir()} == {"kafka-4.3.1", "kafka-4.3.1.lock"}


@pytest.mark.parametrize("damage", ["missing", "shortened", "no manifest", "torn manifest"])
def test_a_damaged_cache_is_fetched_again(damage: str, fetched: Path) -> None:
    """A jar that is missing or cut short would only show as a riddle in a server's log."""
    directory = jars.kafka_jars()
    if damage == "missing":
        (directory / "kafka.jar").unlink()
    elif damage == "shortened":
        (directory / "kafka.jar").write_text("cla")
    elif damage == "no manifest":
        (directory / "manifest.json").unlink()
    else:
        (directory / "manifest.json").write_text('{"modules": [')

    jars.kafka_jars()

    assert count(fetched) == 2
    assert (directory / "kafka.jar").read_text() == "classes"


def test_another_list_of_modules_is_fetched_again(fetched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that was made for another list is not taken for today's."""
    jars.kafka_jars()
    monkeypatch.setattr(jars, "_MODULES", (*jars._MODULES, "more"))
    jars.kafka_jars()

    assert count(fetched) == 2


def test_each_version_of_kafka_has_a_cache_of_its_own(cache: Path, fetched: Path) -> None:
    """Each with the logging library that it can be configured by, and none disturbs the others."""
    versions = (*jars.OLDER_VERSIONS, jars.KAFKA_VERSION)

    found = [jars.kafka_jars(version) for version in (*versions, *versions)]

    assert count(fetched) == len(versions)
    assert set(found) == {cache / f"kafka-{version}" for version in versions}
    for version in versions:
        listed = jars.modules(version)
        assert f"org.apache.kafka:connect-runtime:{version}" in listed
        assert any("slf4j-reload4j" in module for module in listed) == version.startswith("3.")


def test_two_at_once_fetch_once(fetched: Path) -> None:
    """One fetches, the others wait for it."""
    # Threads do for processes: each opens the lock's file itself, and that is what the lock goes by.
    with ThreadPoolExecutor(max_workers=4) as pool:
        found = {call.result() for call in [pool.submit(jars.kafka_jars) for _ in range(4)]}

    assert len(found) == 1
    assert count(fetched) == 1


def test_a_failure_leaves_no_half_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jars that were fetched before something broke are not offered to anyone."""

    def fetch(_wanted: Sequence[str], into: Path, _scratch: Path) -> None:
        (into / "kafka.jar").write_text("classes")
        raise SandboxError("the network is down")

    monkeypatch.setattr(jars, "_fetch", fetch)
    with pytest.raises(SandboxError, match="network is down"):
        jars.kafka_jars()

    assert {path.name for path in cache.iterdir()} == {"kafka-4.3.1.lock"}


def test_what_ivy_says_is_in_the_message(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has no network reads why, and how a proxy is named."""
    monkeypatch.setattr(jars, "modules", lambda _version: ("org.example:no-such-module:1",))
    monkeypatch.setattr(jars, "_ATTEMPTS", 1)
    # A repository on this machine where nothing listens: the test asks no real one.
    monkeypatch.setattr(jars, "_SETTINGS", jars._SETTINGS.replace("<ibiblio ", '<ibiblio root="http://127.0.0.1:9/" '))

    with pytest.raises(SandboxError, match=r"(?s)JAVA_TOOL_OPTIONS.*org.example#no-such-module"):
        jars.kafka_jars()
    assert {path.name for path in cache.iterdir()} == {"kafka-4.3.1.lock"}


def test_pyspark_ships_ivy() -> None:
    """The one thing besides a JDK that fetching needs."""
    assert jars.ivy_jar().is_file()
