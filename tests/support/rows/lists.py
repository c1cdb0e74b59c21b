"""Files of offsets from which tests plan changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LINES = "org.apache.kafka.connect.file.FileStreamSourceConnector"
HEARTBEAT = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"
Json = dict[str, Any]


def written(path: Path, *entries: tuple[Json, Json | None]) -> str:
    """Write a REST document; returns its path."""
    body = {"offsets": [{"partition": partition, "offset": offset} for partition, offset in entries]}
    return text(path, json.dumps(body))


def text(path: Path, content: str) -> str:
    """Write a file; returns its path."""
    path.write_text(content)
    return str(path)


def in_sink(partition: Any, topic: str = "orders") -> Json:
    return {"kafka_topic": topic, "kafka_partition": partition}


def in_mirror(partition: Any, topic: str = "orders", cluster: str = "source") -> Json:
    return {"cluster": cluster, "topic": topic, "partition": partition}
