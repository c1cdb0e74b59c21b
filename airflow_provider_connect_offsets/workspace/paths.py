"""Paths in a workspace: URIs that are joined, and names that every file system takes. Standard library only."""

from __future__ import annotations

import hashlib
import re

# Local file systems take 255 bytes; a file that is being written has a longer name than in the end.
_LONGEST, _HASH = 200, 12
_UNSAFE = re.compile(r"[^A-Za-z0-9._=-]")
_PLAIN = re.compile(r"[A-Za-z0-9=-][A-Za-z0-9._=-]*")
_HASHED = re.compile(rf"-[0-9a-f]{{{_HASH}}}\Z")
# The file that ends a dataset; Hadoop's committers write it too.
MARKER = "_SUCCESS"


def join(uri: str, *names: str) -> str:
    """Append path segments to a URI."""
    return "/".join([uri.rstrip("/"), *(name.strip("/") for name in names)])


def unique_segment(name: str) -> str:
    """Make a name a path segment that every file system takes and no other name gets.

    Names of connectors, runs and DAGs may be longer than a file's, be ``..``, or hold ``:`` and ``+``, which HDFS and
    some object stores refuse. A plain name is its own segment. Any other is shortened to what can be read of it, and a
    hash of it follows; so it is with a name that looks like such a segment itself, and with one that begins like the
    workspace's own directories (``_journal``).
    """
    if _PLAIN.fullmatch(name) and not _HASHED.search(name) and len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_HASH]
    return f"{_UNSAFE.sub('_', name)[: _LONGEST - _HASH - 1]}-{digest}"


def is_segment(name: str) -> bool:
    """Tell whether a name can be that of a directory or file which :func:`unique_segment` or this package has named."""
    return name not in {"", ".", ".."} and not _UNSAFE.search(name)
