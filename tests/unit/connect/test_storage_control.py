"""Which workers count as running where offsets are stored, and which of them get a login."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.connect.storage.offsets_file import write_mappings
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.connect.storage.storage_control import StorageControl
from airflow_provider_connect_offsets.exceptions import NotStopped
from tests.support.programs.authority import Certified
from tests.support.workers.scripted_worker import Reply, Worker, error

StartWorker = Callable[..., Worker]


VERSION = {"version": "4.3.1", "commit": "c", "kafka_cluster_id": "k"}


def control_of(tmp_path: Path, *urls: str) -> StorageControl:
    """Return a ``StorageControl`` for the offsets file of a standalone worker at ``urls``."""

    def open_rest(called: tuple[str, ...], timeout: float) -> ConnectRest:
        return ConnectRest(ConnectEndpoint(called, read_timeout=0.3), timeout=timeout)

    return StorageControl(StandaloneFile(tmp_path / "connect.offsets"), open_rest, rest_urls=urls)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, VERSION),
        Reply(200, "<html>"),
        Reply(302, location="https://elsewhere"),
        Reply(401, "login"),
        Reply(403, "no"),
        error(403, "no"),
        Reply(404, "starting"),
        error(500, "Request timed out"),
        error(500, "broken"),
        Reply(502, "proxy"),
        Reply(503, "starting"),
        Reply(hang_up=True),
        Reply(wait=True),
    ],
    ids=str,
)
def test_whoever_answers_counts_as_running(
    tmp_path: Path, worker: Worker, caplog: pytest.LogCaptureFixture, reply: Reply
) -> None:
    """Its next flush would overwrite a change, whatever it answers to a caller with a wrong login."""
    worker.answers("GET /", reply)
    control = control_of(tmp_path, worker.url)

    with pytest.raises(NotStopped, match=f"'lines' is RUNNING on a standalone worker \\({worker.url}\\)"):
        control.refuse_running(["lines"])

    assert ("Only a refused connection proves that the worker is down" in caplog.text) == (reply.body != VERSION)


def test_a_worker_with_an_untrusted_certificate_counts_as_running(tmp_path: Path, start_worker: StartWorker) -> None:
    """A process listens there; the certificate does not prove which."""
    root = Certified.root("root")
    (tmp_path / "server.pem").write_text(root.pem + root.key_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")

    def with_tls(plain: socket.socket) -> socket.socket:
        return context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)

    url = start_worker(with_tls).url.replace("http://", "https://")

    assert [one.url for one in control_of(tmp_path, url).workers()] == [url]


def test_a_host_that_cannot_be_reached_counts_as_running(tmp_path: Path) -> None:
    """A worker behind a broken network overwrites its file too."""
    url = "http://connect.invalid:8083"
    control = StorageControl(
        StandaloneFile(tmp_path / "connect.offsets"),
        lambda urls, timeout: ConnectRest(ConnectEndpoint(urls, connect_timeout=0.05), timeout=timeout),
        rest_urls=(url,),
    )

    assert [one.url for one in control.workers()] == [url]


def test_only_a_refused_connection_shows_that_nobody_is_there(tmp_path: Path, worker: Worker, closed_url: str) -> None:
    """If no process listens, no worker runs and the file may be written."""
    worker.answers("GET /", Reply(200, VERSION))

    assert control_of(tmp_path, closed_url).workers() == ()
    control_of(tmp_path, closed_url).refuse_running(["lines"])
    assert [one.url for one in control_of(tmp_path, closed_url, worker.url).workers()] == [worker.url]


def test_a_connector_whose_offset_cannot_be_read_does_not_hide_the_others(
    tmp_path: Path, closed_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A snapshot of all of them names it."""
    records = {b'["lines",{"filename":"a"}]': b"[1]", b'["others",{"filename":"b"}]': b'{"position":1}'}
    write_mappings(tmp_path / "connect.offsets", records)

    assert list(control_of(tmp_path, closed_url).overview()) == ["others"]

    assert "has an offset of connector 'lines' that can't be read" in caplog.text
