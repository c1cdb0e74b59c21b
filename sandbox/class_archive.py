"""An archive of the classes that Kafka's servers load, in the JVM's own format (class data sharing, JEP 310 and 341).

The JVM maps it instead of reading, verifying and linking some 9,000 classes from jars. It uses an archive only if it
was written by the same JVM with the same jars; otherwise it reads the jars.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from sandbox.broker import Secured
from sandbox.errors import SandboxError
from sandbox.jars import class_archive, kafka_jars, lock
from sandbox.java import java
from sandbox.launch import OPTIONS
from sandbox.sandbox import Sandbox


def write_class_archive() -> None:
    """Write the archive for this JVM, if it is missing, which takes about 20 seconds.

    It is created atomically. If several processes need it at once, one writes it and the others wait.

    Raises:
        SandboxError: the JVM can't write it
    """
    archive, jars = class_archive(), kafka_jars()
    with lock(jars.with_name(f"{jars.name}.lock")):
        if archive.exists():
            return
        # Beside the jars' folder, so that the rename is on one file system and atomic.
        with tempfile.TemporaryDirectory(prefix=f".{jars.name}-", dir=jars.parent) as scratch:
            dumped = Path(scratch, archive.name)
            _dump(_list_classes(Path(scratch)), dumped)
            dumped.rename(archive)


def _list_classes(scratch: Path) -> Path:
    """Start the servers, and return the file with the classes that they have loaded."""
    option = f"-XX:DumpLoadedClassList={scratch}/%p.classlist"  # %p: the process id
    with Sandbox(secured=Secured(options=[option])) as sandbox:
        sandbox.another_cluster("classes", options=[option])
    lines = (line for path in sorted(scratch.glob("*.classlist")) for line in path.read_text().splitlines())
    listed = scratch / "classes"
    listed.write_text("".join(f"{line}\n" for line in dict.fromkeys(lines)))
    return listed


def _dump(listed: Path, archive: Path) -> None:
    command = [str(java()), *OPTIONS, "-Xshare:dump", f"-XX:SharedClassListFile={listed}"]
    command += [f"-XX:SharedArchiveFile={archive}", "-cp", f"{kafka_jars()}/*"]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if ended.returncode != 0 or not archive.exists():
        last = "\n".join(ended.stdout.splitlines()[-5:])
        raise SandboxError(f"{java()} can't archive Kafka's classes, so its servers start more slowly: {last}")
