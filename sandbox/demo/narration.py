"""Print the demo, and keep what it has proved."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.status import Status
from rich.table import Table
from rich.text import Text

_WIDTH = 120
_MARGIN = (0, 0, 0, 2)


@dataclass(frozen=True, slots=True)
class Proof:
    """A claim with its expected and observed value."""

    claim: str
    expected: str
    observed: str

    @property
    def holds(self) -> bool:
        """Whether both values are the same."""
        return self.expected == self.observed


class Step:
    """A step of the demo that is running."""

    def __init__(self, text: str, status: Status) -> None:
        self.text = text
        self._status = status

    def note(self, what: str) -> None:
        """Show what it waits for right now."""
        self._status.update(f"waiting until {self.text}: {what}")


class Narration:
    """Prints the demo, and keeps what it has proved."""

    def __init__(self) -> None:
        console = Console(highlight=False, markup=False)
        # Into a file or a pipe: as wide as the tables need.
        self._console = console if console.is_terminal else Console(highlight=False, markup=False, width=_WIDTH)
        self._began = time.monotonic()
        self.proofs: list[Proof] = []

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self._began

    def heading(self, text: str) -> None:
        """Print the heading of a part."""
        self._console.print()
        self._console.rule(Text(text, "bold"), align="left", style="cyan")

    def say(self, text: str) -> None:
        """Print a sentence."""
        self._console.print(Padding(Text(text), _MARGIN))

    def show(self, renderable: RenderableType) -> None:
        """Show a table or the like."""
        self._console.print(Padding(renderable, (1, 0, 0, 2)))

    def request(self, conf: Mapping[str, Any]) -> None:
        """Show the Params of a DAG run."""
        self._console.print(Padding(Text(json.dumps(dict(conf)), "cyan"), _MARGIN))

    @contextmanager
    def step(self, text: str) -> Iterator[Step]:
        """Show that a step runs, and at its end how long it took."""
        began = time.monotonic()
        with self._console.status(f"waiting until {text}") as status:
            step = Step(text, status)
            yield step
        self._line("✓", "green", f"{step.text} ({time.monotonic() - began:.1f}\N{NO-BREAK SPACE}s)")

    def prove(self, claim: str, *, expected: object, observed: object) -> None:
        """Keep and show whether a claim holds."""
        proof = Proof(claim, str(expected), str(observed))
        self.proofs.append(proof)
        if proof.holds:
            self._line("✓", "bold green", f"{claim}: {proof.observed}")
        else:
            self._line("✗", "bold red", f"{claim}: expected {proof.expected}, observed {proof.observed}")

    def verdict(self) -> bool:
        """Show all claims, and return whether all hold."""
        table = Table("", "what", "expected", "observed")
        for proof in self.proofs:
            mark = Text("✓", "green") if proof.holds else Text("✗", "bold red")
            table.add_row(mark, proof.claim, proof.expected, proof.observed)
        self.show(table)
        return bool(self.proofs) and all(proof.holds for proof in self.proofs)

    def complain(self, text: str) -> None:
        """Print an error."""
        self._console.print()
        self._line("✗", "bold red", text)

    def _line(self, mark: str, style: str, text: str) -> None:
        grid = Table.grid(padding=(0, 1))
        grid.add_row(Text(mark, style), Text(text, overflow="fold"))
        self._console.print(Padding(grid, _MARGIN))
