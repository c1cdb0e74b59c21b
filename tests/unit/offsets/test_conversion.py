"""A record is said not to convert only if Connect's converters are certain to refuse it."""

from __future__ import annotations

import pytest

from airflow_provider_connect_offsets.offsets.conversion import (
    Converter,
    Converters,
    Converts,
    is_of_json,
    is_of_one_record,
)

JSON = "org.apache.kafka.connect.json.JsonConverter"
PLAIN, ENVELOPE = Converter(JSON, envelope=False), Converter(JSON, envelope=True)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"a": [1, 2.5e3, true, null, "\xc3\xa9"]}', Converts.YES),
        (b" 17 ", Converts.YES),
        (b"null", Converts.YES),
        (None, Converts.YES),
        (b'{"city": "Seattle', Converts.NO),
        (b"cut off", Converts.NO),
        (b"{'a': 1}", Converts.NO),
        (b'{"a": 1,}', Converts.NO),
        (b"[NaN]", Converts.NO),
        (b'"a\nb"', Converts.NO),
        (b"\x00\x00\x00\x00\x07\x02a", Converts.UNKNOWN),
        (b"", Converts.UNKNOWN),
        (b"  ", Converts.UNKNOWN),
        (b'{"a": 1} and more', Converts.UNKNOWN),
        (b'{"a": 007}', Converts.UNKNOWN),
        (b"\xef\xbb\xbf{}", Converts.UNKNOWN),
        (b'"\xff"', Converts.UNKNOWN),
        (b"1" * 400, Converts.UNKNOWN),
        (b"[" * 600 + b"]" * 600, Converts.UNKNOWN),
    ],
)
def test_json_without_schemas(raw: bytes | None, expected: Converts) -> None:
    """Where Python's parser and Jackson may differ, the answer is unknown."""
    assert PLAIN.converts(raw) is expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"schema": null, "payload": {"a": 1}}', Converts.YES),
        (b'{"a": 1}', Converts.NO),
        (b'{"schema": null, "payload": 1, "more": 1}', Converts.NO),
        (b"null", Converts.NO),
        (b'{"schema": {"type": "int32"}, "payload": "text"}', Converts.UNKNOWN),
    ],
)
def test_json_with_schemas(raw: bytes, expected: Converts) -> None:
    """The envelope is checked here; whether schema and payload fit is left to Connect."""
    assert ENVELOPE.converts(raw) is expected


def test_converters_are_read_from_the_connector() -> None:
    """A converter that it does not name is the worker's, of which nothing is known; text and bytes never fail."""
    of_worker = Converters.of({"value.converter": JSON, "value.converter.schemas.enable": "false"})
    own = Converters.of(
        {
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": JSON,
            "value.converter.schemas.enable": " FALSE ",
        }
    )

    assert of_worker.unconvertible_part(b"key", b"{}") == ("", False)
    assert of_worker.unconvertible_part(None, b"{}") == ("", True)
    assert own.unconvertible_part(b"\xff", b"{}") == ("", True)
    assert own.unconvertible_part(b"\xff", b"{") == ("value", True)
    assert Converter.of({"key.converter": JSON, "key.converter.schemas.enable": "${file:a:b}"}, "key").envelope is None


def test_a_value_that_fails_after_a_key_that_may_is_not_certain() -> None:
    """The key may be the part that failed: then the record is the one all the same."""
    of_worker = Converters.of({"value.converter": JSON, "value.converter.schemas.enable": "false"})

    assert of_worker.unconvertible_part(b"key", b"{") == ("value", True)


def test_which_failures_are_of_one_record() -> None:
    """Those with Connect's wrapper of converters and transformations; not those of a sink whose system is down."""
    record = "org…ConnectException: Tolerance exceeded in error handler\nCaused by: …\n\tat …Cast.apply(Cast.java:1)"
    json = f"{record}\n\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:348)"
    down = "org…ConnectException: Exiting WorkerSinkTask due to unrecoverable exception."

    assert [is_of_one_record(one) for one in (record, json, down, None)] == [True, True, False, False]
    assert [is_of_json(one) for one in (record, json, down, None)] == [False, True, False, False]
