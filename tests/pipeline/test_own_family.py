"""The family of docs/use-cases/own-family.md, in a distribution of its own."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.exceptions import BrokenFamily, InvalidInput, InvalidRequest
from airflow_provider_connect_offsets.offsets.families import ConnectorType, family_named, family_of
from airflow_provider_connect_offsets.offsets.families.own import load_own_families
from airflow_provider_connect_offsets.workspace.files import read_json
from tests.pipeline.test_plan_job import plan_in, snapshot
from tests.support.programs.submitting import submit
from tests.support.rows.planning import source

PAGE = Path(__file__).parents[2] / "docs" / "use-cases" / "own-family.md"
CLASS = "com.acme.TicketSource"
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a distribution with the documentation's module and entry point, or other ones."""
    site = tmp_path / "site"

    def installed(module: str | None = None, points: str | None = None) -> None:
        text = PAGE.read_text()
        [page_module] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        [page_points] = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
        named = re.sub(r'\[project\.entry-points\."(.*)"\]', r"[\1]", page_points).replace('"', "")
        information = site / "acme_families-1.0.dist-info"
        information.mkdir(parents=True)
        (site / "acme_families.py").write_text(page_module if module is None else module)
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-families\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text(points or named)
        monkeypatch.syspath_prepend(str(site))
        importlib.invalidate_caches()
        load_own_families.cache_clear()

    yield installed
    load_own_families.cache_clear()
    sys.modules.pop("acme_families", None)


def test_the_documented_family_has_the_connectors_of_its_class(install: Install) -> None:
    """A class name and its alias both lead to it; without the distribution, the class is unknown."""
    load_own_families.cache_clear()
    assert family_of(ConnectorType.SOURCE, CLASS).name == "generic_source"
    install()

    assert family_of(ConnectorType.SOURCE, CLASS) is family_of(ConnectorType.SOURCE, "TicketSource")
    assert family_of(ConnectorType.SOURCE, CLASS) is family_named("acme_tickets")


def test_the_documented_verdicts(install: Install) -> None:
    """Word by word, as the documentation shows them."""
    install()
    family, boards = family_named("acme_tickets"), {"boards": "north,south"}
    shown = re.findall(r"\| (?:error|warning) `(\w+)`: `(.*)` \|", PAGE.read_text())

    found = {
        finding.rule.value: finding.message for finding in family.check({"board": "west"}, {"ticket": "4711"}, boards)
    }
    with pytest.raises(InvalidRequest) as refused:
        family.offset_from("0")
    found |= {"no_position": str(refused.value), "clear_effect": f"its offset is removed: {family.without_offset}."}

    assert found == dict(shown)
    assert list(family.check({"board": "north"}, family.offset_from("4711"), boards)) == []


@pytest.mark.parametrize(
    ("module", "points", "problem"),
    [
        ("raise RuntimeError('no licence')", None, "RuntimeError: no licence"),
        ("class TicketSource: ...", None, "acme_families:TicketSource is not a subclass of .*Family"),
        (None, "[connect_offsets.families]\nacme_tickets = acme_families:Tickets\n", "AttributeError: .*'Tickets'"),
        (
            None,
            "[connect_offsets.families]\nacme_tickets = no_such:TicketSource\n",
            "No module named 'no_such'",
        ),
        (
            "from airflow_provider_connect_offsets.offsets.family import Family\nclass TicketSource(Family): ...\n",
            None,
            "acme_families:TicketSource must have a name and classes of its own",
        ),
        (
            "from airflow_provider_connect_offsets.offsets.families import FileStreamSource as TicketSource",
            None,
            "there is another family named 'file_stream_source'",
        ),
    ],
)
def test_one_that_cannot_be_loaded_is_named_with_its_distribution(
    install: Install, module: str | None, points: str | None, problem: str
) -> None:
    """Only where a class is unknown; sinks and the families of this package are found without it."""
    install(module, points)

    said = rf"family 'acme_tickets' of the distribution acme-families 1\.0 .*{problem}\. Correct the distribution"
    with pytest.raises(BrokenFamily, match=said):
        family_of(ConnectorType.SOURCE, CLASS)
    assert family_of(ConnectorType.SINK, CLASS).name == "sink"
    assert family_of(ConnectorType.SOURCE, "FileStreamSource").name == "file_stream_source"


def test_a_family_that_is_gone_is_named() -> None:
    """A plan that was made with it can't be applied without it."""
    load_own_families.cache_clear()

    with pytest.raises(
        InvalidInput,
        match=r"no connector family 'acme_tickets' .* entry point in the group 'connect_offsets\.families'",
    ):
        family_named("acme_tickets")


@pytest.mark.jobs
def test_spark_needs_no_installation_of_it(install: Install, spark: SparkSession, tmp_path: Path) -> None:
    """Driver and workers find it in the shipped zip, by its entry point."""
    del spark
    install()
    stored = [({"board": board}, {"ticket": 5000}) for board in ("north", "south", "west")]
    tickets = source(CLASS, *stored, boards="north,south")
    directory = snapshot(tmp_path / "run", tickets, to="offset", value="4711")

    submit("plan", directory.uri, tmp_path)

    assert [row.after for row in plan_in(directory).rows] == ['{"ticket":4710}'] * 3
    [error] = read_json(directory.summary)["errors"]
    assert "the connector reads the boards north,south, and not 'west'" in error
