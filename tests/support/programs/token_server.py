"""A token endpoint (OAuth 2, client credentials) that signs its tokens, as brokers and gateways verify them."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.workers.serving import serving

ISSUER, KEY_ID = "https://issuer.example", "1"
CLIENT, SECRET = "me", "right"
_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class TokenServer:
    """Keys of a token endpoint, which signs tokens with the first; whoever verifies them knows only the first, too.

    audience: for whom the tokens are; issued: all tokens that were given.
    """

    audience: str
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    other: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    issued: list[str] = field(default_factory=list)

    def published(self) -> str:
        """The key set (RFC 7517)."""
        numbers = self.key.public_key().public_numbers()
        key = {"kty": "RSA", "kid": KEY_ID, "use": "sig", "alg": "RS256"}
        return json.dumps({"keys": [{**key, "n": _base64(numbers.n), "e": _base64(numbers.e)}]})

    def public_pem(self) -> str:
        """The key alone."""
        return self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    @contextmanager
    def tokens(
        self, *, audience: str = "", by: rsa.RSAPrivateKey | None = None, lifetime: timedelta = _HOUR
    ) -> Iterator[str]:
        """Serve tokens to the client, and return the address.

        audience: for whom, if not for its own; by: the key that signs them; lifetime: how long they are good, although
        the answer always says an hour.
        """
        signer, known = by or self.key, f"Basic {b64encode(f'{CLIENT}:{SECRET}'.encode()).decode()}"
        intended, issued = audience or self.audience, self.issued

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                is_known = self.headers.get("Authorization") == known
                now = datetime.now(UTC)
                claims = {"sub": CLIENT, "iss": ISSUER, "aud": intended, "iat": now, "exp": now + lifetime}
                token = jwt.encode(claims, signer, algorithm="RS256", headers={"kid": KEY_ID})
                issued.extend([token] if is_known else [])
                body = {"access_token": token, "token_type": "Bearer", "expires_in": _HOUR.seconds}
                sent = json.dumps(body if is_known else {"error": "invalid_client"}).encode()
                self.send_response(200 if is_known else 401)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_arguments: object) -> None:
                """Say nothing."""

        with serving(HTTPServer(("127.0.0.1", 0), Handler)) as url:
            yield url


def _base64(number: int) -> str:
    return urlsafe_b64encode(number.to_bytes((number.bit_length() + 7) // 8, "big")).decode().rstrip("=")
