"""The example that asks approvers by mail and in Slack, with a mail server and a webhook of the test's own."""

from __future__ import annotations

import importlib.util
import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_string
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from airflow.providers.standard.operators import hitl
from airflow.sdk.exceptions import TaskDeferred

from airflow_provider_connect_offsets.operators.shared.approval import AskAboutRunOperator
from airflow_provider_connect_offsets.workspace.layout import run_directory
from tests.support.rows.written import rewound

# How a task waits for an answer: from Airflow 3.3 on without a trigger.
_WAITS = getattr(hitl, "TaskAwaitingInput", TaskDeferred)
EXAMPLE = Path(__file__).parents[2] / "examples" / "approvals" / "orders_offsets.py"
RUN = "manual__2026-01-31T12:00:00+00:00"


class _Mail(socketserver.StreamRequestHandler):
    """Answers as a mail server does that takes everything, and keeps what comes after DATA."""

    def handle(self) -> None:
        """Speak SMTP."""
        self.wfile.write(b"220 here\r\n")
        for line in self.rfile:
            command = line[:4].upper()
            if command == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = iter(self.rfile.readline, b".\r\n")
                self.server.kept.append(b"".join(lines).decode())  # type: ignore[attr-defined]
            self.wfile.write(b"221 bye\r\n" if command == b"QUIT" else b"250 ok\r\n")
            if command == b"QUIT":
                return


class _Slack(BaseHTTPRequestHandler):
    """Takes a message as Slack's incoming webhooks do."""

    def do_POST(self) -> None:
        """Keep the message."""
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.kept.append((self.path, message))  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def _serving(server: socketserver.TCPServer) -> Iterator[tuple[int, list[Any]]]:
    """Port of a server, and what it keeps."""
    server.kept = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address[1], server.kept  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_both_are_told_where_to_answer(
    workspace: str, connection: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mail and message have the question, the address of its buttons, and until when they count."""
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example/prefix/")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("airflow.providers.standard.operators.hitl.upsert_hitl_detail", lambda **_: None)
    question = _question()
    directory = Path(run_directory(workspace, dag_id="orders_offsets", run_id=RUN).uri.removeprefix("file://"))
    directory.mkdir(parents=True)
    written = rewound(directory)
    question.summary, question.plan_only = {"run_uri": written.run.uri, "digest": written.digest}, False
    instance = SimpleNamespace(
        dag_id="orders_offsets", run_id=RUN, task_id=question.task_id, id="7", map_index=-1, try_number=1
    )
    context: Any = {"task": question, "ti": instance, "task_instance": instance, "dag_run": None, "dag": question.dag}
    with (
        _serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Mail)) as (mail_port, mails),
        _serving(HTTPServer(("127.0.0.1", 0), _Slack)) as (slack_port, messages),
    ):
        extra = {"from_email": "airflow@example.com", "disable_ssl": True, "disable_tls": True}
        connection("smtp_default", conn_type="smtp", host="127.0.0.1", port=mail_port, extra=extra)
        hook = {"conn_type": "slackwebhook", "host": f"http://127.0.0.1:{slack_port}/services", "password": "T0/B0/x"}
        connection("slack_webhook", **hook)

        with pytest.raises(_WAITS):
            question.execute(context)

    task = quote(question.task_id, safe="")
    answer = (
        f"https://airflow.example/prefix/dags/orders_offsets/runs/{quote(RUN, safe='')}/tasks/{task}/required_actions"
    )
    [mail] = (message_from_string(one) for one in mails)
    [part] = (one for one in mail.walk() if one.get_content_type() == "text/html")
    html = bytes(part.get_payload(decode=True)).decode()
    assert mail["Subject"] == "Change the offsets of flow?"
    assert "<p>Change the offsets of flow?</p>" in html
    assert f'<a href="{answer}">Approve or reject it</a> until 20' in html
    assert "https://airflow.example/prefix/connect-offsets/report/orders_offsets/" in html
    [(path, message)] = messages
    assert path == "/services/T0/B0/x"
    assert message["text"].startswith(f"Change the offsets of flow? {answer} until 20")


def _question() -> AskAboutRunOperator:
    """The question of the example's DAG."""
    spec = importlib.util.spec_from_file_location("orders_offsets", EXAMPLE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    [question] = (task for task in module.dag.tasks if isinstance(task, AskAboutRunOperator))
    assert question.assigned_users == [{"id": "ada", "name": "ada"}, {"id": "bob", "name": "bob"}]
    return question
