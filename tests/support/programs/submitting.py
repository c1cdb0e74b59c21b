"""Run jobs by ``spark-submit`` in a Python without this package or its dependencies."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

import pyarrow.parquet as pq
import pyspark

from airflow_provider_connect_offsets.pipeline import shipping
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.paths import join
from tests.support.programs.object_store import ObjectStore, download, upload
from tests.support.programs.output import read_to_end

# The driver's address must be one that the workers can reach.
ON_CLUSTER = {"spark.driver.host": "127.0.0.1", "spark.executor.memory": "512m"}


def bare_python(path: Path) -> Path:
    """A Python without site-packages: neither this package, nor pyarrow, nor any other is installed."""
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    path.chmod(0o755)
    return path


def submit(
    job: str,
    uri: str,
    scratch: Path,
    settings: Mapping[str, str] = MappingProxyType({}),
    *,
    master: str = "local[2]",
) -> None:
    """Run the job called ``job`` on a run directory; driver and workers have only the shipped zip.

    settings: of the user, in ``spark-defaults.conf``
    """
    python = bare_python(scratch / "python")
    home = Path(pyspark.__file__).parent
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK"))}
    (scratch / "conf").mkdir()
    (scratch / "conf" / "spark-defaults.conf").write_text("".join(f"{n} {value}\n" for n, value in settings.items()))
    environment |= {"SPARK_CONF_DIR": str(scratch / "conf")}
    environment |= {
        "SPARK_SUBMIT_OPTS": shipping.QUICK_START,
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": str(python),
    }

    for hidden in ("airflow_provider_connect_offsets", "pyarrow", "fsspec"):
        alone = subprocess.run([python, "-c", f"import {hidden}"], cwd=scratch, env=environment, check=False)
        assert alone.returncode != 0
    with subprocess.Popen(
        [
            home / "bin" / "spark-submit",
            *("--master", master),
            *("--py-files", shipping.write_py_files(scratch / "connect_offsets.zip")),
            shipping.job_path(),
            job,
            uri,
        ],
        cwd=scratch,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as submitted:
        printed = read_to_end(submitted)
    assert submitted.returncode == 0, printed[-5000:]


@dataclass(frozen=True)
class Cluster:
    """A Spark cluster, whose jobs read and write a folder that all share, or an object store.

    Attributes:
        master: its address
        store: the object store; None for a folder
    """

    master: str
    store: ObjectStore | None = None

    def run(self, job: str, folder: Path) -> dict[str, object]:
        """Run a job on the datasets in ``folder``; what its directory has then."""
        with tempfile.TemporaryDirectory() as name:
            scratch = Path(name)
            if self.store is None:
                submit(job, folder.as_uri(), scratch, ON_CLUSTER, master=self.master)
                return _contents(folder)
            uri = join(self.store.create_bucket(), "workspace", "run")
            upload(folder, uri)
            _rewrite(uri, folder.as_uri(), uri)
            submit(job, uri, scratch, {**ON_CLUSTER, **self.store.spark_settings}, master=self.master)
            _rewrite(uri, uri, folder.as_uri())
            download(uri, scratch / "run")
            return _contents(scratch / "run")


def _rewrite(directory: str, before: str, after: str) -> None:
    """Replace the beginnings of URIs in the documents of a directory."""
    for name in files.list_names(directory):
        if name.endswith(".json"):
            text = (files.read_bytes(join(directory, name)) or b"").decode()
            files.write_bytes(join(directory, name), text.replace(before, after).encode())


def assert_same_on_cluster(job: str, folder: Path, cluster: Cluster) -> None:
    """Assert that a job that has run in ``folder`` writes the same datasets when it runs there on a cluster."""
    on_one_machine = _contents(folder)

    on_cluster = cluster.run(job, folder)

    names = on_cluster.keys() | on_one_machine.keys()
    found = {name: (on_cluster.get(name), on_one_machine.get(name)) for name in sorted(names)}
    differing = {name: both for name, both in found.items() if both[0] != both[1]}
    assert not differing, differing


def _contents(folder: Path) -> dict[str, object]:
    """The rows of each dataset of a run, in any order, and its documents, without the times of the job."""
    datasets = {marker.parent for marker in folder.rglob("_SUCCESS")}
    tables = {uri: pq.read_table(uri, coerce_int96_timestamp_unit="us") for uri in datasets}
    rows = {str(uri.relative_to(folder)): table.to_pylist() for uri, table in tables.items()}
    documents = {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}
    assert rows
    sorted_rows = {name: sorted(repr(_untimed(row)) for row in found) for name, found in rows.items()}
    return {**sorted_rows, **{name: _untimed(document) for name, document in documents.items()}}


def _untimed(document: dict[str, object]) -> dict[str, object]:
    """Without the times of the job; times that the test's own session wrote have no zone: they are in UTC."""
    values = {name: value for name, value in document.items() if not name.endswith("_at")}
    return {
        name: value.replace(tzinfo=None) if isinstance(value, datetime) else value for name, value in values.items()
    }


@dataclass(frozen=True)
class UserSettings:
    """Settings that differ from the jobs' defaults, and a check that Spark used them."""

    log: Path

    @property
    def settings(self) -> dict[str, str]:
        """The settings for ``submit``."""
        self.log.mkdir()
        return {
            "spark.sql.shuffle.partitions": "3",
            "spark.sql.adaptive.enabled": "true",
            "spark.sql.adaptive.coalescePartitions.enabled": "false",
            "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": self.log.as_uri(),
        }

    def assert_kept(self) -> None:
        """Assert that all shuffles used the configured partitions, in adaptive plans."""
        text = "".join(path.read_text() for path in self.log.rglob("events_*"))
        assert "AdaptiveSparkPlan" in text
        assert set(re.findall(r"hashpartitioning\([^)]*, (\d+)\)", text)) == {"3"}
