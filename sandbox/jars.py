"""Kafka's jars: fetched once per user, by the Ivy that PySpark ships, and shared by all sandboxes."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.java import java

KAFKA_VERSION = "4.3.1"
LOG4J_VERSION = "2.25.4"  # the log4j that Kafka itself asks for

MODULES = (
    *(
        f"org.apache.kafka:{name}:{KAFKA_VERSION}"
        for name in ("kafka_2.13", "connect-runtime", "connect-mirror", "connect-file", "kafka-tools")
    ),
    f"org.apache.logging.log4j:log4j-slf4j-impl:{LOG4J_VERSION}",
)

_MANIFEST = "manifest.json"
_ATTEMPTS = 3


def cache_directory() -> Path:
    """Where the jars of this Kafka version are kept."""
    # The XDG specification calls a relative path invalid, to be ignored.
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    base = configured if configured.is_absolute() else Path.home() / ".cache"
    return base / "airflow-provider-connect-offsets" / f"kafka-{KAFKA_VERSION}"


def kafka_jars() -> Path:
    """The directory that holds Kafka's jars; they are fetched if they are not there, which takes a minute or so.

    It appears whole or not at all, and several processes may ask at once: one fetches, the others wait for it.
    """
    directory = cache_directory()
    if is_complete(directory):
        return directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    with _locked(directory.with_name(f"{directory.name}.lock")):
        if not is_complete(directory):
            _publish(directory)
    return directory


def is_complete(directory: Path) -> bool:
    """Whether every jar that was fetched for today's list of modules is still there, in full length."""
    try:
        manifest = json.loads((directory / _MANIFEST).read_text())
        return manifest["modules"] == list(MODULES) and all(
            (directory / name).stat().st_size == size for name, size in manifest["jars"].items()
        )
    except (FileNotFoundError, ValueError):
        return False


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _publish(directory: Path) -> None:
    # Beside its destination, so that the rename stays on one file system and is atomic.
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as scratch:
        fetched = Path(scratch, "jars")
        fetched.mkdir()
        _fetch(fetched, Path(scratch))
        jars = {jar.name: jar.stat().st_size for jar in sorted(fetched.glob("*.jar"))}
        (fetched / _MANIFEST).write_text(json.dumps({"modules": MODULES, "jars": jars}, indent=1))
        if directory.exists():
            directory.rename(Path(scratch, "damaged"))
        fetched.rename(directory)


def _fetch(into: Path, scratch: Path) -> None:
    """Have Ivy resolve the modules from its default repository, and copy their jars to ``into``."""
    settings, wanted = scratch / "ivysettings.xml", scratch / "ivy.xml"
    settings.write_text(_SETTINGS.format(cache=scratch / "cache"))
    wanted.write_text(_wanted())
    command = [str(java()), "-jar", str(ivy_jar()), "-settings", str(settings), "-ivy", str(wanted)]
    command += ["-retrieve", f"{into}/[artifact]-[revision](-[classifier]).[ext]", "-types", "jar", "bundle"]
    # Ivy does not try again by itself; what a failed attempt has fetched is in its cache for the next.
    for _ in range(_ATTEMPTS):
        told = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if told.returncode == 0:
            return
    raise SandboxError(
        "Kafka's jars could not be fetched (where a proxy is needed, name it to Java in JAVA_TOOL_OPTIONS). Ivy says:\n"
        + "\n".join(told.stdout.splitlines()[-30:])
    )


def ivy_jar() -> Path:
    """The Ivy jar that PySpark ships."""
    spec = importlib.util.find_spec("pyspark")  # found, not imported: importing it takes seconds
    for location in (spec.submodule_search_locations or ()) if spec else ():
        for jar in sorted(Path(location, "jars").glob("ivy-*.jar")):
            return jar
    raise SandboxError("PySpark, which ships the Ivy that fetches Kafka's jars, is not installed: make setup")


def _wanted() -> str:
    dependencies = "".join(
        '<dependency org="{}" name="{}" rev="{}" conf="default->default"/>'.format(*module.split(":"))
        for module in MODULES
    )
    return _WANTED.format(dependencies=dependencies)


_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <caches defaultCacheDir="{cache}"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""

_WANTED = """\
<ivy-module version="2.0">
  <info organisation="sandbox" module="kafka"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>{dependencies}</dependencies>
</ivy-module>
"""
