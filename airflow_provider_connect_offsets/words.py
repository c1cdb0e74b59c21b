"""Words that all packages share: a number with its noun."""

from __future__ import annotations


def quantify(number: int, noun: str) -> str:
    """Write how many there are: ``1 record``, ``1,200 records``; ``noun`` takes an s in the plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
