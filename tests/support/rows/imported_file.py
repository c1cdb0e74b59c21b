"""A standalone worker's offsets before and after an import, and the imported document."""

from __future__ import annotations

import json

from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile

STORED = {b'["lines",{"filename":"a"}]': b'{"position":4}', b'["other",{"filename":"a"}]': b'{"position":1}'}
REQUESTED = json.dumps(
    {
        "lines": [{"partition": {"filename": "a"}, "offset": {"position": 100}}],
        "new": [{"partition": {"filename": "b"}, "offset": {"position": 7}}],
    }
)


def stored_in(store: StandaloneFile) -> dict[str, dict[str, str]]:
    return {name: offsets.by_partition() for name, offsets in store.read_all()}


BEFORE = {"lines": {'{"filename":"a"}': '{"position":4}'}, "other": {'{"filename":"a"}': '{"position":1}'}}
AFTER = {
    "lines": {'{"filename":"a"}': '{"position":100}'},
    "new": {'{"filename":"b"}': '{"position":7}'},
    "other": {'{"filename":"a"}': '{"position":1}'},
}
