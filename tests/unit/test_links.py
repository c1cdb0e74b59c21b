"""Links between pages of the documentation lead to files and headings that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOP_PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *TOP_PAGES]
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page in its addresses."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Files and folders exist; so does the heading behind ``#``."""
    for link in _LINK.findall(page.read_text()):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or target.is_dir() or anchor in anchors(target), link


def test_the_map_names_each_room() -> None:
    """A folder of the package that holds modules is on the map."""
    text = (ROOT / "docs" / "map.md").read_text()
    rooms = {file.parent.name for file in (ROOT / "airflow_provider_connect_offsets").glob("*/__init__.py")}
    assert {room for room in rooms if f"airflow_provider_connect_offsets/{room})" not in text} == set()
