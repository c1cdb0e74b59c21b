"""Words that all packages share: a number with its noun, a short list, a sentence's end, a command to be pasted."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence


def quantify(number: int, noun: str) -> str:
    """Write how many there are: ``1 record``, ``1,200 records``; ``noun`` takes an s in the plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def join_first(texts: Sequence[str], limit: int, *, separator: str = ", ") -> str:
    """Join the first ``limit`` strings and count the others: ``a, b, c and 4 more``."""
    more = f" and {len(texts) - limit:,} more" if len(texts) > limit else ""
    return separator.join(texts[:limit]) + more


def as_sentence(text: str) -> str:
    """Let a text that another system has written end as a sentence does, so that another one can follow."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def trigger_command(dag_id: str, params: Mapping[str, object]) -> str:
    """Write the shell command that triggers a DAG with these Params."""
    return f"airflow dags trigger {dag_id} --conf {shlex.quote(json.dumps(params, ensure_ascii=False))}"
