"""URIs and path segments of a workspace; standard library only."""

from __future__ import annotations

import hashlib
import re

# Local file systems allow 255 bytes, and a temporary file has a longer name than the final one.
_LONGEST, _HASH = 200, 12
_UNSAFE = re.compile(r"[^A-Za-z0-9._=-]")
_PLAIN = re.compile(r"[A-Za-z0-9=-][A-Za-z0-9._=-]*")
_HASHED = re.compile(rf"-[0-9a-f]{{{_HASH}}}\Z")
# The file that marks a dataset as finished, as Hadoop's committers write it.
MARKER = "_SUCCESS"


def join(uri: str, *names: str) -> str:
    """Append path segments to a URI."""
    return "/".join([uri.rstrip("/"), *(name.strip("/") for name in names)])


def unique_segment(name: str) -> str:
    """Return a path segment for a name that every file system allows and no other name gets.

    Names of connectors, runs and DAGs may be too long for a file, be ``..``, or have ``:`` and ``+``, which HDFS and
    some object stores refuse. A plain name is its own segment. Any other name is cleaned, shortened and followed by
    its hash; so is a name that looks like such a segment, or starts like the workspace's own directories
    (``_journal``).
    """
    if _PLAIN.fullmatch(name) and not _HASHED.search(name) and len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_HASH]
    return f"{_UNSAFE.sub('_', name)[: _LONGEST - _HASH - 1]}-{digest}"


def is_segment(name: str) -> bool:
    """Whether a name may be one that :func:`unique_segment` or this package gave to a directory or file."""
    return name not in {"", ".", ".."} and not _UNSAFE.search(name)
