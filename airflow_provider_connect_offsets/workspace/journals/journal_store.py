"""Where journals are kept, and whether what is found there is ours.

Whoever can write into a journal can make a run undo what nobody did. With a key each file is signed (HMAC-SHA256) over
its content and its own place, so that a file of another generation or connector is not accepted here.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.workspace import files

_SIGNATURE = "signature"
# The parts of a URI that say what a file is about: cluster, resource, and generation.
_PLACE = 3


@dataclass(frozen=True, slots=True)
class JournalStore:
    """The directory of all journals.

    Attributes:
        uri: Its URI.
        key: Signs the files; empty: they are not signed.
        audit: URI of the audit log of the operations; empty: they are not recorded there.
        audit_days: For how many days its records are kept; None: for ever.
    """

    uri: str
    key: str = field(default="", repr=False)
    audit: str = ""
    audit_days: float | None = None

    def write(self, uri: str, value: Mapping[str, Any]) -> None:
        """Publish a file, replacing an earlier one; raises :class:`WorkspaceUnwritable`."""
        files.write_json(uri, self._sign(uri, value))

    def create(self, uri: str, value: Mapping[str, Any]) -> bool:
        """Publish a file unless it exists, and return whether this call did; raises as ``files.create_bytes``."""
        return files.create_bytes(uri, files.to_json(self._sign(uri, value)))

    def read(self, uri: str) -> dict[str, Any] | None:
        """Read a file; None if it does not exist.

        Raises:
            DatasetError: It is damaged, or not signed with the key.
            WorkspaceUnreadable: It can't be read.
        """
        value = files.read_json_if_any(uri)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise DatasetError(f"{uri} is not a JSON object")
        signature = value.pop(_SIGNATURE, "")
        if self.key and not hmac.compare_digest(str(signature), self._signature(uri, value)):
            raise DatasetError(
                f"{uri} is not signed with [connect_offsets] journal_key, so anybody may have written it"
            )
        return value

    def _sign(self, uri: str, value: Mapping[str, Any]) -> dict[str, Any]:
        return {**value, _SIGNATURE: self._signature(uri, value)} if self.key else dict(value)

    def _signature(self, uri: str, value: Mapping[str, Any]) -> str:
        place = uri.split("/")[-_PLACE:]
        content = json.dumps([place, value], sort_keys=True, separators=(",", ":")).encode()
        return hmac.new(self.key.encode(), content, hashlib.sha256).hexdigest()
