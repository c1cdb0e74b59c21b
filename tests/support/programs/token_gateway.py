"""Apache's HTTP server in front of a Connect worker, which verifies signed tokens (mod_auth_openidc)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.process import ServerProcess
from sandbox.tether import PROCESSES
from tests.support.programs.authority import Certified
from tests.support.programs.gateway import listens, web_server
from tests.support.programs.token_server import ISSUER, KEY_ID, TokenServer

_MODULES = Path("/usr/lib/apache2/modules")
_SETTINGS = """
ServerRoot {home}
ServerName 127.0.0.1
PidFile {home}/apache.pid
DefaultRuntimeDir {home}
Listen 127.0.0.1:{port}
ErrorLog {home}/errors.log
{modules}
{user}
SSLEngine on
SSLCertificateFile {home}/gateway.pem
SSLCertificateKeyFile {home}/gateway.key
OIDCCryptoPassphrase only-for-tests
OIDCOAuthVerifyCertFiles {key_id}#{home}/tokens.pem
OIDCOAuthRemoteUserClaim sub
AllowEncodedSlashes NoDecode
<Location /connect/>
  AuthType oauth20
  <RequireAll>
    Require claim iss:{issuer}
    Require claim aud:{audience}
  </RequireAll>
  ProxyPass {worker}/ nocanon
</Location>
"""
_NEEDED = ("mpm_event", "authn_core", "authz_core", "authz_user", "socache_shmcb", "ssl", "proxy", "proxy_http")


def start_token_gateway(root: Path, certified: Certified, worker: str, keys: TokenServer) -> ServerProcess:
    """Start it in front of the worker at ``worker``, a URL; its files are below ``root``."""
    process = ServerProcess("token-gateway", root / PROCESSES / "token-gateway", _Apache(certified, worker, keys))
    process.start()
    return process


@dataclass(frozen=True)
class _Apache:
    certified: Certified
    worker: str
    keys: TokenServer
    ports: int = 1

    def prepare(self, home: Path, ports: Sequence[int]) -> list[list[str]]:
        (home / "gateway.pem").write_text(self.certified.chain_pem)
        (home / "gateway.key").write_text(self.certified.key_pem())
        (home / "tokens.pem").write_text(self.keys.public_pem())
        modules = [f"LoadModule {name}_module {_MODULES}/mod_{name}.so" for name in (*_NEEDED, "auth_openidc")]
        settings = _SETTINGS.format(
            home=home,
            port=ports[0],
            modules="\n".join(modules),
            # It refuses to serve as root.
            user="User nobody\nGroup nogroup" if os.geteuid() == 0 else "",
            key_id=KEY_ID,
            issuer=ISSUER,
            audience=self.keys.audience,
            worker=self.worker,
        )
        (home / "apache.conf").write_text(settings)
        return []

    def command(self, home: Path) -> list[str]:
        return [web_server("apache2"), "-D", "FOREGROUND", "-f", str(home / "apache.conf")]

    def is_ready(self, ports: Sequence[int]) -> bool:
        return listens(ports[0])
