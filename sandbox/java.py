"""Find the Java that fetches the jars and runs the servers."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from sandbox.errors import SandboxError

SUPPORTED = (17, 21)
# Where Linux distributions and macOS keep JDKs.
_INSTALLED = ("usr/lib/jvm/*/bin/java", "Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java")


def install_hint() -> str:
    """The command that installs a JDK on this kind of machine."""
    return "brew install openjdk@17" if sys.platform == "darwin" else "apt-get install openjdk-17-jdk-headless"


def java() -> Path:
    """The ``java`` of a supported, full JDK: that of ``JAVA_HOME``, else the first on the path."""
    home = os.environ.get("JAVA_HOME")
    binary_path = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if binary_path is None:
        where = f"JAVA_HOME ({home})" if home else "the path"
        raise SandboxError(f"There is no java in {where}; a JDK 17 or 21 is needed: {install_hint()}")
    return _check(Path(binary_path))


def java_from(version: int) -> Path:
    """A ``java`` of this version or a later one: of ``JAVA_HOME``, on the path, or where systems install JDKs."""
    home = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    candidates = [Path(home, "bin", "java")] if home else []
    candidates += [Path(on_path)] if on_path else []
    candidates += [java for pattern in _INSTALLED for java in sorted(Path("/").glob(pattern))]
    for binary in candidates:
        if binary.exists() and (_version_of(binary) or 0) >= version:
            return binary
    raise SandboxError(f"There is no Java {version} or later in JAVA_HOME, on the path, or among the installed JDKs.")


def _version_of(binary: Path) -> int | None:
    version = re.search(r"java\.specification\.version = (\d+)", _settings(binary))
    return int(version[1]) if version else None


def vm_version(binary: Path) -> str:
    """The version of the JVM, with its build."""
    version = re.search(r"java\.vm\.version = (\S+)", _settings(binary))
    if version is None:
        raise SandboxError(f"{binary} does not tell the version of its JVM: {install_hint()}")
    return version[1]


@functools.cache
def _settings(binary: Path) -> str:
    command = [str(binary), "-XshowSettings:properties", "-version"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def _check(binary: Path) -> Path:
    settings = _settings(binary)
    version = re.search(r"java\.specification\.version = (\d+)", settings)
    home = re.search(r"java\.home = (.+)", settings)
    if version is None or home is None:
        raise SandboxError(f"{binary} does not work as Java; a JDK 17 or 21 is needed: {install_hint()}")
    if int(version[1]) not in SUPPORTED:
        raise SandboxError(f"{binary} is Java {version[1]}, but a JDK 17 or 21 is needed: {install_hint()}")
    if not Path(home[1].strip(), "bin", "javac").exists():
        raise SandboxError(f"{binary} belongs to a JRE, but a full JDK 17 or 21 is needed: {install_hint()}")
    return binary
