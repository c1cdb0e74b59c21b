"""The house stays one in which a stranger finds the room."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "airflow_provider_connect_offsets"
MODULES = sorted(PACKAGE.rglob("*.py"))


def test_a_class_has_a_name_of_its_own() -> None:
    """Who searches for a public class finds one."""
    trees = (ast.parse(module.read_text()) for module in MODULES)
    names = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))

    assert [name for name, count in names.items() if count > 1 and not name.startswith("_")] == []


def test_a_folder_has_no_more_than_14_modules() -> None:
    """Beyond that it is several rooms."""
    counts = Counter(module.parent for module in MODULES if module.name != "__init__.py")

    assert {folder.name: count for folder, count in counts.items() if count > 14} == {}


def test_a_file_has_no_more_than_300_lines() -> None:
    """Beyond that it holds several ideas."""
    lengths = {str(module.relative_to(PACKAGE)): len(module.read_text().splitlines()) for module in MODULES}

    assert {name: length for name, length in lengths.items() if length > 300} == {}
