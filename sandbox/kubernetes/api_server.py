"""etcd and kube-apiserver as processes of the sandbox: authentication, RBAC and validation are real.

No controllers run: nothing is garbage-collected, and a namespace has no default service account.
"""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from sandbox.kubernetes.binaries import etcd, kube_apiserver
from sandbox.kubernetes.cluster import Cluster
from sandbox.process import ServerProcess
from sandbox.tether import PROCESSES

#: The user who may do everything.
ADMIN = "admin"
_ADMINS = "system:masters"
_HOST = "127.0.0.1"
_COMMAND = "command.json"
_TIMEOUT = 5.0


class ApiServer:
    """A Kubernetes API server, for as long as a ``with`` block lasts.

    ``users`` are the names of users without any rights, other than what is bound to them (RBAC). All files are below a
    directory of its own, which goes with it, also when this process is killed.
    """

    def __init__(self, *, users: Sequence[str] = ()) -> None:
        self.root = Path(tempfile.gettempdir(), f"connect-offsets-kubernetes-{uuid.uuid4().hex[:12]}")
        self._tokens = {name: secrets.token_urlsafe() for name in (ADMIN, *users)}
        # Two levels down, as a tether needs it.
        self._etcd = ServerProcess("etcd", self.root / PROCESSES / "etcd", _EtcdRecipe())
        home = self.root / PROCESSES / "api-server"
        self._certificate = home / "certificates" / "apiserver.crt"  # which the server makes for itself
        recipe = _ApiServerRecipe(self._etcd, self._tokens, self._certificate)
        self._server = ServerProcess("kube-apiserver", home, recipe)
        self._clients: dict[str, Cluster] = {}

    @property
    def processes(self) -> list[ServerProcess]:
        """Both servers."""
        return [self._etcd, self._server]

    @property
    def url(self) -> str:
        """Its address."""
        return f"https://{_HOST}:{self._server.ports[0]}"

    @property
    def admin(self) -> Cluster:
        """A client that may do everything."""
        return self.user(ADMIN)

    def user(self, name: str) -> Cluster:
        """A client of one of the users."""
        if name not in self._clients:
            self._clients[name] = Cluster(self.kubeconfig(name))
        return self._clients[name]

    def kubeconfig(self, user: str = ADMIN, *, namespace: str = "default") -> Path:
        """The kubeconfig of a user, with the namespace that counts where none is given."""
        path = self.root / "data" / f"{user}-{namespace}.json"
        path.parent.mkdir(exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(json.dumps(self._config(user, namespace)))  # JSON is YAML
        return path

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End both servers and remove all files; leaving the ``with`` block does it."""
        for client in self._clients.values():
            client.close()
        for process in self.processes:
            process.let_go()
        for process in self.processes:
            process.close()
        shutil.rmtree(self.root, ignore_errors=True)

    def _start(self) -> None:
        etcd()
        kube_apiserver()
        self.root.mkdir(mode=0o700, parents=True)
        self._etcd.start()
        self._server.start()

    def _config(self, user: str, namespace: str) -> dict[str, object]:
        cluster = {"server": self.url, "certificate-authority": str(self._certificate)}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "sandbox", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": self._tokens[user]}}],
            "contexts": [{"name": user, "context": {"cluster": "sandbox", "user": user, "namespace": namespace}}],
            "current-context": user,
        }


@dataclass(frozen=True, slots=True)
class _EtcdRecipe:
    ports: int = 2

    def prepare(self, home: Path, ports: Sequence[int]) -> list[list[str]]:
        clients, peers = (f"http://{_HOST}:{port}" for port in ports)
        command = [
            str(etcd()),
            f"--data-dir={home / 'data'}",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",  # nobody needs its data after a crash of the machine
            "--log-level=warn",
        ]
        (home / _COMMAND).write_text(json.dumps(command))
        return []

    def command(self, home: Path) -> list[str]:
        return _written(home)

    def is_ready(self, ports: Sequence[int]) -> bool:
        return _answers(f"http://{_HOST}:{ports[0]}/health")


@dataclass(frozen=True, slots=True)
class _ApiServerRecipe:
    etcd: ServerProcess
    tokens: dict[str, str]
    certificate: Path
    ports: int = 1

    def prepare(self, home: Path, ports: Sequence[int]) -> list[list[str]]:
        key, tokens = home / "service-accounts.key", home / "tokens.csv"
        for secret, text in ((key, _private_key()), (tokens, self._token_lines())):
            secret.touch(mode=0o600)
            secret.write_text(text)
        command = [
            str(kube_apiserver()),
            f"--etcd-servers=http://{_HOST}:{self.etcd.ports[0]}",
            f"--secure-port={ports[0]}",
            f"--bind-address={_HOST}",
            "--endpoint-reconciler-type=none",  # an endpoint may not be of this machine alone
            f"--cert-dir={self.certificate.parent}",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",  # no controller makes the default account of a namespace
        ]
        (home / _COMMAND).write_text(json.dumps(command))
        return []

    def command(self, home: Path) -> list[str]:
        return _written(home)

    def is_ready(self, ports: Sequence[int]) -> bool:
        return _answers(f"https://{_HOST}:{ports[0]}/readyz", self.certificate)

    def _token_lines(self) -> str:
        groups = {ADMIN: f',"{_ADMINS}"'}
        return "".join(f"{token},{name},{name}{groups.get(name, '')}\n" for name, token in self.tokens.items())


def _written(home: Path) -> list[str]:
    command: list[str] = json.loads((home / _COMMAND).read_text())
    return command


def _answers(url: str, certificate: Path | None = None) -> bool:
    """Whether a server says that it is ready."""
    if certificate is not None and not certificate.exists():
        return False
    with requests.Session() as session:
        session.trust_env = False  # a proxy of the environment can't reach 127.0.0.1
        try:
            return session.get(url, verify=str(certificate) if certificate else True, timeout=_TIMEOUT).ok
        except (requests.RequestException, OSError):
            return False


def _private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
