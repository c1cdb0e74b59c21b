"""The structure of the package: unique class names, small folders, one way to the door."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "airflow_provider_connect_offsets"
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


def test_only_the_client_of_rest_names_requests() -> None:
    """A message names what a person does by ``by_hand`` of the control: Strimzi sets back what comes by REST.

    Of offsets the store decides (``captured.by_hand``): they are changed by REST also where there is a resource.
    """
    named = re.compile(r"(PUT|POST|DELETE) /connectors/")
    others = (module for module in MODULES if PACKAGE / "connect" / "rest" not in module.parents)

    assert [str(module.relative_to(PACKAGE)) for module in others if named.search(module.read_text())] == []


def test_windows_end_at_the_last_row_only_if_they_begin_at_the_first() -> None:
    """Spark counts the others anew for each row, so that their time grows with the square of the rows.

    What follows a row is what precedes it in the opposite order, which Spark counts on from row to row.
    """
    users = [module.relative_to(PACKAGE) for module in MODULES if "unboundedFollowing" in module.read_text()]

    assert [str(module) for module in users] == ["pipeline/events.py"]


@pytest.mark.parametrize(
    "call", [r"\.claim\(", r"\bentry\.begin\(", r"\bExecutor\(", r"\.settle\(toward", r"\bLease\("]
)
def test_only_the_door_claims_begins_and_settles(call: str) -> None:
    """Whoever changes something calls ``saga.operate``, and whoever goes back ``saga.settle``."""
    used = re.compile(call)
    others = (module for module in MODULES if PACKAGE / "saga" not in module.parents)

    assert [str(module.relative_to(PACKAGE)) for module in others if used.search(module.read_text())] == []
