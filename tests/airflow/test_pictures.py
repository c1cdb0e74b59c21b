"""The pictures in README and docs show the DAGs as they are; `make pictures` takes new ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.dags import connector_offsets_change
from sandbox.airflow import DAGS, parse_dags
from tests.conftest import DAG_FOLDERS
from tests.support.airflow.pictured import KEPT

DOCS = Path(__file__).parents[2] / "docs"
GRAPHS = sorted(path.stem for path in (DOCS / "graphs").glob("*.png"))


@pytest.mark.parametrize("dag_id", GRAPHS)
def test_a_graph_has_the_tasks_that_the_dag_has(dag_id: str) -> None:
    """The kept graph shows each task of the DAG, and no other."""
    folder = next(folder for folder in (DAGS, DAG_FOLDERS["tests"]) if (folder / f"{dag_id}.py").exists())

    tasks = {task.rpartition(".")[2] for task in parse_dags(folder / f"{dag_id}.py")[dag_id].task_ids}

    assert set((KEPT / f"{dag_id}.txt").read_text().split()) == tasks


def test_the_form_has_the_fields_that_are_open_at_once() -> None:
    """The kept form shows the fields of all Params without a section."""
    params = connector_offsets_change().params
    shown = (KEPT / "form.txt").read_text()

    at_once = [param for name in params if "section" not in (param := params.get_param(name)).schema]
    assert at_once
    for param in at_once:
        assert re.search(rf"^{re.escape(param.schema['title'])}\b", shown, re.MULTILINE), param.schema["title"]


def test_each_picture_has_its_words_and_each_page_its_pictures() -> None:
    """A picture that nothing shows, or that nobody renews, is old one day."""
    pictures = {path.stem for path in (*DOCS.glob("*.png"), *(DOCS / "graphs").glob("*.png"))}
    pages = "".join(page.read_text() for page in (*DOCS.rglob("*.md"), DOCS.parent / "README.md"))

    assert {path.stem for path in KEPT.glob("*.txt")} >= pictures
    assert {picture for picture in pictures if f"/{picture}.png)" not in pages} == set()
