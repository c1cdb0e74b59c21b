"""The pages of a series of snapshots and of a connector, served to users with different rights; asking real Connect."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_provider_connect_offsets.saga import Journal, Owner
from airflow_provider_connect_offsets.workspace.layout import journal_root
from sandbox import Sandbox
from tests.support.faults.dead_holders import ELSEWHERE, leave
from tests.support.flows.flows import SinkFlow
from tests.support.rows.snapshots import NOW, At, Taken, keep_snapshot

if TYPE_CHECKING:
    from fastapi.testclient import TestClient
    from httpx2 import Response

MINE, OTHER = "reports_of_one", "reports_of_another"  # Airflow knows both
SERIES = "c-kafka_connect_default"
BY = {"control": "rest", "connect_conn_id": "kafka_connect_default", "kafka_conn_id": "kafka_target"}
Get = Callable[..., "Response"]


@pytest.fixture
def get(browser: TestClient, token_of: Callable[..., str]) -> Get:
    """Asks for a page below the app, as a user with a role."""

    def ask(path: str, username: str = "somebody", role: str = "viewer") -> Response:
        headers = {"Authorization": f"Bearer {token_of(username, role)}"}
        answer: Response = browser.get(f"/connect-offsets/{path}", headers=headers)
        return answer

    return ask


@pytest.fixture
def snapshots(workspace: str) -> list[str]:
    """Three snapshots of a sink of two partitions, the newest last: it moved on, and then back."""
    return [
        keep_snapshot(
            workspace,
            MINE,
            Taken([At(0, first), At(1, 5)], ends=(100, 5), at=NOW + timedelta(hours=hour), connections=BY),
            at=f"2026-01-31T{12 + hour}0000.000000Z",
        )
        for hour, first in enumerate((10, 40, 20))
    ]


def rows_of(text: str, caption: str) -> list[str]:
    """The rows of the table with this label."""
    table = text.split(f'aria-label="{caption}"', 1)[1].split("<tbody>", 1)[1].split("</tbody>", 1)[0]
    return table.split("<tr")[1:]


def test_where_a_connector_was(get: Get, snapshots: list[str]) -> None:
    """The newest snapshot is first, and each has the command that restores the connector from it."""
    text = get(f"connector/{MINE}/{SERIES}/sink").text

    rows = rows_of(text, "Where it was")
    numbers = [row.split('<td class="n">')[1:] for row in rows]
    assert [[cell.split("<")[0] for cell in row] for row in numbers] == [["-20", "80"], ["30", "60"], ["unknown", "90"]]
    assert [moment in row for moment, row in zip(("14:00:00", "13:00:00", "12:00:00"), rows, strict=True)] == [True] * 3
    for uri, row in zip(reversed(snapshots), rows, strict=True):
        [command] = (line for line in html.unescape(row).split("<code>") if line.startswith("airflow dags trigger"))
        conf = json.loads(command.split("--conf ")[1].split("</code>")[0].strip("'"))
        assert conf == {"snapshot_uri": uri, "connectors": "sink", **BY}
    assert "orders 0: 20, 80 left; orders 1: 5, 0 left." in text, "the chart's text for screen readers"


@pytest.mark.usefixtures("snapshots")
def test_what_one_can_do(get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link leads to each DAG that Airflow has, and whose runs the user may read."""
    monkeypatch.setattr("airflow_provider_connect_offsets.report.pages.actions._CHANGE", OTHER)
    monkeypatch.setattr("airflow_provider_connect_offsets.report.pages.actions._POISON", "not_there")
    page = f"connector/{MINE}/{SERIES}/sink"

    allowed, not_allowed = get(page).text, get(page, f"reader-of-{MINE}").text

    assert allowed.count(f'<a href="/dags/{OTHER}">Open {OTHER}</a>') == 3
    assert allowed.count(f"airflow dags trigger {OTHER} ") == not_allowed.count(f"airflow dags trigger {OTHER} ") == 3
    assert "Open " not in not_allowed
    assert "airflow dags trigger not_there " in allowed
    assert "Open not_there" not in allowed


def test_what_has_changed_it(get: Get, snapshots: list[str], workspace: str) -> None:
    """What runs of DAGs have done that the user may read."""
    del snapshots
    Path(workspace.removeprefix("file://"), OTHER).mkdir()
    owner = Owner(f"{OTHER}/run", "apply", ELSEWHERE, 1, triggered_by="bob", approved_by="<ada>")
    leave(Journal(journal_root(workspace), cluster="c", resource="sink"), owner)
    page = f"connector/{MINE}/{SERIES}/sink"

    [row] = rows_of(get(page).text, "What has changed it")

    assert '<th scope="row">a change</th>' in row
    assert "<td>being made</td>" in row
    assert f"<td>{OTHER}/run<small>triggered by bob</small><small>approved by &lt;ada&gt;</small></td>" in row
    assert "No run that is remembered has changed it." in get(page, f"reader-of-{MINE}").text


