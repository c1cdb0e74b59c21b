"""Masks the secrets in a text, whoever has written it, in time that grows with its length only.

An address keeps its scheme and host, a setting its name. What a system answers, what a connector's trace says, what a
file system complains about and what an approver reads all pass through here.
"""

from __future__ import annotations

import re
from base64 import b64decode

MASK = "********"
#: Words in the names of secrets. Masking one name too many does no harm, except for MongoDB's resume tokens.
HIDDEN_NAMES = (
    r"password|passwd|passphrase|secret|(?<!resume.)token|credential|jaas|api.?key|access.?key|account.?key|"
    r"private.?key|signature"
)
# Names of secrets in a text, where a short word may be part of another one.
_NAMED = rf"(?:{HIDDEN_NAMES}|(?<![a-z])(?:pwd|sig)(?![a-z]))[\w.-]{{0,40}}"
_QUOTED = r"\"(?:[^\"\\]|\\.)*\"?|N?'(?:[^'\\]|\\.)*'?|\\\"[^\"\\]*\\?\"?"
# Settings, parameters of a URL, JSON, and secrets of SQL: IDENTIFIED BY 'x', PASSWORD 'x'.
_ASSIGNED = re.compile(
    rf"({_NAMED}(?:\s{{0,3}}=\s{{0,3}}|\\?[\"']\s{{0,3}}:\s{{0,3}}))({_QUOTED}|[^\s&;,\"'}}\])]+)"
    rf"|(\b(?:identified\s{{1,3}}by|password)\s{{1,3}})({_QUOTED})",
    re.IGNORECASE,
)
_AUTHORIZED = re.compile(r"(\b(?:bearer|negotiate)\s{1,3})(?=[^\s\d]{0,200}\d)[\w+/.~-]{16,}=*", re.IGNORECASE)
# What may be a login and a password as HTTP sends them.
_ENCODED = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{12,}={0,2}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# What separates one address from the next.
_BETWEEN = re.compile(r"([\s,]+)")
# Within an address a login may also begin after one of these characters, behind the name of a setting.
_BEGINS = re.compile(r"[;=]")
_MOST_BEGINNINGS = 50


def one_line(text: str) -> str:
    """Mask a text of another system, and replace control characters, which would end or colour its line in a log."""
    return mask_text(_CONTROL.sub(" ", text))


def mask_text(text: str) -> str:
    """Mask the secrets in a text.

    These are logins in addresses, values of settings and parameters that are named like secrets, passwords in SQL,
    tokens of an ``Authorization`` header, and logins in base64, as in that header.
    """
    text = _ASSIGNED.sub(lambda found: f"{found[1] or found[3]}{MASK}", _without_logins(text))
    text = _AUTHORIZED.sub(rf"\1{MASK}", text)
    return _ENCODED.sub(lambda found: MASK if _is_login(found[0]) else found[0], text)


def _without_logins(text: str) -> str:
    """Mask login and password before the ``@`` of each address in a text."""
    if "@" not in text:
        return text
    return "".join(_address(part) if "@" in part else part for part in _BETWEEN.split(text))


def _address(address: str) -> str:
    """Mask an address's login: up to the last ``@`` if it has a scheme, else a login and a password up to the first."""
    scheme, separator, rest = address.partition("://")
    if separator and "@" in rest:
        login, _, host = rest.rpartition("@")
        return f"{scheme}://{MASK}@{host}" if _begins_with_login(login) else address
    head, _, host = address.partition("@")
    starts = [0, *(match.end() for match in _BEGINS.finditer(head))][:_MOST_BEGINNINGS]
    for start in starts:
        login, colon, password = head[start:].partition(":")
        if login and colon and "/" not in login and "//" not in password:
            return f"{head[:start]}{MASK}@{host}"
    return address


def _begins_with_login(text: str) -> bool:
    """Whether the text before the last ``@`` of an address is a login, not a host and path like ``host:8020/a``."""
    authority, slash, _path = text.partition("/")
    login, colon, password = authority.partition(":")
    return not slash or "@" in authority or bool(login and colon and not password.isdigit())


def _is_login(text: str) -> bool:
    """Whether a text is base64 of ``login:password``."""
    try:
        decoded = b64decode(text[: len(text) // 4 * 4] if "=" not in text else text, validate=True)
    except ValueError:
        return False
    is_word = text.islower() or text.isupper() or text.isdigit()
    return b":" in decoded and decoded.isascii() and decoded.decode("ascii").isprintable() and not is_word
