"""A parameter that is added to a model, in one line of a copy of the package, is everywhere that it belongs.

One is added as the guide in CONTRIBUTING.md does it, and judged there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("griffe", reason="the reference is made with the dependency group docs")

from docs.docstrings import PACKAGE
from tests.support.programs.guides import copied

ADDED = "ticket"
LINE = f'    {ADDED}: int = count("Ticket", "Number of the change ticket.", default=7)\n'
FIELDS = f"from {PACKAGE}.offsets.requests.fields import count\n"
#: The class of the model and its module, the ready DAG that shows it, the task group that takes it, and the parsed
#: request, which is written for the Spark job, for a ticket that a template has made a text.
MODELS = {
    "GroupsToMove": (
        "failover",
        ("mirror_failover", "mirror_failover"),
        "FailoverRequest.parse(planned=False, flow=Flow(source_alias='a', target_alias='b'), ticket='12')",
    ),
    "ReplayInterval": (
        "replay",
        None,
        "ReplayRequest.parse(connector='c', begins=FROM, ends=TO, run='r', now=datetime.now(tz=UTC), ticket='12')",
    ),
    "OrphanSearch": (
        "orphans",
        ("connector_offsets_orphans", "orphaned_offsets"),
        "OrphanRequest.of(OrphanSearch.parse(ticket='12'), now=datetime.now(tz=UTC))",
    ),
    "PoisonRequest": (
        "poison",
        ("connector_offsets_poison", "skipped_poison_record"),
        "PoisonRequest.parse(connector='c', ticket='12')",
    ),
    "ReadinessRequest": (
        "readiness",
        ("mirror_readiness", "mirror_readiness"),
        "ReadinessRequest.parse(source_connector='c', ticket='12')",
    ),
    "ResumePoint": (
        "place",
        ("connector_offsets_change", "guarded_offset_change"),
        "Request.parse(connector='c', to='earliest', now=datetime.now(tz=UTC), ticket='12')",
    ),
    "SnapshotRequest": (
        "snapshots",
        ("connector_offsets_snapshot", "connector_snapshot"),
        "SnapshotRequest.parse(ticket='12')",
    ),
}
PROGRAM = f"""if True:
    import inspect, json
    from datetime import UTC, datetime
    from {PACKAGE} import dags, task_groups
    from {PACKAGE}.exceptions import InvalidRequest
    from {PACKAGE}.offsets.flow import Flow
    from {PACKAGE}.offsets.json_codec import encode
    from {PACKAGE}.offsets.requests.failover import FailoverRequest
    from {PACKAGE}.offsets.requests.orphans import OrphanRequest, OrphanSearch
    from {PACKAGE}.offsets.requests.poison import PoisonRequest
    from {PACKAGE}.offsets.requests.readiness import ReadinessRequest
    from {PACKAGE}.offsets.requests.replay import ReplayRequest
    from {PACKAGE}.offsets.requests.request import Request
    from {PACKAGE}.offsets.requests.snapshots import SnapshotRequest
    from {PACKAGE}.pipeline.failover.translation_summary import errors_of
    from docs import reference_pages, stubs

    FROM, TO = "2026-01-30T00:00:00+00:00", "2026-01-31T00:00:00+00:00"
    SUMMARY = {{"covered": 5, "partitions": 5, "max_rereads": 0, "mismatched": 0}}
    found = {{}}
    for model, (_, made, parse) in {MODELS!r}.items():
        on = [encode(eval(parse))["{ADDED}"]]
        try:
            eval(parse.replace("'12'", "'none'"))
        except InvalidRequest as error:
            on.append(str(error))
        if made:
            dag, group = getattr(dags, made[0])(), getattr(task_groups, made[1])
            on.append(dag.params.get_param("{ADDED}").schema["title"])
            on.append(inspect.signature(group).parameters["{ADDED}"].default)
        found[model] = on
    texts = {{name: stubs.stub(name).count("{ADDED}: int | str") for name in ("dags", "operators", "task_groups")}}
    pages = [page.name for page in reference_pages.PAGES if "`{ADDED}`" in reference_pages.renewed(page.read_text())]
    guided = FailoverRequest.parse(planned=False, flow=Flow(source_alias="a", target_alias="b"), max_groups="3")
    print(json.dumps([found, texts, pages, errors_of(guided, {{**SUMMARY, "groups": 4}})]))
"""


def test_a_parameter_is_one_line(tmp_path: Path) -> None:
    """It is on the form, an argument with its type, in docs, parsed in one sentence, and in the job's request."""
    copy = copied(tmp_path, "A parameter")
    for model, (module, _, _) in MODELS.items():
        file = copy / PACKAGE / "offsets" / "requests" / f"{module}.py"
        before, name, after = file.read_text().partition(f"class {model}(")
        docstring, quotes, body = after.partition('"""\n')
        future = "from __future__ import annotations\n"
        text = f"{before}{name}{docstring}{quotes}{LINE}{body}"
        file.write_text(text.replace(future, f"{future}{FIELDS}"))

    program = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(program, cwd=copy, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-3000:]
    found, texts, pages, errors = json.loads(done.stdout.splitlines()[-1])
    parsed = [12, f"{ADDED}: 'none' is not a whole number from 1 to 999999999999999."]
    expected = {model: [*parsed, *(["Ticket", 7] if made else [])] for model, (_, made, _) in MODELS.items()}
    assert found == expected
    assert all(texts.values()), texts
    assert errors == ["4 groups would be moved, more than max_groups (3)."]
    assert pages == ["dags.md", "operators.md", "task_groups.md"]
