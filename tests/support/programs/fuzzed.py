"""Fuzzes a parser of what others write, led by coverage: ``python -m tests.support.programs.fuzzed NAME FOLDER``.

All other arguments are libFuzzer's, like ``-max_total_time=60``. Each parser may only raise the error
that it documents, and what it accepts is the same once it is written and read again.
"""

from __future__ import annotations

import struct
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import atheris

with atheris.instrument_imports(include=["airflow_provider_connect_offsets"]):
    from airflow_provider_connect_offsets.connect.rest import calls
    from airflow_provider_connect_offsets.connect.rest.bounded import Reply
    from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
    from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint, OAuthClient
    from airflow_provider_connect_offsets.connect.storage.java.jaas import parse_jaas
    from airflow_provider_connect_offsets.connect.storage.java.properties import read_properties
    from airflow_provider_connect_offsets.connect.storage.java_stream import parse_map_of_bytes
    from airflow_provider_connect_offsets.connect.storage.offsets_file import serialize
    from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, InvalidDocument, InvalidInput
    from airflow_provider_connect_offsets.masking import mask_text
    from airflow_provider_connect_offsets.offsets.document import kip199_document, parse_text
    from airflow_provider_connect_offsets.offsets.storage import StoredOffsets, parse_key, parse_value
    from airflow_provider_connect_offsets.offsets.sync_record import parse_sync

_SCRATCH = Path(tempfile.mkdtemp(prefix="connect-offsets-fuzzed-"))
_ENDPOINT = ConnectEndpoint(("http://worker",), read_timeout=0.1, connect_timeout=0.1)


def document(content: bytes) -> None:
    """Documents of offsets, in both formats."""
    try:
        offsets = parse_text(content.decode(errors="replace"), ["c"])["c"]
    except InvalidDocument:
        return
    again = parse_text(kip199_document({"c": offsets}), ["c"])["c"]
    assert sorted(map(repr, again)) == sorted(map(repr, offsets))


def properties(content: bytes) -> None:
    """Workers' properties files, and the JAAS configurations in them."""
    path = _SCRATCH / "worker.properties"
    path.write_bytes(content)
    with suppress(InvalidInput):
        read_properties(path)
    with suppress(InvalidInput):
        parse_jaas(content.decode("latin-1"))


def java_stream(content: bytes) -> None:
    """Standalone workers' files."""
    try:
        records = parse_map_of_bytes(content)
    except ValueError:
        return
    assert parse_map_of_bytes(serialize(records)) == records


def records(content: bytes) -> None:
    """Records of offsets topics and of the offset syncs: the first byte says how many bytes belong to the key."""
    size = content[0] if content else 0
    key, value = content[1 : size + 1], content[size + 1 :]
    parse_sync(key, value)
    stored = parse_key(key)
    try:
        parse_value(value)
        if stored is not None:
            StoredOffsets({key: value}).offsets_of(stored.connector)
    except InvalidDocument:
        return


def answer(content: bytes) -> None:
    """Answers of workers: the first byte is the status."""
    reply = Reply((200, 201, 204, 400, 404, 409, 500, 503)[content[0] % 8] if content else 200, content[1:])
    with mock.patch.object(calls, "send", return_value=reply), ConnectRest(_ENDPOINT, timeout=0) as worker:
        for ask in (worker.connectors, worker.overview, worker.plugins, worker.version, worker.cluster_names):
            _asked(ask)
        for ask_one in (worker.status, worker.info, worker.read_offsets, worker.reset_offsets):
            _asked(partial(ask_one, "orders"))


def token(content: bytes) -> None:
    """Answers of OAuth token endpoints."""
    endpoint = ConnectEndpoint(("http://worker",), auth=OAuthClient("http://tokens", "me", "hunter2"))
    reply = Reply((200, 400, 401, 500)[content[0] % 4] if content else 200, content[1:])
    with mock.patch.object(calls, "send", return_value=reply), ConnectRest(endpoint, timeout=0) as worker:
        _asked(worker.connectors)


def mask(content: bytes) -> None:
    """Texts of other systems: whatever comes before it, a secret is masked."""
    assert "hunter2" not in mask_text(f"{content.decode(errors='replace')} password=hunter2")


def _asked(ask: Callable[[], object]) -> None:
    try:
        ask()
    except ConnectOffsetsError:
        return


_SYNC = struct.pack(">h6sih", 6, b"orders", 3, 0)[:12]
#: Name → the parser, and inputs from which the search begins.
PARSERS: Mapping[str, tuple[Callable[[bytes], None], list[bytes]]] = {
    "document": (
        document,
        [
            b'{"offsets":[{"partition":{"kafka_topic":"a","kafka_partition":0},"offset":{"kafka_offset":5}}]}',
            b'{"c":[{"partition":{"filename":"x"},"offset":{"position":4}},{"partition":{"filename":"y"},"offset":null}]}',
        ],
    ),
    "properties": (
        properties,
        [b"bootstrap.servers=a:1\\\n ,b:2\nx\\u0041:y\n!c\n", b'Plain required username="a" password="b\\"c";'],
    ),
    "java_stream": (java_stream, [serialize({b'["c",{}]': b'{"a":1}', b"k": None, b"l": b""})]),
    "records": (
        records,
        [b'\x14["c",{"filename":"x"}]{"position":4}', bytes([len(_SYNC)]) + _SYNC + struct.pack(">qq", 5, 7)],
    ),
    "answer": (
        answer,
        [
            b'\x00{"name":"orders","connector":{"state":"RUNNING","worker_id":"a:1"},"tasks":[{"id":0,"state":"FAILED","trace":"x"}],"type":"sink"}',
            b'\x00{"name":"orders","config":{"connector.class":"X"},"tasks":[],"type":"sink"}',
            b'\x00{"offsets":[{"partition":{"kafka_topic":"a","kafka_partition":0},"offset":{"kafka_offset":5}}]}',
            b'\x00{"orders":{"info":{"name":"orders","config":{"connector.class":"X"},"type":"source"},"status":{}}}',
            b'\x04{"error_code":404,"message":"No status found for connector orders"}',
            b'\x00{"version":"4.1.0","commit":"x","kafka_cluster_id":"abc"}',
        ],
    ),
    "token": (
        token,
        [b'\x00{"access_token":"abc","expires_in":60,"token_type":"Bearer"}', b'\x01{"error":"invalid_client"}'],
    ),
    "mask": (mask, [b"https://me:p@host/x?sig=abc&y=1 password='a' Basic bWU6aHVudGVyMg=="]),
}


def main(name: str, folder: str, arguments: list[Any]) -> None:
    """Fuzz one parser; ends the process with a status other than 0 for an input that breaks it, which is printed.

    ``folder``: keeps inputs, to which those from which the search begins are added.
    """
    parser, inputs = PARSERS[name]
    for number, content in enumerate(inputs):
        Path(folder, f"first-{number}").write_bytes(content)
    atheris.Setup([sys.argv[0], folder, f"-artifact_prefix={folder}/", *arguments], parser)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
