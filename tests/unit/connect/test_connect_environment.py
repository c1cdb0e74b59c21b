"""The environment has effect by proxies, and by a CA bundle if the endpoint has none; never by .netrc."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.exceptions import InvalidInput, OutcomeUnknown, Unreachable
from tests.support.workers.scripted_worker import FakeTime, Reply, Worker

Connect = Callable[..., ConnectRest]
OK = Reply(200, ["a"])


@pytest.fixture
def proxied(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """A proxy, named in the environment."""
    monkeypatch.setenv("http_proxy", worker.url)
    worker.answers("GET http://connect.invalid:8083/connectors", OK)
    return worker


def test_proxies_of_the_environment_are_used(connect_to: Connect, proxied: Worker) -> None:
    """A Connect cluster behind a proxy is reached through it."""
    assert connect_to("http://connect.invalid:8083").connectors() == ["a"]
    assert proxied.calls == ["GET http://connect.invalid:8083/connectors"]


def test_no_proxy_is_honoured(
    connect_to: Connect, proxied: Worker, start_worker: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts in NO_PROXY are reached directly."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    direct = start_worker()
    direct.answers("GET /connectors", OK)

    assert connect_to(direct.url).connectors() == ["a"]
    assert proxied.calls == []


def test_netrc_is_not_read(
    connect_to: Connect, worker: Worker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Credentials come from the connection and from nowhere else."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    worker.answers("GET /connectors", OK)

    connect_to(worker.url).connectors()

    assert "Authorization" not in worker.requests[0].headers


def _certificate(folder: Path, name: str) -> Path:
    """Write a self-signed certificate for 127.0.0.1 with its key, in one PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{name}.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + private)
    return path


@pytest.fixture
def server_pem(tmp_path: Path) -> Path:
    """The certificate of the TLS worker."""
    return _certificate(tmp_path, "server")


@pytest.fixture
def client_pem(tmp_path: Path) -> Path:
    """The certificate of a client."""
    return _certificate(tmp_path, "client")


def _tls(certificate: Path, *, clients: Path | None = None) -> Callable[[socket.socket], socket.socket]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)
    return lambda plain: context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)


def _https(worker: Worker) -> str:
    return worker.url.replace("http://", "https://")


def test_the_endpoints_ca_wins_over_the_environment(
    connect_to: Connect,
    start_worker: Callable[..., Worker],
    server_pem: Path,
    client_pem: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """REQUESTS_CA_BUNDLE does not override the connection's CA."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(client_pem))
    worker = start_worker(_tls(server_pem))
    worker.answers("GET /connectors", OK)

    assert connect_to(_https(worker), ca=str(server_pem)).connectors() == ["a"]


def test_the_environments_ca_counts_where_the_endpoint_names_none(
    connect_to: Connect, start_worker: Callable[..., Worker], server_pem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine's own CA bundle is used."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(server_pem))
    worker = start_worker(_tls(server_pem))
    worker.answers("GET /connectors", OK)

    assert connect_to(_https(worker)).connectors() == ["a"]


def test_an_untrusted_certificate_is_reported_at_once(
    connect_to: Connect, start_worker: Callable[..., Worker], server_pem: Path, time: FakeTime
) -> None:
    """Nothing is sent to an untrusted server or repeated, and the error has the reason."""
    worker = start_worker(_tls(server_pem))

    with pytest.raises(Unreachable, match="certificate is not trusted: self-signed certificate; check ca"):
        connect_to(_https(worker)).stop("c")

    assert (worker.calls, time.slept) == ([], [])


def test_mutual_tls(
    connect_to: Connect, start_worker: Callable[..., Worker], server_pem: Path, client_pem: Path
) -> None:
    """The worker gets the client certificate; without one the outcome of a change is unknown."""
    worker = start_worker(_tls(server_pem, clients=client_pem))
    worker.answers("PUT /connectors/c/stop", Reply(204))
    trusted = {"ca": str(server_pem), "timeout": 0}

    connect_to(_https(worker), client_cert=str(client_pem), **trusted).stop("c")
    connect_to(_https(worker), client_cert=str(client_pem), client_key=str(client_pem), **trusted).stop("c")
    with pytest.raises((Unreachable, OutcomeUnknown)):
        connect_to(_https(worker), **trusted).stop("c")

    assert len(worker.calls) == 2


@pytest.mark.parametrize("field", ["ca", "client_cert"])
def test_a_file_that_is_not_there_is_named(connect_to: Connect, worker: Worker, field: str) -> None:
    """A wrong path is detected before anything is sent."""
    with pytest.raises(InvalidInput, match=f"{field} of the Connect endpoint is /no/such.pem"):
        connect_to(worker.url, **{field: "/no/such.pem"})
