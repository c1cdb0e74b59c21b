"""An object store that answers as S3 does, and what programs need to reach it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import fsspec
import pytest

from airflow_provider_connect_offsets.workspace.files import locate
from sandbox.jars import s3a_jars

_ANYBODY = {"AWS_ACCESS_KEY_ID": "anybody", "AWS_SECRET_ACCESS_KEY": "anything", "AWS_DEFAULT_REGION": "us-east-1"}


@dataclass(frozen=True)
class ObjectStore:
    """A store on this machine, without any object at first."""

    address: str

    def create_bucket(self) -> str:
        """The URI of a new bucket, as fsspec and Hadoop know it."""
        name = uuid4().hex
        fsspec.filesystem("s3a").mkdir(name)
        return f"s3a://{name}"

    def bucket_names(self) -> set[str]:
        """All buckets."""
        return set(fsspec.filesystem("s3a", use_listings_cache=False).ls("", detail=False))

    @property
    def spark_settings(self) -> Mapping[str, str]:
        """What Spark needs to reach it."""
        return {
            "spark.jars": ",".join(map(str, sorted(s3a_jars().glob("*.jar")))),
            "spark.hadoop.fs.s3a.endpoint": self.address,
            "spark.hadoop.fs.s3a.path.style.access": "true",
        }


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Start a store, to which the environment of this process leads meanwhile."""
    from moto.server import ThreadedMotoServer  # not installed where only tests/unit run

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**_ANYBODY, "AWS_ENDPOINT_URL": address, "NO_PROXY": host}.items():
            patch.setenv(name, value)
        yield ObjectStore(address)
    fsspec.filesystem("s3").clear_instance_cache()
    server.stop()


def upload(folder: Path, uri: str) -> None:
    """Copy a folder to the store."""
    file_system, path = locate(uri)
    file_system.put(f"{folder}/", path, recursive=True)


def download(uri: str, folder: Path) -> None:
    """Copy a directory of the store to a folder that does not exist yet."""
    file_system, path = locate(uri)
    file_system.get(f"{path}/", f"{folder}/", recursive=True)
