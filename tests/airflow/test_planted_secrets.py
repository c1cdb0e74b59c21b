"""What a run leaves: no secret, which all tests here look for after each run, and no file that others may read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from airflow_provider_connect_offsets.offsets import kept_config
from tests.support.airflow.dag_runs import Ran
from tests.support.airflow.planted import SECRET
from tests.support.flows.flows import SinkFlow

RunDag = Callable[..., Ran]


def test_one_mask_less_is_found(sink: SinkFlow, run_dag: RunDag, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the dataset of connectors, whose Parquet file is compressed."""
    monkeypatch.setattr(kept_config, "masked", lambda text: text)

    with pytest.raises(AssertionError, match=rf"connectors/part-00000\.parquet: .*{SECRET}"):
        run_dag(connector=sink.name, to="current", dry_run=True)


@pytest.mark.submits
def test_spark_writes_what_only_the_group_may_read(sink: SinkFlow, run_dag: RunDag, workspace: str) -> None:
    """Like all other files, and directories, of a run; whatever the umask of Spark's process is."""
    assert run_dag(connector=sink.name, to="current", dry_run=True).state == "success"

    root = Path(urlsplit(workspace).path)
    left = [root, *root.rglob("*")]
    assert any(path.name == "offset_plan" for path in left)
    assert {
        f"{path.relative_to(root)} {path.stat().st_mode & 0o777:o}" for path in left if path.stat().st_mode & 0o027
    } == set()
