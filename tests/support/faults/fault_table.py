"""The fault matrix as a Markdown table."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol

from tabulate import tabulate


class Ending(StrEnum):
    """How a cell ended."""

    APPLIED = "A"
    NEXT = "N"
    RESTORED = "R"
    STOPPED = "S"
    DRIFT = "D"
    THEIRS = "T"


LEGEND = {
    Ending.APPLIED: "applied and read back by the attempt that met the fault",
    Ending.NEXT: "killed, so it said nothing; the next attempt applied the plan, once",
    Ending.RESTORED: "prior offsets and state were restored; the next attempt applied the plan, once",
    Ending.STOPPED: "left STOPPED, and the error says what is stored and what to do; the next attempt applied the plan",
    Ending.DRIFT: "drift: nothing was written, and the error names the partition",
    Ending.THEIRS: "someone else resumed or deleted it: the error says so, and it stays as they left it",
}


class Note(Protocol):
    """Notes the ending of a cell for the table."""

    def __call__(self, fault: str, step: str, kind: str, ending: Ending) -> None:
        """Of one fault at one step, with one kind of connector."""


def table(cells: Iterable[tuple[str, str, str, str]], steps: Iterable[str]) -> str:
    """A line per fault and kind, a column per step, in Markdown; where a cell was run more than once, all its letters.

    ``steps`` are the columns that come first, in this order.
    """
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    columns = dict.fromkeys(steps)
    for fault, step, kind, ending in cells:
        columns[step] = None
        found.setdefault((fault, kind), {}).setdefault(step, []).append(ending)
    rows = [[*key, *(" ".join(row.get(step, [])) for step in columns)] for key, row in sorted(found.items())]
    legend = "\n".join(f"- {ending}: {meaning}" for ending, meaning in LEGEND.items())
    return f"{tabulate(rows, headers=['fault', 'connector', *columns], tablefmt='github')}\n\n{legend}"


def task_table(cells: Iterable[tuple[str, str, str, str]]) -> str:
    """A line per task of each DAG, a column per fault, in Markdown; ``cells``: DAG, task, fault, and the ending."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    columns = dict[str, None]()
    for dag_id, task, fault, ending in cells:
        columns[fault] = None
        found.setdefault((dag_id, task), {})[fault] = ending
    rows = [[*key, *(row.get(fault, "") for fault in columns)] for key, row in found.items()]
    return tabulate(rows, headers=["DAG", "task", *columns], tablefmt="github")
