"""A secret that is planted wherever secrets are, and looked for in all that a run leaves."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

import pyarrow.parquet as pq

from airflow_provider_connect_offsets.workspace.files import locate

SECRET = "hunter2Planted"
#: Settings that a FileStream connector ignores: named like secrets, in addresses, in those that a workspace keeps.
SETTINGS = {
    "planted.password": SECRET,
    "planted.url": f"jdbc:postgresql://db/orders?user=me&password={SECRET}",
    "database.hostname": f"me:{SECRET}@db",
    "database.server.name": f"https://me:{SECRET}@db/x?sig={SECRET}",
}
#: The same for any connector whose clients need no login, and so ignore it.
OF_CLIENTS = {
    "producer.override.sasl.jaas.config": (
        f'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="{SECRET}";'
    )
}
_FORMS = (SECRET, b64encode(f"me:{SECRET}".encode()).decode().rstrip("="))


def planted_config(config: Mapping[str, str]) -> dict[str, str]:
    """The settings of a connector, with secrets if its class ignores them."""
    is_file_stream = "FileStream" in config.get("connector.class", "")
    return {**(SETTINGS if is_file_stream else {}), **config}


def without_planted(config: Mapping[str, str]) -> dict[str, str]:
    """The settings of a connector but those that were planted."""
    return {name: value for name, value in config.items() if name not in SETTINGS}


def planted_connection(value: str) -> str:
    """An Airflow connection in JSON, with a login, a header and settings that the sandbox ignores."""
    fields = json.loads(value)
    extra = fields.get("extra") or {}
    extra = json.loads(extra) if isinstance(extra, str) else dict(extra)
    if fields["conn_type"] == "kafka_connect":
        fields |= {"login": "me", "password": SECRET}
        extra["headers"] = {**extra.get("headers", {}), "X-Planted": SECRET}
    elif fields["conn_type"] == "kafka":
        extra |= {"sasl.password": SECRET, "sasl.username": "me"}
    return json.dumps({**fields, "extra": json.dumps(extra)})


def leaks(*, workspace: str, printed: str, stored: Mapping[str, Any]) -> list[str]:
    """Where the secret is found: files of the workspace, what was printed, what Airflow has stored."""
    file_system, root = locate(workspace)
    texts = {"the log": printed, **{name: json.dumps(value, default=str) for name, value in stored.items()}}
    found = {str(path): file_system.cat_file(path) for path in file_system.find(root)}
    texts |= {path.removeprefix(f"{root}/"): _text(path, content) for path, content in found.items()}
    return [f"{name}: …{_around(text)}…" for name, text in texts.items() if any(form in text for form in _FORMS)]


def stored_by_airflow(dag_id: str, run_id: str) -> dict[str, Any]:
    """XComs and rendered fields of a run."""
    return dict(_stored(dag_id, run_id))


def _stored(dag_id: str, run_id: str) -> Iterator[tuple[str, Any]]:
    from airflow.models.renderedtifields import RenderedTaskInstanceFields
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        for table in (XComModel, RenderedTaskInstanceFields):
            for row in session.scalars(select(table).where(table.dag_id == dag_id, table.run_id == run_id)):
                name = getattr(row, "key", "rendered fields")
                yield f"{row.task_id}: {name}", getattr(row, "value", getattr(row, "rendered_fields", None))


def _text(path: str, content: bytes) -> str:
    if path.endswith(".parquet"):
        return str(pq.ParquetFile(BytesIO(content)).read(use_threads=False).to_pylist())
    return content.decode(errors="replace")


def _around(text: str) -> str:
    at = next(text.index(form) for form in _FORMS if form in text)
    return text[max(0, at - 120) : at + 60]
