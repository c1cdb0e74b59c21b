"""The pages of ``docs/reference`` are current, and a reader finds in them what other pages speak of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("griffe", reason="the reference is made with the dependency group docs")

from docs import reference_pages
from docs.docstrings import PACKAGE, TOP

WRITTEN = {page.stem: page.read_text() for page in reference_pages.PAGES}


@pytest.mark.parametrize("page", reference_pages.PAGES, ids=lambda page: page.stem)
def test_a_page_is_current(page: Path) -> None:
    """`make reference` writes the parts that are made from the code."""
    assert reference_pages.renewed(page.read_text()) == page.read_text()


def test_each_part_is_in_a_page() -> None:
    """A comment that is damaged would leave a part as it was."""
    parts = re.findall(r"made by `make reference`: (\w+) -->", "\n".join(WRITTEN.values()))

    assert sorted(parts) == sorted(reference_pages.PARTS)


@pytest.mark.parametrize("page", sorted(WRITTEN))
def test_each_row_says_what_it_means(page: str) -> None:
    """A table has the same number of cells in each row, and the last one is not empty."""
    rows = [line for line in WRITTEN[page].splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", row)[1:-1] for row in rows]

    assert [row for row, parts in zip(rows, cells, strict=True) if len(parts) != 3 and len(parts) != 2] == []
    assert [row for row, parts in zip(rows, cells, strict=True) if not parts[-1].strip()] == []


def test_what_pages_and_examples_name_is_listed() -> None:
    """Operators and sensors that people are told to use."""
    told = [page for page in (TOP / "docs").rglob("*.md") if page.parent.name != "reference"]
    text = "\n".join(file.read_text() for file in [*told, TOP / "README.md", *(TOP / "examples").rglob("*.py")])
    listed = set(re.findall(r"^#+ `(\w+)`$", WRITTEN["operators"] + WRITTEN["sensors"], re.MULTILINE))

    named = set(re.findall(r"\b[A-Z]\w+(?:Operator|Sensor)\b", text))
    ours = {name for name in named if any(f"class {name}(" in file.read_text() for file in _modules())}
    assert ours
    assert ours - listed == set()


def _modules() -> list[Path]:
    return [file for room in ("operators", "sensors") for file in (TOP / PACKAGE / room).rglob("*.py")]
