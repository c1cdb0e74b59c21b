"""The guides of CONTRIBUTING.md that are diffs can be followed: they apply, and what they add works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs.guides import copied

pytestmark = pytest.mark.jobs


def test_a_rule_can_be_added(tmp_path: Path) -> None:
    """With its test, which is part of the guide."""
    copy = copied(tmp_path, "A rule")
    arguments = ["-q", "-p", "no:cacheprovider", "tests/pipeline/test_rules.py", "-k", "far_back"]
    program = [sys.executable, "-m", "pytest", *arguments]
    # Neither the share of tests that CI draws nor its options: the guide promises that all of these run.
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST") and "SHARE" not in name
    }
    environment = {**inherited, "PYTHONPATH": str(copy)}

    done = subprocess.run(program, cwd=copy, env=environment, capture_output=True, text=True, check=False)

    assert "2 passed" in done.stdout, done.stdout[-3000:] + done.stderr[-1000:]
