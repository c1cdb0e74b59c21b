"""Render and publish reports: self-contained HTML files, from the templates in this folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.masking import mask_text
from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import Directory
from airflow_provider_connect_offsets.workspace.outcome import Approval

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_QUOTED = re.compile(r"`([^`]+)`")
_LONG = 11


@dataclass(frozen=True, slots=True)
class Figure:
    """A number at the top of a report.

    Attributes:
        value: the number
        label: what it counts
        note: small print below
        kind: CSS class that colours it
    """

    value: str
    label: str
    note: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """Verdicts under one heading of a report.

    Attributes:
        title: the heading
        rows: severity, the rule's sentence, and message of the verdicts shown, worst first
        more: how many more verdicts there are
    """

    title: str
    rows: tuple[tuple[Severity, str, str], ...]
    more: int

    @classmethod
    def of(cls, title: str, sample: Sequence[Mapping[str, Any]], rules: Iterable[Rule], *, most: int) -> Findings:
        """Take the findings of ``rules`` from a sample, at most ``most`` of a rule and severity."""
        rows: list[tuple[Severity, str, str]] = []
        times = 0
        for severity, rule in product(Severity, rules):
            kind = [row for row in sample if (row["rule"], row["severity"]) == (rule, severity)]
            rows += [(severity, rule.sentence, row["message"]) for row in kind[:most]]
            times += kind[0]["times"] if kind else 0
        return cls(title, tuple(rows), times - len(rows))


def publish(uri: str, template: str, **values: Any) -> str:
    """Render a template, write the report to ``uri``, and return ``uri``."""
    approval = Approval.read(Directory(uri.rpartition("/")[0]).approval)
    files.write_bytes(uri, render_template(template, approval=approval, **values).encode())
    return uri


def render_template(template: str, *, approval: Approval | None = None, **values: Any) -> str:
    """Return the HTML of a template, with all text escaped. ``approval``: the answer to the run's question, if any."""
    written_at = words.moment(datetime.now(tz=UTC))
    return _environment().get_template(template).render(written_at=written_at, approval=approval, **values)


@cache  # keeps compiled templates, which take half of the time of a report
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only a report needs it

    environment = Environment(
        loader=PackageLoader(__package__ or "", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        prose=_prose, breakable=_break_number, moment=words.moment, masked=mask_text, quantify=quantify
    )
    return environment


def embed_drawing(svg: str | None) -> Markup | None:
    """Return a drawing of ``charts`` for a template; the drawing has escaped its labels."""
    from markupsafe import Markup  # noqa: PLC0415 - as jinja2

    return None if svg is None else Markup(svg)  # noqa: S704


def _prose(text: str) -> Markup:
    """Return a sentence as HTML: escaped, without credentials, with code for what is in backticks."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - as jinja2

    safe = str(escape(mask_text(text)))
    return Markup(_QUOTED.sub(r"<code>\1</code>", safe))  # noqa: S704 - escaped in the line above


def _break_number(number: str) -> Markup:
    """Return a number as HTML; a number that is too long for its box may break after its separators."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - as jinja2

    safe = str(escape(number))
    return Markup(safe.replace(",", ",<wbr>") if len(number) > _LONG else safe)  # noqa: S704 - escaped
