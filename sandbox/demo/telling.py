"""All that the demo prints, and what it has proved on the way."""

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
    """Something that must hold: what was expected, and what was found."""

    claim: str
    expected: str
    found: str

    @property
    def holds(self) -> bool:
        """Whether it does."""
        return self.expected == self.found


class Step:
    """A step under way."""

    def __init__(self, text: str, status: Status) -> None:
        self.text = text
        self._status = status

    def note(self, what: str) -> None:
        """Show what it waits for right now."""
        self._status.update(f"waiting until {self.text}: {what}")


class Telling:
    """Prints the demo, and keeps what it has proved."""

    def __init__(self) -> None:
        console = Console(highlight=False, markup=False)
        # Into a file or a pipe: as wide as the tables like it.
        self._console = console if console.is_terminal else Console(highlight=False, markup=False, width=_WIDTH)
        self._began = time.monotonic()
        self.proofs: list[Proof] = []

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self._began

    def heading(self, text: str) -> None:
        """Begin a part."""
        self._console.print()
        self._console.rule(Text(text, "bold"), align="left", style="cyan")

    def say(self, text: str) -> None:
        """Explain."""
        self._console.print(Padding(Text(text), _MARGIN))

    def show(self, renderable: RenderableType) -> None:
        """Show a table or the like."""
        self._console.print(Padding(renderable, (1, 0, 0, 2)))

    def request(self, conf: Mapping[str, Any]) -> None:
        """Show what a DAG run is asked for."""
        self._console.print(Padding(Text(json.dumps(dict(conf)), "cyan"), _MARGIN))

    @contextmanager
    def step(self, text: str) -> Iterator[Step]:
        """Show that something is under way, and say at its end that it is done and how long it took."""
        began = time.monotonic()
        with self._console.status(f"waiting until {text}") as status:
            step = Step(text, status)
            yield step
        self._line("✓", "green", f"{step.text} ({time.monotonic() - began:.1f}\N{NO-BREAK SPACE}s)")

    def prove(self, claim: str, *, expected: object, found: object) -> None:
        """Keep and show whether something holds."""
        proof = Proof(claim, str(expected), str(found))
        self.proofs.append(proof)
        if proof.holds:
            self._line("✓", "bold green", f"{claim}: {proof.found}")
        else:
            self._line("✗", "bold red", f"{claim}: expected {proof.expected}, found {proof.found}")

    def verdict(self) -> bool:
        """Show all that was proved, and tell whether all of it holds."""
        table = Table("", "what", "expected", "found")
        for proof in self.proofs:
            mark = Text("✓", "green") if proof.holds else Text("✗", "bold red")
            table.add_row(mark, proof.claim, proof.expected, proof.found)
        self.show(table)
        return bool(self.proofs) and all(proof.holds for proof in self.proofs)

    def complain(self, text: str) -> None:
        """Say what went wrong."""
        self._console.print()
        self._line("✗", "bold red", text)

    def _line(self, mark: str, style: str, text: str) -> None:
        grid = Table.grid(padding=(0, 1))
        grid.add_row(Text(mark, style), Text(text, overflow="fold"))
        self._console.print(Padding(grid, _MARGIN))
