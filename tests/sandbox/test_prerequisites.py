"""What ``make`` prints on a machine that lacks something."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "prerequisites.sh"


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine with Python and neither Java nor anything else."""
    for tool in ("bash", "sed", "head"):
        found = shutil.which(tool)
        assert found
        (tmp_path / tool).symlink_to(found)
    (tmp_path / "python3").symlink_to(sys.executable)
    return {"PATH": str(tmp_path), "HOME": os.environ.get("HOME", "/")}


def check(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run it as make does."""
    return subprocess.run(
        [str(shutil.which("bash")), str(SCRIPT)], env=environment, capture_output=True, text=True, check=False
    )


def test_a_missing_jdk_is_named_with_the_command_that_brings_it(bare: dict[str, str]) -> None:
    """Nothing else is named."""
    done = check(bare)

    assert done.returncode == 1
    assert "Missing: a JDK 17 or 21 (no 'java')" in done.stderr
    assert "sudo apt-get install openjdk-17-jdk-headless" in done.stderr
    assert "Python" not in done.stderr


def test_a_jdk_of_another_version_is_named(bare: dict[str, str], tmp_path: Path) -> None:
    """With the version that was found."""
    java = tmp_path / "java"
    java.write_text("#!/bin/bash\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)

    done = check(bare)

    assert done.returncode == 1
    assert "'java' is version 11" in done.stderr


def test_a_missing_python_is_named_with_the_command_that_brings_it(bare: dict[str, str]) -> None:
    """A Python of another name does not count."""
    done = check({**bare, "PYTHON": "python3.99"})

    assert done.returncode == 1
    assert "Missing: Python 3.11, 3.12 or 3.13 (as 'python3.99'" in done.stderr
    assert "sudo apt-get install python3 python3-venv" in done.stderr


def test_a_machine_with_all_of_it_passes() -> None:
    """The one that runs the tests has to."""
    done = check(dict(os.environ))

    assert (done.returncode, done.stdout + done.stderr) == (0, "")
