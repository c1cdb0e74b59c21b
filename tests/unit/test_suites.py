"""Each suite is a marker with a make target and a duration."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
MARKERS = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
MAKEFILE = (TOP / "Makefile").read_text()
SUITES = [marker for marker in MARKERS if not marker.startswith(("long:", "submits:"))]


@pytest.mark.parametrize("line", SUITES, ids=lambda line: line.partition(":")[0])
def test_a_marker_names_the_target_that_runs_it_and_how_long_that_takes(line: str) -> None:
    """The target selects its tests by that marker."""
    described = re.fullmatch(r"(\w+): `make (test-\w+)`, \d+ min\b.*", line)

    assert described is not None
    marker, target = described.groups()
    recipe = MAKEFILE.partition(f"\n{target}:")[2].partition("\n\n")[0]
    assert re.search(rf"-m {marker}\b", recipe)


def test_the_tests_without_a_suite_are_those_of_make_test() -> None:
    """It leaves out each suite, but for the few histories that it runs too."""
    recipe = MAKEFILE.partition("\ntest:")[2].partition("\n\n")[0]
    left_out = set(re.findall(r"not (\w+)", recipe))

    assert left_out == {line.partition(":")[0] for line in SUITES} - {"histories"}
