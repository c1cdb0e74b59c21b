"""What a run leaves: no secret, which all tests here look for after each run, and no file that others may read."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

import psutil
import pytest

from airflow_provider_connect_offsets.offsets import kept_config
from tests.support.airflow.dag_runs import Ran
from tests.support.airflow.planted import SECRET
from tests.support.flows.flows import SinkFlow

RunDag = Callable[..., Ran]


def test_one_mask_less_is_found(sink: SinkFlow, run_dag: RunDag, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the dataset of connectors, whose Parquet file is compressed."""
    monkeypatch.setattr(kept_config, "mask_text", lambda text: text)

    with pytest.raises(AssertionError, match=rf"connectors/part-00000\.parquet: .*{SECRET}"):
        run_dag(connector=sink.name, to="current", dry_run=True)


@pytest.fixture
def watched() -> Iterator[set[str]]:
    """Command lines, and environments, of all processes that are started meanwhile."""
    seen: set[str] = set()
    ended, began = Event(), time.time()

    def look() -> None:
        while not ended.wait(0.2):
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    if process.create_time() < began:  # a server, or a Spark, of other tests
                        continue
                    seen.update([*process.cmdline(), *(f"{name}={value}" for name, value in process.environ().items())])

    watching = Thread(target=look)
    watching.start()
    yield seen
    ended.set()
    watching.join()


@pytest.mark.submits
def test_spark_gets_no_secret_and_writes_what_only_the_group_may_read(
    sink: SinkFlow,
    run_dag: RunDag,
    workspace: str,
    watched: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither its command line, nor its environment, event log and temporary files have one; whatever its umask is."""
    for name in ("events", "conf", "temporary"):
        (tmp_path / name).mkdir()
    events = (tmp_path / "events").as_uri()
    settings = f"spark.eventLog.enabled true\nspark.eventLog.dir {events}\n"
    (tmp_path / "conf" / "spark-defaults.conf").write_text(settings)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    assert run_dag(connector=sink.name, to="current", dry_run=True).state == "success"

    assert any("pipeline/job.py" in text for text in watched)
    left = [path for name in ("events", "temporary") for path in (tmp_path / name).rglob("*") if path.is_file()]
    assert any("SparkListenerApplicationEnd" in path.read_text(errors="replace") for path in left)
    assert not [path for path in left if SECRET in path.read_text(errors="replace")]
    assert not [text for text in watched if SECRET in text]
    root = Path(urlsplit(workspace).path)
    modes = {str(path.relative_to(root)): path.stat().st_mode & 0o777 for path in [root, *root.rglob("*")]}
    assert "offset_plan" in {Path(name).name for name in modes}
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o027} == {}
