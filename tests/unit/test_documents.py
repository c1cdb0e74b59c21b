"""What the documents say of the tests is what the tests have."""

from __future__ import annotations

from pathlib import Path

from fault_cell import STEPS
from fault_table import LEGEND

TOP = Path(__file__).parents[2]
RELIABILITY = (TOP / "docs" / "reliability.md").read_text()


def test_the_matrix_has_the_steps_and_endings_of_the_tests() -> None:
    """Column by column, and letter by letter."""
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
