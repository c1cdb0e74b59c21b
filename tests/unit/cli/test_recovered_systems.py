"""The systems that ``connect-offsets recover`` opens."""

from __future__ import annotations

import pytest

from airflow_provider_connect_offsets.cli.opened import open_rest
from airflow_provider_connect_offsets.cli.recovering import open_clients
from tests.support.workers.scripted_worker import Reply, scripted_worker


def test_the_consumer_group_of_a_sink_is_observed_where_its_kafka_is_named() -> None:
    """As a task does: a sink counts as stopped once its group is empty, as its offsets can't be changed before."""
    with scripted_worker() as worker:
        worker.answers("GET /", Reply(200, {"version": "4.1.0", "commit": "abc", "kafka_cluster_id": "K"}))
        with open_clients("file:///unused", url=worker.url, kafka="127.0.0.1:1") as clients:
            assert clients.groups is not None
        with open_clients("file:///unused", url=worker.url) as clients:
            assert clients.groups is None


def test_a_login_that_is_sent_unencrypted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said once for each worker of another machine, however often its REST API is opened."""
    monkeypatch.setenv("CONNECT_OFFSETS_LOGIN", "me")
    urls = ("http://told-once.example:8083", "https://told-once.example:8083", "http://127.0.0.1:8083")

    for _ in range(2):
        with open_rest(urls, urls, timeout=1):
            pass

    told = "connect-offsets: CONNECT_OFFSETS_LOGIN is sent unencrypted to http://told-once.example:8083. Use https.\n"
    assert capsys.readouterr().err == told
