"""Jars of Kafka and of connectors, fetched once per user by the Ivy that PySpark ships, and shared by all sandboxes."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.java import java, vm_version

KAFKA_VERSION = "4.3.1"
# Those that `make test-versions` runs as well; of the first the REST API can't change offsets yet.
OLDER_VERSIONS = ("3.5.1", "3.6.2", "3.9.1", "4.0.2")

_MODULES = ("kafka_2.13", "connect-runtime", "connect-mirror", "connect-file", "kafka-tools")
# Beside these, in the version that most tests run with.
_ALSO = ("connect-basic-auth-extension",)
_LOG4J2 = "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"  # of the log4j that Kafka itself asks for
_RELOAD4J = "org.slf4j:slf4j-reload4j:1.7.36"  # of the slf4j that Kafka itself asks for

# Connectors that tests run: name → modules. Ivy can not resolve Debezium 3.5.2 and 3.7.1 (docs/seen.md).
CONNECTORS = {
    "debezium-mariadb-3.5.0": ("io.debezium:debezium-connector-mariadb:3.5.0.Final",),
    "debezium-postgres-3.4.3": ("io.debezium:debezium-connector-postgres:3.4.3.Final",),
}

# Hadoop's client of S3 for the Hadoop of Spark 4.0. Its own choice, all of Amazon's services in one jar, has 600 MB.
_AWS_SDK = "2.29.52"
_S3A = (
    "org.apache.hadoop:hadoop-aws:3.4.1",
    *(f"software.amazon.awssdk:{name}:{_AWS_SDK}" for name in ("s3", "s3-transfer-manager", "sts")),
)
_NEVER = '<exclude org="software.amazon.awssdk" module="bundle"/>'

_MANIFEST = "manifest.json"
_ATTEMPTS = 3


def logs_by_log4j2(version: str) -> bool:
    """Whether a version of Kafka logs by Log4j 2, as from 4.0 on, rather than by reload4j."""
    return int(version.partition(".")[0]) >= 4


def modules(version: str) -> tuple[str, ...]:
    """The modules of a version of Kafka, in Maven's notation."""
    return (
        *(f"org.apache.kafka:{name}:{version}" for name in (*_MODULES, *(_ALSO if version == KAFKA_VERSION else ()))),
        _LOG4J2 if logs_by_log4j2(version) else _RELOAD4J,
    )


def cache_directory(version: str = KAFKA_VERSION) -> Path:
    """Where the jars of a version of Kafka are kept."""
    return user_cache() / f"kafka-{version}"


def user_cache() -> Path:
    """The user's directory for what is fetched or built once, and shared by all sandboxes."""
    # The XDG specification calls a relative path invalid, to be ignored.
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    base = configured if configured.is_absolute() else Path.home() / ".cache"
    return base / "airflow-provider-connect-offsets"


def kafka_jars(version: str = KAFKA_VERSION) -> Path:
    """The directory with a version's jars; missing ones are fetched, which takes about a minute.

    It is created atomically. If several processes need it at once, one fetches and the others wait.
    """
    return jars_of(cache_directory(version), modules(version))


def class_archive(version: str = KAFKA_VERSION) -> Path:
    """Where the JVM's archive of a version's classes is, beside the jars, if ``class_archive.py`` has written it."""
    return cache_directory(version) / f"classes-{vm_version(java())}.jsa"


def connector_plugins(name: str) -> Path:
    """A directory for ``plugin.path`` with one of ``CONNECTORS``; missing jars are fetched, like Kafka's."""
    return jars_of(user_cache() / f"plugins-{name}" / name, CONNECTORS[name]).parent


def s3a_jars() -> Path:
    """The directory with what Spark needs for ``s3a://``; missing jars are fetched, like Kafka's."""
    return jars_of(user_cache() / "hadoop-s3a", _S3A)


def jars_of(directory: Path, expected: Sequence[str]) -> Path:
    """``directory`` with the jars of these modules and of what they depend on; missing ones are fetched.

    It is created atomically. If several processes need it at once, one fetches and the others wait.
    """
    if is_complete(directory, expected):
        return directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    with lock(directory.with_name(f"{directory.name}.lock")):
        if not is_complete(directory, expected):
            _publish(directory, expected)
    return directory


def is_complete(directory: Path, expected: Sequence[str]) -> bool:
    """Whether every jar that was fetched for these modules is still there, in full length."""
    try:
        manifest = json.loads((directory / _MANIFEST).read_text())
        return manifest["modules"] == list(expected) and all(
            (directory / name).stat().st_size == size for name, size in manifest["jars"].items()
        )
    except (FileNotFoundError, ValueError):
        return False


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the lock of this file, for which other processes wait."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _publish(directory: Path, expected: Sequence[str]) -> None:
    # In the folder of its destination, so that the rename is on one file system and atomic.
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as scratch:
        fetched = Path(scratch, "jars")
        fetched.mkdir()
        _fetch(expected, fetched, Path(scratch))
        jars = {jar.name: jar.stat().st_size for jar in sorted(fetched.glob("*.jar"))}
        (fetched / _MANIFEST).write_text(json.dumps({"modules": expected, "jars": jars}, indent=1))
        if directory.exists():
            directory.rename(Path(scratch, "damaged"))
        fetched.rename(directory)


def _fetch(expected: Sequence[str], into: Path, scratch: Path) -> None:
    """Have Ivy resolve the modules from its default repository, and copy their jars to ``into``."""
    settings, listed = scratch / "ivysettings.xml", scratch / "ivy.xml"
    settings.write_text(_SETTINGS.format(cache=scratch / "cache"))
    listed.write_text(_ivy_file(expected))
    command = [str(java()), "-jar", str(ivy_jar()), "-settings", str(settings), "-ivy", str(listed)]
    command += ["-retrieve", f"{into}/[artifact]-[revision](-[classifier]).[ext]", "-types", "jar", "bundle"]
    # Ivy does not retry; what a failed attempt has fetched is in its cache for the next one.
    for _ in range(_ATTEMPTS):
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if ended.returncode == 0:
            return
    raise SandboxError(
        "Jars could not be fetched (if a proxy is needed, set it in JAVA_TOOL_OPTIONS). Output of Ivy:\n"
        + "\n".join(ended.stdout.splitlines()[-30:])
    )


def ivy_jar() -> Path:
    """The Ivy jar that PySpark ships."""
    spec = importlib.util.find_spec("pyspark")  # located, not imported: importing it takes seconds
    for location in (spec.submodule_search_locations or ()) if spec else ():
        for jar in sorted(Path(location, "jars").glob("ivy-*.jar")):
            return jar
    raise SandboxError("PySpark, which ships the Ivy that fetches Kafka's jars, is not installed: make setup")


def _ivy_file(expected: Sequence[str]) -> str:
    dependencies = "".join(
        '<dependency org="{}" name="{}" rev="{}" conf="default->default"/>'.format(*module.split(":"))
        for module in expected
    )
    return _IVY.format(dependencies=dependencies, never=_NEVER)


_SETTINGS = """\
<ivysettings>
  <property name="ivy.maven.lookup.sources" value="false"/>
  <property name="ivy.maven.lookup.javadoc" value="false"/>
  <settings defaultResolver="central"/>
  <caches defaultCacheDir="{cache}"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""

_IVY = """\
<ivy-module version="2.0">
  <info organisation="sandbox" module="kafka"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>{dependencies}{never}</dependencies>
</ivy-module>
"""
