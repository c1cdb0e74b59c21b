"""A token endpoint (OAuth 2, client credentials) that signs its tokens, as brokers and gateways verify them."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

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

    def token(self, *, audience: str = "", by: rsa.RSAPrivateKey | None = None, lifetime: timedelta = _HOUR) -> str:
        """Sign a token.

        audience: for whom, if not for its own; by: the key that signs it; lifetime: how long it is good.
        """
        now = datetime.now(UTC)
        claims = {"sub": CLIENT, "iss": ISSUER, "aud": audience or self.audience, "iat": now, "exp": now + lifetime}
        return jwt.encode(claims, by or self.key, algorithm="RS256", headers={"kid": KEY_ID})

    @contextmanager
    def tokens(self, **given: Any) -> Iterator[str]:
        """Serve tokens to the client, and return the address.

        given: as to ``token``; whatever the lifetime is, the answer says an hour.
        """
        known = f"Basic {b64encode(f'{CLIENT}:{SECRET}'.encode()).decode()}"
        sign, issued = partial(self.token, **given), self.issued

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                is_known, token = self.headers.get("Authorization") == known, sign()
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
