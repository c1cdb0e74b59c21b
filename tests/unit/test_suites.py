"""Each suite is a marker with a make target and a duration."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.shares import ENDS, SEED, SHARE, Share

TOP = Path(__file__).parents[2]
MARKERS = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
MAKEFILE = (TOP / "Makefile").read_text()
CI = (TOP / ".ci" / "run").read_text()
DOCUMENTED = (TOP / "docs" / "tests.md").read_text()
# Modules that only extras bring.
OF_EXTRAS = ("kubernetes", "kubernetes_asyncio", "psycopg", "psycopg2")
SUITES = [marker for marker in MARKERS if not marker.startswith(("long:", "drawn:", "submits:"))]


@pytest.mark.parametrize("line", SUITES, ids=lambda line: line.partition(":")[0])
def test_a_marker_names_the_target_that_runs_it(line: str) -> None:
    """The target selects its tests by that marker, and the documentation says how long that takes."""
    described = re.fullmatch(r"(\w+): `make (test-\w+)`: .*", line)

    assert described is not None
    marker, target = described.groups()
    recipe = MAKEFILE.partition(f"\n{target}:")[2].partition("\n\n")[0]
    assert re.search(rf"-m \"?{marker}\b", recipe)
    assert re.search(rf"^\| `make {target}` \|[^|]*\| \d+ min\b", DOCUMENTED, re.MULTILINE)


def test_the_tests_without_a_suite_are_those_of_make_test() -> None:
    """It leaves out each suite, but for the few histories that it runs too."""
    left_out = set(re.findall(r"not (\w+)", MAKEFILE.partition("\nNO_SUITE ")[2].partition("\n")[0]))

    assert left_out == {line.partition(":")[0] for line in SUITES} - {"histories"}


def test_the_units_need_no_extra() -> None:
    """``make test-lowest`` runs them without: a module that imports what an extra brings would end the whole run."""
    imports = re.compile(r"^from ((?:airflow_provider|tests\.)\S+) import", re.MULTILINE)
    modules = {name for file in (TOP / "tests" / "unit").rglob("*.py") for name in imports.findall(file.read_text())}
    program = (
        f"import importlib, sys; sys.modules.update(dict.fromkeys({OF_EXTRAS})); "
        "[*map(importlib.import_module, sys.argv[1:])]"
    )

    ran = subprocess.run([sys.executable, "-c", program, *sorted(modules)], check=False, capture_output=True, text=True)

    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("every", [1, 2, 3, 7])
def test_the_shares_of_a_suite_make_up_the_whole(every: int) -> None:
    """Each test is in one of them, whatever the seeds are between."""
    tests = list(range(20))

    kept = [test for seed in range(100, 100 + every) for test in Share(every=every, seed=seed).split(tests)[0]]

    assert sorted(kept) == tests


@pytest.mark.parametrize(("ends", "is_over"), [(None, False), (1, True), (4_000_000_000, False)])
def test_a_share_ends_in_time(ends: int | None, *, is_over: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that have not started by then are skipped."""
    monkeypatch.delenv(ENDS, raising=False)
    if ends:
        monkeypatch.setenv(ENDS, str(ends))

    assert Share.of_environment().is_over is is_over


def test_only_samples_end_at_a_moment() -> None:
    """A floor of lines, or a quickstart, would fail or prove nothing if all of its tests were skipped as too late."""
    ending = [line for line in CI.splitlines() if ENDS in line]

    assert ending
    assert all(re.fullmatch(rf" *{ENDS}=\S+ (\w+=\d+ )?{SHARE}=\d+ make test-\w+", line) for line in ending)


def test_a_share_is_run_again_by_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the header of a run says is all that is needed; what is not run is known."""
    monkeypatch.setenv(SHARE, "3")
    monkeypatch.delenv(SEED)

    drawn = Share.of_environment()
    kept, left = drawn.split(["a", "b", "c", "d", "e"])

    assert Share.of_environment() == drawn
    assert str(drawn).endswith(f"{SHARE}=3 {SEED}={drawn.seed}")
    assert sorted(kept + left) == ["a", "b", "c", "d", "e"]
    assert left
