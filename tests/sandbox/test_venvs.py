"""The virtual environments in which ``make`` tests other versions."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "venv.sh"
UV = Path(sysconfig.get_path("scripts"), "uv")


def make_venv(version: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the script as make does."""
    return subprocess.run(
        [str(shutil.which("bash")), str(SCRIPT), version, str(directory)],
        env={"UV": str(UV), "PATH": f"{Path(sys.base_prefix, 'bin')}:/usr/bin:/bin", "HOME": str(directory.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_missing_python_is_named_with_the_command_that_brings_it(tmp_path: Path) -> None:
    """It is not skipped, and nothing is made."""
    done = make_venv("3.99", tmp_path / "venv")

    assert done.returncode == 1
    assert "Missing: Python 3.99" in done.stderr
    assert f"{UV} python install 3.99" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_an_environment_is_made_of_the_requested_python(tmp_path: Path) -> None:
    """It may exist already."""
    version = "{}.{}".format(*sys.version_info)

    first, again = (make_venv(version, tmp_path / "venv") for _ in range(2))

    assert (first.returncode, again.returncode) == (0, 0), again.stderr
    made = subprocess.run([tmp_path / "venv/bin/python", "--version"], capture_output=True, text=True, check=True)
    assert made.stdout.startswith(f"Python {version}.")
