"""A ``spark-submit`` that hands its job to a running Spark: the job is real, only the start is saved.

What it takes to submit a job, a JVM and a Python of its own with nothing but the zip, has tests of its own, and so have
the DAG runs marked ``submits``.
"""

from __future__ import annotations

import sys
import threading
import traceback
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from unittest.mock import patch

from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline import job
from airflow_provider_connect_offsets.pipeline.failover import standby_job, translate_job
from airflow_provider_connect_offsets.pipeline.shipping import PACKAGE, job_path

_PROGRAM = """#!{python} -IS
import sys
from multiprocessing.connection import Client

with Client({address!r}, "AF_UNIX") as connection:
    connection.send(sys.argv[1:])
    code, text = connection.recv()
sys.stderr.write(text)
sys.exit(code)
"""


@dataclass(frozen=True)
class WarmSpark:
    """Runs jobs one after the other, each in a session of its own; one that stands by lets the others go first."""

    spark: SparkSession

    @contextmanager
    def serve(self, folder: Path) -> Iterator[Path]:
        """Create ``spark-submit`` in ``folder``, which must be first on the path."""
        address = str(folder / "socket")
        program = folder / "spark-submit"
        program.write_text(_PROGRAM.format(python=sys.executable, address=address))
        program.chmod(0o755)
        # Not rehearsed: a driver that stands by does this to get as warm as this one.
        with Listener(address, "AF_UNIX") as listener, patch.object(translate_job, "rehearse"):
            serving = threading.Thread(target=self._serve, args=[listener])
            serving.start()
            try:
                yield folder
            finally:
                with Client(address, "AF_UNIX") as connection:
                    connection.send(None)
                serving.join()

    def _serve(self, listener: Listener) -> None:
        while True:
            connection = listener.accept()
            words = connection.recv()
            if words is None:
                connection.close()
                return
            if standby_job.JOB.name in words:
                # It waits for tasks that may need a job, too. It waits in vain if its own task was killed for good.
                threading.Thread(target=self._answer, args=[connection, words], daemon=True).start()
            else:
                self._answer(connection, words)

    def _answer(self, connection: Connection, words: list[str]) -> None:
        with connection, suppress(BrokenPipeError):  # the caller was killed
            connection.send(self._submitted(words))

    def _submitted(self, words: list[str]) -> tuple[int, str]:
        """Exit code and last output of a job."""
        try:
            self._run(words)
        except Exception:  # noqa: BLE001 - as Spark does: whatever ends the job is reported, and the code is 1
            return 1, traceback.format_exc()
        return 0, ""

    def _run(self, words: list[str]) -> None:
        at = words.index(str(job_path()))
        name, *arguments = words[at + 1 :]
        # The modules are those that are imported here already; that the zip has them is checked all the same.
        shipped = zipfile.ZipFile(words[words.index("--py-files") + 1]).namelist()
        assert job_path().relative_to(PACKAGE.parent).as_posix() in shipped
        requested = job.load(name)
        session = self.spark.newSession()
        given = dict(words[i + 1].split("=", 1) for i, word in enumerate(words[:at]) if word == "--conf")
        for setting, value in {**requested.defaults, **given}.items():
            if session.conf.isModifiable(setting):
                session.conf.set(setting, value)
        requested.run(session, arguments)
