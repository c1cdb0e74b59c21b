"""The documents name the tests, steps and versions that exist."""

from __future__ import annotations

import re
from pathlib import Path

from airflow_provider_connect_offsets import __version__
from airflow_provider_connect_offsets.connect.rest.releases import Feature
from tests.support.faults.fault_cell import STEPS
from tests.support.faults.fault_table import LEGEND
from tests.support.programs.kafka_versions import CHANGING, READ_ONLY

TOP = Path(__file__).parents[2]
VERSIONS = (TOP / "docs" / "versions.md").read_text()
RELIABILITY = (TOP / "docs" / "reliability.md").read_text()


def test_the_matrix_has_the_steps_and_endings_of_the_tests() -> None:
    """Each column and each letter of the page is checked."""
    header = next(line for line in RELIABILITY.splitlines() if line.startswith("| fault"))
    columns = [cell.strip() for cell in header.strip("|").split("|")]

    assert columns == ["fault", "connector", *STEPS, "at random"]
    for ending, meaning in LEGEND.items():
        assert f"- {ending}: {meaning}" in RELIABILITY


def test_the_files_that_prove_a_promise_are_there() -> None:
    """Each that the table of promises names."""
    named = [part for part in RELIABILITY.split("`") if part.startswith("tests/")]

    assert named
    assert [name for name in named if not (TOP / name).exists()] == []


def test_the_table_of_versions_has_those_of_the_tests() -> None:
    """Each column is checked; and the page quotes how an old worker's refusal reads."""
    header = next(line for line in VERSIONS.splitlines() if line.startswith("| |"))
    quoted = " ".join(line.removeprefix("> ") for line in VERSIONS.splitlines() if line.startswith("> "))

    assert [cell.strip() for cell in header.strip("|").split("|")] == ["", READ_ONLY, *CHANGING]
    assert f"has Kafka {READ_ONLY}, but {Feature.CHANGE_OFFSETS.need}. {Feature.CHANGE_OFFSETS.advice}" in quoted


def test_the_changelog_begins_with_this_version() -> None:
    """Changes since that release are in a section above it."""
    versions = re.findall(r"^## (.+)$", (TOP / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert versions[0] in {"Unreleased", __version__}
    assert next(version for version in versions if version != "Unreleased") == __version__
