"""A workspace on an object store that answers as S3 does: files, locks and journals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from aiobotocore.httpsession import AIOHTTPSession
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectionClosedError

from airflow_provider_connect_offsets.exceptions import WorkspaceUnwritable
from airflow_provider_connect_offsets.saga import operate
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import age, require_single_creation
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.paths import join
from airflow_provider_connect_offsets.workspace.schemas import NEXT_RECORDS
from sandbox import wait_until
from tests.support.faults.dead_holders import Time
from tests.support.faults.made_up_operations import OTHER, die, operation
from tests.support.faults.made_up_stages import World
from tests.support.programs.object_store import ObjectStore


@pytest.fixture
def root(store: ObjectStore) -> str:
    """A directory that does not exist yet."""
    return join(store.create_bucket(), "offsets", "manual__2026-01-31T12_00")


def test_files(root: str) -> None:
    """Written, replaced, listed and removed; what is not there is said to be missing."""
    for name in ("a/1", "a/b/2", "c"):
        files.write_bytes(join(root, name), b"a longer text")
    files.write_bytes(join(root, "c"), b"\x00short")

    assert files.read_bytes(join(root, "c")) == b"\x00short"
    assert files.list_names(root) == ["a", "c"]
    assert files.exists(join(root, "a"))
    assert b"".join(files.read_chunks(join(root, "a/1"), size=4) or ()) == b"a longer text"

    files.remove_tree(join(root, "a"))
    files.remove(join(root, "c"))
    files.remove(join(root, "c"))
    assert (files.list_names(root), files.read_bytes(join(root, "c"))) == ([], None)
    assert not files.exists(root)


def test_of_many_who_create_one_file_one_succeeds(root: str) -> None:
    """The file has the content of that one."""
    uri = join(root, "lease")

    with ThreadPoolExecutor(8) as callers:
        created = list(callers.map(lambda number: files.create_bytes(uri, b"%d" % number), range(8)))

    assert sum(created) == 1
    assert files.read_bytes(uri) == b"%d" % created.index(True)


def test_a_file_is_created_though_the_answer_is_lost(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client repeats the request, and the store says that the file exists; one of another caller does exist."""
    uri, send, lost = join(root, "lease"), AIOHTTPSession.send, list[str]()

    async def lose_the_first(session: AIOHTTPSession, request: AWSPreparedRequest) -> AWSResponse:
        answer = await send(session, request)
        if not lost:
            lost.append(request.method)
            raise ConnectionClosedError(endpoint_url=request.url)
        return answer

    monkeypatch.setattr(AIOHTTPSession, "send", lose_the_first)

    assert files.create_bytes(uri, b"mine")
    assert lost == ["PUT"]
    assert not files.create_bytes(uri, b"another one's")
    assert files.read_bytes(uri) == b"mine"


def test_a_missing_bucket_is_not_created(store: ObjectStore) -> None:
    """Its name is a typo, and whoever gets it later would get the offsets."""
    before = store.bucket_names()

    with pytest.raises(WorkspaceUnwritable, match=r"s3a://no-such-bucket/run/request\.json can't be written"):
        files.write_json("s3a://no-such-bucket/run/request.json", {})
    with pytest.raises(WorkspaceUnwritable, match="s3a://no-such-bucket/_journal/lease can't be written"):
        files.create_bytes("s3a://no-such-bucket/_journal/lease", b"{}")

    assert store.bucket_names() == before


def test_a_dataset_is_replaced_whole(root: str) -> None:
    """Rows of the dataset that was there before are gone."""
    uri = join(root, "next_records")
    known = {"connector": "x", "kafka_cluster": "c", "kafka_partition": 0, "next_record": 1}
    written = [{**known, "topic": topic} for topic in ("b", "a")]

    for rows in (written, written[1:]):
        write_dataset(uri, NEXT_RECORDS, rows)

    assert [row["topic"] for row in iterate_dataset(uri, NEXT_RECORDS)] == ["a"]


def test_the_age_of_a_file_is_by_the_clock_of_the_store(root: str) -> None:
    """Nobody's own clock tells whether the holder of a lease is dead."""
    uri = join(root, "lease")
    files.write_bytes(uri, b"")
    before = age(uri)

    wait_until(lambda: (age(uri) or 0) > (before or 0), 30, "the file does not become older")

    assert before is not None
    assert files.list_names(root) == ["lease"]


def test_a_run_that_died_is_undone_by_the_next_one(root: str) -> None:
    """Its journal is found there, and while it lives no other run gets in."""
    world, time = World(), Time()
    journal = Journal(root, cluster="c", resource="a sink/ü", wall=time, age=time.age, clock=time.clock)
    require_single_creation(root)
    die(world, journal, "capture resume x")

    ended = operate(operation(world, journal), OTHER)

    assert ended.left[0].is_undone
    assert world.calls.index("undo alter x") < world.calls.index("capture alter x")
