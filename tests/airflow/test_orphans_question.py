"""The question before orphaned offsets are removed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException

from airflow_provider_connect_offsets.operators.orphans import ApproveRemovalOperator
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.schemas import ORPHANS
from tests.support.airflow.orphan_runs import execute, local, read
from tests.support.rows.written import orphaned


def test_the_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The question shows each connector; where nothing is to be removed there is none, and the report says so.

    Where the topic may be another cluster's, approval is required. Offsets of a protected connector are not removed.
    """
    directory = orphaned(tmp_path)
    summary = {**read(directory.summary), "run_uri": directory.uri, "report": directory.report}
    approve = ApproveRemovalOperator(task_id="approve", summary=summary, remove="False", defaults="Reject")
    none = {**summary, "orphaned": 0}
    idle = ApproveRemovalOperator(task_id="idle", summary=none, remove="True", defaults="Reject")
    sure = ApproveRemovalOperator(task_id="sure", summary=summary, remove="True", approval="False", defaults="Reject")

    subject, body = approve.question()
    with pytest.raises(AirflowSkipException, match="Nothing is removed, because remove is false"):
        execute(approve)
    with pytest.raises(AirflowSkipException, match="There are no orphaned offsets"):
        execute(idle)
    assert execute(sure) is None
    sure.summary = {**summary, "existing": 0}
    with pytest.raises(AirflowFailException, match="so the topic may belong to another Connect cluster"):
        execute(sure)

    empty = {"string": "", "int": 0, "long": 0, "timestamp": datetime.now(tz=UTC), "binary": b""}
    row = {one.name: empty[one.kind] for one in ORPHANS.columns}
    write_dataset(directory.orphans, ORPHANS, [{**row, "connector": "files-old"}])
    monkeypatch.setenv("AIRFLOW__CONNECT_OFFSETS__PROTECTED", "files-.*")
    with pytest.raises(AirflowFailException, match="Nothing was changed: connector 'files-old' is protected here"):
        execute(sure)

    assert subject == "Remove the offsets of 2 deleted connectors?"
    assert "| files-old | 3 | 2025-11-02 08:00:00 UTC | 2.0 KiB |" in body
    assert "this run removes nothing" in local(directory.report).read_text().lower()
