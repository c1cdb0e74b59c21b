"""What the pictures of README and docs show, in words, so that a test says when one of them is old."""

from __future__ import annotations

import os
import re
from pathlib import Path

from playwright.sync_api import Locator

#: The words of each picture in docs/, as they were when it was taken.
KEPT = Path(__file__).parents[2] / "browser" / "pictured"
#: Set by `make pictures`, which takes new pictures, and keeps their words.
RENEWED = "PICTURES"
# What a page calls things; no values, which differ from run to run.
_NAMES = "h1, h2, h3, th, dt, label, legend"
_NUMBERS = re.compile(r"\d[\d.,:]*")


def words_of(shown: Locator) -> str:
    """Return the visible names on a part of a page, each once and without numbers."""
    texts = [one.inner_text() for one in shown.locator(_NAMES).all() if one.is_visible()]
    lines = [" ".join(_NUMBERS.sub("#", text).split()) for text in texts]
    return "".join(f"{line}\n" for line in dict.fromkeys(filter(None, lines)))


def refuse_old(name: str, words: str, pictures: Path) -> None:
    """Write what picture ``name`` shows next to it; fail if that of docs/ shows something else."""
    pictures.mkdir(parents=True, exist_ok=True)
    (pictures / f"{name}.txt").write_text(words)
    if not os.environ.get(RENEWED):
        assert (KEPT / f"{name}.txt").read_text() == words, f"The picture {name}.png in docs/ is old: make pictures."
