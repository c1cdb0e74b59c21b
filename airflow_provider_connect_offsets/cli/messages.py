"""Messages of the tool, on standard error: standard output holds the document and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from airflow_provider_connect_offsets.kafka.topic_reader import Progress


def tell(text: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(f"{text}\n")


@contextmanager
def progress_bar(what: str) -> Iterator[Progress | None]:
    """Show how far reading has come, if standard error is a terminal; yields None otherwise."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    # By default it redirects standard output as well, where the document goes.
    with Bar(console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
