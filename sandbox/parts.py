"""Two Kafka clusters and a Connect worker, and the Airflow connections to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sandbox.connect import Connect
from sandbox.kafka import Kafka


class Parts(Protocol):
    """What a flow needs: the cluster it reads from, the one it writes to, and a Connect worker on the second."""

    @property
    def source(self) -> Kafka:
        """The cluster that is replicated."""

    @property
    def target(self) -> Kafka:
        """The cluster with the remote topics, which is the worker's own."""

    @property
    def connect(self) -> Connect:
        """The Connect cluster."""

    @property
    def data(self) -> Path:
        """A directory in which the worker's connectors write files."""


@dataclass(frozen=True, slots=True)
class PartsAt:
    """Parts that someone else runs, known by their addresses."""

    source: Kafka
    target: Kafka
    connect: Connect
    data: Path


def airflow_connections(parts: Parts, *, spark: Mapping[str, object]) -> dict[str, str]:
    """The environment variables for Airflow's connections to ``parts`` and to a Spark cluster."""
    host, _, port = parts.connect.url.removeprefix("http://").partition(":")
    connections: dict[str, dict[str, object]] = {
        "KAFKA_CONNECT_DEFAULT": {"conn_type": "kafka_connect", "schema": "http", "host": host, "port": int(port)},
        "KAFKA_DEFAULT": _kafka_connection(parts.target),
        "KAFKA_SOURCE": _kafka_connection(parts.source),
        "KAFKA_TARGET": _kafka_connection(parts.target),
        "SPARK_DEFAULT": {"conn_type": "spark", **spark},
    }
    return {f"AIRFLOW_CONN_{name}": json.dumps(value) for name, value in connections.items()}


def _kafka_connection(cluster: Kafka) -> dict[str, object]:
    return {"conn_type": "kafka", "extra": {"bootstrap.servers": cluster.bootstrap}}
