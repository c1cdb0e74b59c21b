"""Answers on standard output: as a table for people, as JSON or CSV for programs."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

#: Column → value; every row of an answer has the same columns.
Row: TypeAlias = Mapping[str, Any]

# A table that is not on a terminal is read by programs or in a log, where folded cells can't be searched.
_WIDTH = 400


class Format(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def write(rows: Sequence[Row], form: Format, *, columns: Sequence[str], nothing: str) -> None:
    """Write rows to standard output.

    Args:
        rows: The rows.
        form: How to write them.
        columns: Their columns, in order; a CSV without rows has them, too.
        nothing: A sentence in place of a table without rows.
    """
    writers: Mapping[Format, Callable[[], None]] = {
        Format.TABLE: lambda: _write_table(rows, columns, nothing),
        Format.JSON: lambda: write_json(list(rows)),
        Format.CSV: lambda: _write_csv(rows, columns),
    }
    writers[form]()


def write_json(answer: object) -> None:
    """Write an answer as indented JSON."""
    sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")


def _write_csv(rows: Sequence[Row], columns: Sequence[str]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([row[name] for name in columns] for row in rows)


def _write_table(rows: Sequence[Row], columns: Sequence[str], nothing: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not rows:
        sys.stdout.write(f"{nothing}\n")
        return
    table = Table(box=SIMPLE_HEAD)
    for name in columns:
        is_number = any(isinstance(row[name], int | float) for row in rows)
        table.add_column(name.replace("_", " "), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(row[name])) for name in columns))
    Console(width=None if sys.stdout.isatty() else _WIDTH).print(table)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int | float) else str(value)
