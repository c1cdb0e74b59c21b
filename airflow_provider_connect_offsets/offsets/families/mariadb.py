"""Debezium's connector for MariaDB, whose offsets are sets of global transaction ids (GTID).

Sources: ``MariaDbOffsetContext`` and ``BinlogStreamingChangeEventSource`` (Debezium 3.5); "Global Transaction ID" in
MariaDB's documentation; docs/seen.md for what a real one does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.document import JsonMap
from airflow_provider_connect_offsets.offsets.families.debezium import Debezium
from airflow_provider_connect_offsets.offsets.family import Keys, error
from airflow_provider_connect_offsets.offsets.verdicts import Finding, Rule

# Domain and server are 32 bits, the sequence number 64.
_GTID = re.compile(r"(\d{1,10})-\d{1,10}-\d{1,20}", re.ASCII)


def is_gtid_set(text: str) -> bool:
    """Whether a string has one GTID for each of its domains, separated by commas, as MariaDB writes them."""
    matches = [_GTID.fullmatch(gtid) for gtid in text.split(",")]
    domains = [int(match[1]) for match in matches if match]
    return len(set(domains)) == len(matches)


@dataclass(frozen=True, slots=True)
class DebeziumMariaDb(Debezium):
    """Debezium for MariaDB: resumes with the transactions after ``gtids``; ``file`` and ``pos`` are required, not read.

    Without ``gtids`` its task fails. If ``gtids`` have another format (a space is enough), it delivers all that the
    binlog has, without any error.
    """

    name: ClassVar[str] = "debezium_mariadb"
    classes: ClassVar[tuple[str, ...]] = ("io.debezium.connector.mariadb.MariaDbConnector",)
    offset_keys: ClassVar[Keys] = {"pos": int, "gtids": str}
    optional_keys: ClassVar[Keys] = {"row": int, "event": int, "server_id": int, "ts_sec": int}
    why_no_position: ClassVar[str] = "its offsets are transactions in MariaDB's binlog, not positions in a Kafka log"
    source_position: ClassVar[str] = "GTIDs, one for each domain, like 0-1-8 or 0-1-8,5-2-77"

    def check_offset(self, offset: JsonMap) -> Iterator[Finding]:
        """Require a file, which may be empty, and GTIDs as MariaDB writes them."""
        if not isinstance(offset.get("file"), str):
            message = "the offset must have the key file with a string; otherwise the connector's task would fail"
            yield error(Rule.WRONG_KEYS, message)
        gtids = offset.get("gtids")
        if isinstance(gtids, str) and not is_gtid_set(gtids):
            message = f"offset field 'gtids' must be {self.source_position}, without spaces, not '{gtids}'"
            yield error(Rule.WRONG_TYPE, f"{message}; otherwise the connector would deliver the whole binlog again")

    def offset_from(self, value: str) -> JsonMap:
        """Return the offset of GTIDs; raises :class:`InvalidRequest`."""
        gtids = re.sub(r"\s", "", value)
        if not is_gtid_set(gtids):
            raise InvalidRequest(
                f"{value!r} is not {self.source_position} (to get them from a binlog file and position: "
                "SELECT BINLOG_GTID_POS('binlog.000001', 1919))"
            )
        return {"file": "", "pos": 0, "gtids": gtids}
