"""What the configuration allows here, whatever a request says: which files are read, which names are changed.

Everyone who may trigger a DAG is treated as a stranger: a Param names a file or a connector, and these guards decide
whether it may be read or changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import urlsplit

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.family import Noun
from airflow_provider_connect_offsets.offsets.requests.patterns import NamePattern, typed_pattern
from airflow_provider_connect_offsets.offsets.requests.place import To
from airflow_provider_connect_offsets.offsets.requests.request import Request

# Two schemes of one store: Hadoop's and fsspec's.
_SAME_SCHEME = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs", "az": "abfs"}
# Hadoop reads braces as alternatives, which may lead out of a directory.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\{}?#]|::|^\s|\s$|^//")


class Named(StrEnum):
    """The kinds of names to which ``protected`` and ``allowed`` apply."""

    CONNECTOR = "connector"
    GROUP = "group"
    TOPIC = "topic"

    @classmethod
    def of(cls, noun: Noun) -> Named:
        """Return the kind of name that a connector or a consumer group has."""
        return cls.GROUP if noun is Noun.GROUP else cls.CONNECTOR


@dataclass(frozen=True, slots=True)
class NamePatterns:
    """Patterns for whole names, some of which count for one kind of thing only.

    In a string they are separated by white space; ``topic=orders-.*`` counts for topics, ``orders-.*`` for everything.
    """

    patterns: tuple[tuple[Named | None, str], ...] = ()

    @classmethod
    def parse(cls, text: str, *, option: str) -> NamePatterns:
        """Parse an option's value; raises :class:`InvalidRequest`, which names it."""
        return cls(tuple(_pattern(one, option) for one in text.split()))

    def patterns_for(self, kind: Named) -> list[str]:
        """Return the patterns that count for names of a kind."""
        return [pattern for of, pattern in self.patterns if of is None or of is kind]

    def match(self, kind: Named, name: str) -> str | None:
        """Return the first pattern that matches a name; None if none does."""
        return next(
            (one for one in self.patterns_for(kind) if NamePattern(one, "[connect_offsets]").matches(name)), None
        )


@dataclass(frozen=True, slots=True)
class Guards:
    """What the configuration allows.

    Attributes:
        readable: URIs of directories; a file that a request names must be in one of them.
        catalogs: Names of the Spark catalogs that a request's query may read; empty: no queries.
        protected: Names that nothing may change.
        allowed: The only names that may be changed; without a pattern for a kind, all of that kind.
    """

    readable: tuple[str, ...] = ()
    catalogs: tuple[str, ...] = ()
    protected: NamePatterns = NamePatterns()
    allowed: NamePatterns = NamePatterns()

    def refuse(self, request: Request) -> None:
        """Raise :class:`InvalidRequest` if a change is not allowed, whatever it would find."""
        self.refuse_names(Named.of(request.noun), [request.connector])
        if request.to is To.FILE and request.reference:
            self.refuse_unreadable(request.reference, param="value")
        if request.to is To.QUERY and not self.catalogs:
            raise InvalidRequest(
                "Nothing was read or changed: to=query is disabled here, because a query runs with the rights of the "
                "Spark application. To enable it, list the catalogs that queries may read in [connect_offsets] queries."
            )

    def apply_to(self, request: Request) -> Request:
        """Return the request with what its Spark job has to know of these guards."""
        return replace(request, catalogs=self.catalogs) if request.to is To.QUERY else request

    def refuse_unreadable(self, uri: str, *, param: str) -> None:
        """Raise :class:`InvalidRequest` unless ``uri``, the value of ``param``, is in a readable directory."""
        if any(is_within(uri, directory) for directory in self.readable):
            return
        raise InvalidRequest(
            f"Nothing was read or changed. {param}: {uri!r} may not be read here. It must be in the workspace, or in a "
            "directory that [connect_offsets] readable lists. Write it out, "
            "without '..', '{…}', '?', '#', '::' or a login."
        )

    def refuse_names(self, kind: Named, names: Iterable[str]) -> None:
        """Raise :class:`InvalidRequest` if any of ``names`` may not be changed; the message has the first of them."""
        only = self.allowed.patterns_for(kind)
        for name in names:
            if (pattern := self.protected.match(kind, name)) is not None:
                raise InvalidRequest(
                    f"Nothing was changed: {kind} {name!r} is protected here ([connect_offsets] protected: {pattern})."
                )
            if only and self.allowed.match(kind, name) is None:
                raise InvalidRequest(
                    f"Nothing was changed: {kind} {name!r} may not be changed here, because it is not in the list of "
                    f"allowed names ([connect_offsets] allowed: {' '.join(only)})."
                )


#: Guards that allow all names to be changed, but no file that a request names to be read, and no queries.
DEFAULT_GUARDS = Guards()


def is_within(uri: str, directory: str) -> bool:
    """Whether a URI names something in a directory, or the directory itself, on whatever file system reads it.

    Compared are scheme, host and path, once parsed; a path without scheme is a local one. A URI that two programs
    might read in two ways is within nothing.
    """
    if _UNSAFE.search(uri):
        return False
    one, other = _place(uri), _place(directory)
    if one is None or other is None or one[0] != other[0]:
        return False
    return one[1] == other[1] or one[1].startswith(f"{other[1]}/")


def _place(uri: str) -> tuple[tuple[str, str], str] | None:
    """Return scheme and host, and the path without a slash at its end; None for an ambiguous URI."""
    text = uri if "://" in uri else f"file://{uri}"
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    if parts.scheme == "file" and (parts.netloc or not parts.path.startswith("/")):
        return None
    # Azure's URIs have the container where others have a login: abfss://container@account.dfs.core.windows.net/…
    has_login = "@" in parts.netloc and _SAME_SCHEME.get(parts.scheme, parts.scheme) != "abfs"
    if has_login or ".." in parts.path.split("/"):
        return None
    path = re.sub("/+", "/", parts.path).rstrip("/")
    return (_SAME_SCHEME.get(parts.scheme, parts.scheme), parts.netloc), path


def _pattern(text: str, option: str) -> tuple[Named | None, str]:
    kind, separator, rest = text.partition("=")
    of = Named(kind) if separator and kind in set(Named) else None
    return of, typed_pattern(text if of is None else rest, param=f"[connect_offsets] {option}").pattern
