"""Words that all packages share: a number with its noun, and the end of a sentence."""

from __future__ import annotations


def quantify(number: int, noun: str) -> str:
    """Write how many there are: ``1 record``, ``1,200 records``; ``noun`` takes an s in the plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def as_sentence(text: str) -> str:
    """Let a text that another system has written end as a sentence does, so that another one can follow."""
    return text if text.endswith((".", "!", "?")) else f"{text}."