@pytest.mark.parametrize(("other", "kafka"), [({}, "kafka_target"), ({"kafka_conn_id": ""}, "kafka_source")])
def test_a_restore_of_all_names_a_kafka_cluster(get: Get, workspace: str, other: dict[str, str], kafka: str) -> None:
    """That of the sinks, whose logs the positions are checked against; without one, that of the MirrorSources."""
    by = {**BY, "source_kafka_conn_id": "kafka_source", **other}
    uri = keep_snapshot(workspace, MINE, Taken([At(0, 1)], connections=by))

    text = html.unescape(get(f"series/{MINE}/{SERIES}").text)

    [conf] = re.findall(r"connector_offsets_restore --conf '(\{.*?\})'", text)
    assert json.loads(conf) == {"snapshot_uri": uri, **BY, "kafka_conn_id": kafka}


def test_the_snapshots_of_a_series(get: Get, snapshots: list[str], workspace: str) -> None:
    """Also if one is of a version to come, and one is not complete."""
    strange = keep_snapshot(workspace, MINE, Taken([]), at="2026-01-30T120000.000000Z").removeprefix("file://")
    Path(strange, "snapshot.json").write_text('{"format": 99}')
    unfinished = keep_snapshot(workspace, MINE, Taken([]), at="2026-02-01T120000.000000Z").removeprefix("file://")
    Path(unfinished, "snapshot.json").unlink()

    text = get(f"series/{MINE}/{SERIES}").text

    rows = rows_of(text, "Kept snapshots")
    assert len(rows) == 3
    assert all(uri in html.unescape(row) for uri, row in zip(reversed(snapshots), rows, strict=True))


@pytest.mark.usefixtures("snapshots")
@pytest.mark.parametrize(
    ("path", "username", "code"),
    [
        (f"series/{MINE}/{SERIES}", f"reader-of-{OTHER}", 403),
        (f"connector/{MINE}/{SERIES}/sink", f"reader-of-{OTHER}", 403),
        (f"connector/{MINE}/{SERIES}/sink", f"reader-of-{MINE}", 200),
        (f"connector/{MINE}/{SERIES}/another", "somebody", 404),
        (f"connector/{MINE}/another/sink", "somebody", 404),
        (f"connector/{MINE}/..%2F..%2F{MINE}/sink", "somebody", 404),
        (f"series/{OTHER}/{SERIES}", "somebody", 404),
        (f"series/nobody_knows/{SERIES}", "somebody", 404),
    ],
)
def test_who_may_see_what(path: str, username: str, code: int, get: Get) -> None:
    """Rights are those to read the DAG's runs; what is not there is said so."""
    assert get(path, username).status_code == code


def test_who_is_not_signed_in_is_led_back(browser: TestClient) -> None:
    """To the page that they have asked for."""
    answer = browser.get(f"/connect-offsets/connector/{MINE}/{SERIES}/a%20b")

    assert answer.status_code == 401
    assert f"next=%2Fconnect-offsets%2Fconnector%2F{MINE}%2F{SERIES}%2Fa%2520b" in answer.text


@pytest.mark.usefixtures("connections")
def test_what_connect_says_now(get: Get, sandbox: Sandbox, workspace: str) -> None:
    """One connector with its offsets, or all with their states: only for who may read the connection."""
    flow = SinkFlow.start(sandbox)
    keep_snapshot(workspace, MINE, Taken([At(0, 1, flow.name)], states={flow.name: "STOPPED"}, connections=BY))
    path = f"connector/{MINE}/{SERIES}/{flow.name}"

    one = html.unescape(get(f"{path}?now=true", role="op").text)
    every = get(f"series/{MINE}/{SERIES}?now=true", role="op").text

    assert "<dt>State</dt><dd>RUNNING</dd>" in one
    assert f'<code>{{"kafka_offset":{flow.position()}}}</code>' in one
    [row] = (row for row in rows_of(every, "Connectors as Connect has them now") if flow.name in row)
    assert "<td>RUNNING</td>" in row
    assert "<td>1 RUNNING</td>" in row
    for refused in (path, f"series/{MINE}/{SERIES}"):
        answer = get(f"{refused}?now=true", role="viewer")
        assert answer.status_code == 403
        assert "You may not read Airflow&#x27;s connection &#x27;kafka_connect_default&#x27;." in answer.text
    assert "as Connect has it now" not in get(path).text

    sandbox.connect.delete(flow.name)
    gone = get(f"{path}?now=true", role="op")
    assert gone.status_code == 404
    assert flow.name in gone.text


def test_connect_that_does_not_answer(
    get: Get, snapshots: list[str], connection: Callable[..., None], workspace: str
) -> None:
    """The page says so at once; and what an old snapshot does not say can't be asked."""
    del snapshots
    connection(host="127.0.0.1", port=1)
    answer = get(f"connector/{MINE}/{SERIES}/sink?now=true", role="op")

    assert answer.status_code == 502
    assert "http://127.0.0.1:1 does not answer (connection refused)" in answer.text

    keep_snapshot(workspace, MINE, Taken([At(0, 1)]), at="2026-02-01T120000.000000Z")
    old = get(f"connector/{MINE}/{SERIES}/sink?now=true", role="op")
    assert old.status_code == 404
    assert "does not say how its Connect cluster is reached" in old.text
