"""nginx in front of a Connect worker: TLS, a login, and the worker's API below a path."""

from __future__ import annotations

import os
import shutil
import socket
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.process import ServerProcess
from sandbox.tether import PROCESSES
from tests.support.programs.authority import Certified

LOGIN, PASSWORD = "platform", "of the gateway"
# Bytes of the largest body.
LARGEST = 2_000
_SETTINGS = """
{user}
daemon off;
pid {home}/nginx.pid;
error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path {home}/body;
  proxy_temp_path {home}/proxy;
  fastcgi_temp_path {home}/fastcgi;
  uwsgi_temp_path {home}/uwsgi;
  scgi_temp_path {home}/scgi;
  client_max_body_size {largest};
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {home}/gateway.pem;
    ssl_certificate_key {home}/gateway.key;
    location /connect/ {{
      if ($http_authorization != "Basic {credentials}") {{ return 401; }}
      proxy_pass {worker}/;
    }}
  }}
}}
"""


def start_gateway(root: Path, certified: Certified, worker: str) -> ServerProcess:
    """Start it in front of the worker at ``worker``, a URL; its files are below ``root``."""
    process = ServerProcess("gateway", root / PROCESSES / "gateway", _Nginx(certified, worker))
    process.start()
    return process


@dataclass(frozen=True)
class _Nginx:
    certified: Certified
    worker: str
    ports: int = 1

    def prepare(self, home: Path, ports: Sequence[int]) -> list[list[str]]:
        (home / "gateway.pem").write_text(self.certified.chain_pem)
        (home / "gateway.key").write_text(self.certified.key_pem())
        settings = _SETTINGS.format(
            # Otherwise those who serve requests are nobody, who can't read its files.
            user="user root;" if os.geteuid() == 0 else "",
            home=home,
            port=ports[0],
            worker=self.worker,
            largest=LARGEST,
            credentials=b64encode(f"{LOGIN}:{PASSWORD}".encode()).decode(),
        )
        (home / "nginx.conf").write_text(settings)
        return []

    def command(self, home: Path) -> list[str]:
        return [web_server("nginx"), "-p", str(home), "-c", str(home / "nginx.conf"), "-e", "stderr"]

    def is_ready(self, ports: Sequence[int]) -> bool:
        return listens(ports[0])


def web_server(name: str) -> str:
    """The path of a web server, which on Debian is not on the path of everyone."""
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin") or name


def listens(port: int) -> bool:
    """Whether someone accepts connections there."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
