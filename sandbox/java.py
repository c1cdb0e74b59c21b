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


def install_hint() -> str:
    """The command that installs a JDK on this kind of machine."""
    return "brew install openjdk@17" if sys.platform == "darwin" else "apt-get install openjdk-17-jdk-headless"


def java() -> Path:
    """The ``java`` of a supported, full JDK: that of ``JAVA_HOME``, else the first on the path."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if found is None:
        where = f"JAVA_HOME ({home})" if home else "the path"
        raise SandboxError(f"There is no java in {where}; a JDK 17 or 21 is needed: {install_hint()}")
    return _checked(Path(found))


@functools.cache
def _checked(binary: Path) -> Path:
    command = [str(binary), "-XshowSettings:properties", "-version"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    version = re.search(r"java\.specification\.version = (\d+)", told.stderr)
    home = re.search(r"java\.home = (.+)", told.stderr)
    if version is None or home is None:
        raise SandboxError(f"{binary} does not work as Java; a JDK 17 or 21 is needed: {install_hint()}")
    if int(version[1]) not in SUPPORTED:
        raise SandboxError(f"{binary} is Java {version[1]}, but a JDK 17 or 21 is needed: {install_hint()}")
    if not Path(home[1].strip(), "bin", "javac").exists():
        raise SandboxError(f"{binary} belongs to a JRE, but a full JDK 17 or 21 is needed: {install_hint()}")
    return binary
