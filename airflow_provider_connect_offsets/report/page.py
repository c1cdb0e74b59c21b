"""The page: one HTML file that needs nothing beside itself, for one change or several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity, Verdict
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.change import Change
from airflow_provider_connect_offsets.report.figures import Figure, key_figures
from airflow_provider_connect_offsets.report.moves import PositionMove
from airflow_provider_connect_offsets.report.standing import Pending
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import RunDirectory

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

MOST_ROWS = 200
MOST_BANDS = 40
MOST_OF_A_RULE = 5

_QUOTED = re.compile(r"`([^`]+)`")


def write_page(run: RunDirectory, *, pending: Pending | None = None) -> str:
    """Publish the page of one run as its ``report.html``, and return where it lies."""
    change = Change.read(run, pending=pending)
    files.write_bytes(run.report, render([change], title=change.title).encode())
    return run.report


def render(changes: Sequence[Change], *, title: str, notes: Sequence[str] = ()) -> str:
    """Give one page over ``changes``, in their order; ``notes`` are paragraphs that introduce it."""
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            title=title,
            notes=notes,
            written_at=words.moment(datetime.now(tz=UTC)),
            sections=[_Section.of(change, number) for number, change in enumerate(changes, start=1)],
        )
    )


@dataclass(frozen=True, slots=True)
class _Findings:
    """What one rule found at one severity: the first few, and how many more there are."""

    severity: Severity
    sentence: str
    shown: tuple[str, ...]
    more: int

    @classmethod
    def of(cls, verdicts: Sequence[Verdict]) -> _Findings:
        rule = verdicts[0].rule
        sentence = next((known.sentence for known in Rule if known == rule), rule)
        shown = tuple(verdict.message for verdict in verdicts[:MOST_OF_A_RULE])
        return cls(verdicts[0].severity, sentence, shown, len(verdicts) - len(shown))


@dataclass(frozen=True, slots=True)
class _Section:
    """A change as the template shows it."""

    anchor: str
    change: Change
    request: str
    figures: tuple[Figure, ...]
    findings: tuple[_Findings, ...]
    picture: Markup | None
    drawn: int
    rows: tuple[PositionMove, ...]
    datasets: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, change: Change, number: int) -> _Section:
        from markupsafe import Markup  # noqa: PLC0415 - as jinja2

        anchor = f"change-{number}"
        on_a_log = [move for move in change.moves if move.log is not None][:MOST_BANDS]
        svg = _picture(change, on_a_log, name=anchor)
        return cls(
            anchor=anchor,
            change=change,
            request=words.request(change.request),
            figures=key_figures(change),
            findings=_findings(change.verdicts),
            # Drawn here and not by anyone else: what is text in it, the drawing has escaped.
            picture=None if svg is None else Markup(svg),  # noqa: S704
            drawn=len(on_a_log),
            rows=change.moves[:MOST_ROWS],
            datasets=_datasets(change),
        )

    @property
    def hidden_rows(self) -> int:
        """Rows that the table leaves out."""
        return len(self.change.moves) - len(self.rows)

    @property
    def hidden_bands(self) -> int:
        """Partitions that the picture leaves out, though it could show them."""
        return sum(move.log is not None for move in self.change.moves) - self.drawn


def _picture(change: Change, moves: Sequence[PositionMove], *, name: str) -> str | None:
    if not moves:
        return None
    from airflow_provider_connect_offsets.report.charts.picture import Names, draw  # noqa: PLC0415 - matplotlib takes its time

    if change.standing.applied:
        return draw(moves, Names("before", "after"), name=name)
    # After a failure nobody says where it stands: that may be just what isn't known.
    return draw(moves, Names("stood" if change.outcome else "stands", "wanted"), name=name)


def _findings(verdicts: Sequence[Verdict]) -> tuple[_Findings, ...]:
    kinds = groupby(verdicts, key=lambda verdict: (verdict.severity, verdict.rule))
    return tuple(_Findings.of(list(found)) for _, found in kinds)


def _datasets(change: Change) -> tuple[tuple[str, str], ...]:
    """Where things lie, as far as they are there."""
    run = change.run
    there = [("Request", run.request)]
    if change.observed is not None:
        there += [("Offsets at the snapshot", run.connector_offsets), ("Log bounds", run.log_bounds)]
    if change.summary is not None:
        there += [("Plan", run.offset_plan), ("Verdicts", run.verdicts), ("Summary", run.summary)]
    if change.recorded is not None:
        there.append(("Outcome", run.outcome))
    return tuple((name, words.without_credentials(uri)) for name, uri in there)


def environment() -> Environment:
    """Where the templates of pages are, and how they write what is somebody's text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only a page needs it

    environment = Environment(
        loader=PackageLoader(__package__ or "", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(prose=_prose, moment=words.moment, without_credentials=words.without_credentials)
    return environment


def _prose(text: str) -> Markup:
    """Somebody's sentence as HTML: escaped, without credentials, what is in backticks as code."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - as jinja2

    safe = str(escape(words.without_credentials(text)))
    return Markup(_QUOTED.sub(r"<code>\1</code>", safe))  # noqa: S704 - escaped in the line above
