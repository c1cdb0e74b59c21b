"""What a report shows before anything is clicked."""

from __future__ import annotations

import re


def unfolded(html: str) -> str:
    """The page without what is folded; a value that another form asks for must be in it."""
    return re.sub(r"<details>.*?</details>", "", html, flags=re.DOTALL)
