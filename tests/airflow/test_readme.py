"""The README's examples run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox import Sandbox, wait_for
from sandbox.connectors import file_sink_config
from tests.support.airflow.dag_runs import Ran

README = (Path(__file__).parents[2] / "README.md").read_text()
SINK = "orders-sink"
AS_JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@pytest.fixture
def failed(sandbox: Sandbox) -> Iterator[Path]:
    """The README's sink, which has failed on its third record; gives the file that it writes."""
    file = sandbox.data / "orders.txt"
    sandbox.target.create_topic("orders")
    sandbox.target.produce("orders", [json.dumps({"order": number}) for number in range(2)])
    sandbox.target.produce("orders", ["cut off", json.dumps({"order": 3})])
    sandbox.connect.create(SINK, file_sink_config("orders", file, overrides=AS_JSON))
    sandbox.connect.wait_state(SINK, "FAILED", tasks=1)
    yield file
    sandbox.connect.delete(SINK)
    sandbox.target.delete_topic("orders")


@pytest.mark.submits
def test_the_five_lines_skip_the_poison_record(sandbox: Sandbox, failed: Path, run_dag: Callable[..., Ran]) -> None:
    """The block of the README, word by word: the sink runs on, and only the bad record is missing."""
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code
    assert len([line for line in code[1].splitlines() if line]) <= 5
    folder = Path(os.environ["AIRFLOW_HOME"], "written")  # a bundle of the tests
    folder.mkdir(exist_ok=True)
    (folder / "skip_poison_record.py").write_text(code[1])

    ran = run_dag("skip_poison_record", folder)

    assert (ran.state, set(ran.tasks.values())) == ("success", {"success"})
    late, work = "the sink writes nothing more", sandbox.connect.work
    wait_for(lambda: failed.read_text().count("\n"), 3, 60, late, progress=work)
    assert re.findall(r"order=(\d)", failed.read_text()) == ["0", "1", "3"]
    sandbox.connect.wait_state(SINK, "RUNNING", tasks=1)


def test_its_links_and_commands_lead_somewhere() -> None:
    """Every page and picture is there, and every make target it names."""
    top = Path(__file__).parents[2]
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", README)
    assert [link for link in links if not (top / link).exists()] == []
    targets = set(re.findall(r"make (\w+)", README))
    assert {"demo", "test", "up"} <= targets
    makefile = (top / "Makefile").read_text()
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []
