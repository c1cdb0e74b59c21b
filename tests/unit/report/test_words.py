"""Words and numbers in messages for people."""

from __future__ import annotations

import pytest

from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.words import quantify
from tests.support.rows.written import request_for


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"to": "earliest"}, "Resume `flow` at the first record that is still in each log, in all its partitions."),
        ({"to": "latest", "topics": "a.*"}, "Resume `flow` at the end of each log, in topics that match `a.*`."),
        ({"to": "current"}, "Leave `flow` at its position, in all its partitions."),
        (
            {"to": "clear", "partitions": "0,3-5"},
            "Remove the stored offsets of `flow`, in partitions 0,3-5 of all topics.",
        ),
        (
            {"to": "datetime", "value": "2026-01-31T03:00:00+01:00"},
            "Resume `flow` at the first record from 2026-01-31 02:00:00 UTC or later, in all its partitions.",
        ),
        (
            {"to": "duration", "value": "PT2H"},
            (
                "Resume `flow` at the first record from 2026-01-31 10:00:00 UTC or later (PT2H back), in all its "
                "partitions."
            ),
        ),
        ({"to": "shift", "value": "-1"}, "Move `flow` 1 offset back, in all its partitions."),
        ({"to": "shift", "value": "+1200"}, "Move `flow` 1,200 offsets forward, in all its partitions."),
        (
            {"to": "offset", "value": "40", "topics": "a", "partitions": "2"},
            "Resume `flow` at position 40, in partition 2 of topics that match `a`.",
        ),
        ({"to": "offset", "value": "0/16B3748"}, "Resume `flow` at position 0/16B3748, in all its partitions."),
        ({"to": "skip"}, "Skip the next record of `flow`, in all its partitions."),
        ({"to": "skip", "value": "3"}, "Skip the next 3 offsets of `flow`, in all its partitions."),
        (
            {"to": "file", "value": "s3://key:secret@bucket/offsets.json"},
            "Set the offsets of `flow` to those in s3://********@bucket/offsets.json, in all its partitions.",
        ),
        (
            {"to": "connector", "value": "other"},
            "Set the offsets of `flow` to those of connector `other`, in all its partitions.",
        ),
    ],
)
def test_a_request_is_a_sentence(fields: dict[str, str], sentence: str) -> None:
    """Each kind of request has a sentence, without credentials."""
    assert words.request(request_for(**fields)) == sentence


def test_small_things() -> None:
    """Numbers, seconds and positions are written for readers."""
    assert [quantify(1, "record"), quantify(1200, "record")] == ["1 record", "1,200 records"]
    assert [words.seconds(1.419), words.seconds(61.6)] == ["1.42 s", "62 s"]
    assert words.position('{"offset":9}', 10) == "10"
    assert words.position(None, 0) == "0"
    assert words.position('{"at":1}', None) == '{"at":1}'
    assert words.position(None, None) == "no offset"
