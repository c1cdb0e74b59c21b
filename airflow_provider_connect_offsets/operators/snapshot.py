"""The first task of a change: what was asked for, and what is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets.hooks.clients import open_clients
from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.hooks.runs import directory_of
from airflow_provider_connect_offsets.offsets.requests.flags import is_true
from airflow_provider_connect_offsets.operators.shared.links import ReportLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.offsets.requests.request import Request


class SnapshotConnectorOffsetsOperator(BaseOperator):
    """Check a request, and write what a plan for it needs: the connector, its offsets, the bounds of the logs.

    Reads only. ``to``, ``value``, ``topics`` and ``partitions`` are a request's (``offsets.requests.request``);
    ``kafka_conn_id`` is the cluster that the positions refer to, and may be empty for connectors whose offsets are no
    positions. ``only_back``: partitions that have not come so far are left where they are. ``part`` keeps several
    changes of one DAG run apart.

    Returns the URI of the run's directory, which all later tasks take as ``run_uri``.
    """

    template_fields: Sequence[str] = (
        "connector",
        "to",
        "value",
        "topics",
        "partitions",
        "connect_conn_id",
        "kafka_conn_id",
        "control",
        "part",
        "only_back",
    )
    ui_color = "#dbe7f3"
    operator_extra_links = (ReportLink(),)

    def __init__(  # noqa: PLR0913 - a request and its connections, each by its name
        self,
        *,
        connector: str,
        to: str = "current",
        value: str = "",
        topics: str = "",
        partitions: str = "",
        connect_conn_id: str = "kafka_connect_default",
        kafka_conn_id: str | None = "kafka_default",
        control: str = "rest",
        part: str = "",
        only_back: bool | str = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.connector = connector
        self.to = to
        self.value = value
        self.topics = topics
        self.partitions = partitions
        self.connect_conn_id = connect_conn_id
        self.kafka_conn_id = kafka_conn_id
        self.control = control
        self.part = part
        self.only_back = only_back

    def execute(self, context: Context) -> str:
        """Write the snapshot; fails before it touches anything where the request makes no sense."""
        from airflow_provider_connect_offsets.observe.snapshot import take_snapshot

        run = directory_of(context, part=self.part)
        with failing_clearly():
            request = self.request(self.connector, now=datetime.now(tz=UTC))
            with open_clients(self.connect_conn_id, self.kafka_conn_id, control=self.control) as opened:
                taken = take_snapshot(request, opened.clients, run, cluster=opened.cluster)
        self.log.info(
            "%r has offsets for %d partitions; request: %s; datasets under %s",
            taken.connector,
            taken.partitions,
            request,
            run.uri,
        )
        return run.uri

    def request(self, connector: str, *, now: datetime) -> Request:
        """What was asked for of ``connector``; raises :class:`InvalidRequest`."""
        from airflow_provider_connect_offsets.offsets.requests.request import Request

        asked = Request.parse(
            connector=connector,
            to=self.to,
            value=self.value,
            topics=self.topics,
            partitions=self.partitions,
            now=now,
        )
        return replace(asked, only_back=is_true(self.only_back))
