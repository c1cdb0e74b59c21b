"""The guides of CONTRIBUTING.md that are diffs, applied to a copy of the project."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
_COPIED = ("airflow_provider_connect_offsets", "docs", "sandbox", "tests")


def copied(folder: Path, title: str) -> Path:
    """Copy what tests need of the project into a folder, and apply the diff of a section of CONTRIBUTING.md there."""
    for name in _COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.png"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    patch = ["patch", "--strip=1", "--fuzz=0", "--batch"]
    subprocess.run(patch, cwd=folder, input=diff_of(title), text=True, check=True, capture_output=True)
    return folder


def diff_of(title: str) -> str:
    """Return the diff that a section of CONTRIBUTING.md shows."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = re.search(r"```diff\n(.*?)```", section, re.DOTALL)
    assert found is not None, f"the section {title!r} shows no diff"
    return found[1]
