"""Parses ``sasl.jaas.config`` as Kafka's ``JaasConfig`` does with Java's ``StreamTokenizer``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from airflow_provider_connect_offsets.exceptions import InvalidInput

# A slash outside of quotes starts a comment; a quoted text ends at the end of its line at the latest; a number is no
# text, so Kafka refuses it as a value without quotes.
_TOKEN = re.compile(
    r"""
      (?P<nothing> [\x00-\x20]+ | /\*.*?(?:\*/|\Z) | //[^\r\n]* | /(?:.[^\r\n]*)? )
    | "(?P<double> (?:\\.|[^\\"\r\n])* )"?
    | '(?P<single> (?:\\.|[^\\'\r\n])* )'?
    | (?P<word> [A-Za-z_$\u00a0-\U0010ffff] [A-Za-z0-9_$.\-\u00a0-\U0010ffff]* )
    | (?P<sign> -?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]*) | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:([0-3][0-7]{0,2}|[4-7][0-7]?)|(.))", re.DOTALL)
_NAMED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS = {"REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL"}


@dataclass(frozen=True, slots=True)
class Login:
    """A login module and its options."""

    module: str
    options: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Token:
    """A text (a word, or quoted), or a sign or number."""

    text: str | None = None
    sign: str = ""


_END = _Token()


def parse_jaas(config: str) -> Login:
    """Parse ``<module> <flag> (<option>=<value>)* ;``.

    Raises:
        InvalidInput: Kafka would refuse the text: it has another shape, or not exactly one login module
            (``JaasContext.load``). The message never shows the text.
    """
    tokens = _tokens(config)
    logins = []
    while (first := next(tokens, _END)) is not _END:
        logins.append(_login(first, tokens))
    if len(logins) != 1:
        raise InvalidInput(f"it must have exactly one login module, but has {len(logins)}")
    return logins[0]


def _login(first: _Token, tokens: Iterator[_Token]) -> Login:
    flag = next(tokens, _END)
    if not first.text or (flag.text or "").upper() not in _FLAGS:
        raise InvalidInput("it must begin with a login module and one of required, requisite, sufficient, optional")
    options: dict[str, str] = {}
    while (token := next(tokens, _END)).sign != ";":
        if token is _END:
            raise InvalidInput("it must end with a semicolon")
        if next(tokens, _END).sign != "=" or (value := next(tokens, _END).text) is None:
            raise InvalidInput("each of its options must be written as name=value, with the value in quotes")
        options[token.text or ""] = value
    return Login(first.text, options)


def _tokens(config: str) -> Iterator[_Token]:
    for one in _TOKEN.finditer(config):
        match one.lastgroup:
            case "double" | "single":
                yield _Token(_ESCAPE.sub(_unescape, one[one.lastgroup]))
            case "word":
                yield _Token(one["word"])
            case "sign":
                yield _Token(sign=one["sign"])


def _unescape(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 8)) if escape[1] else _NAMED.get(escape[2], escape[2])
