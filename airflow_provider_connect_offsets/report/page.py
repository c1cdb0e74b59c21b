"""The page: one self-contained HTML file, made from a run's directory, or from several."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from airflow_provider_connect_offsets.report.change import Change
from airflow_provider_connect_offsets.report.picture import LIMIT as BARS
from airflow_provider_connect_offsets.report.picture import picture
from airflow_provider_connect_offsets.report.tables import position_of
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import RunDirectory

ROWS = 200


def write_page(run: RunDirectory) -> str:
    """Publish the page of ``run``, as far as it has come; returns its URI."""
    change = Change.read(run)
    files.write_bytes(run.report, render([change], title=f"Offsets of {change.connector}").encode())
    return run.report


def _code(text: str) -> Markup:
    """Set what stands between backticks as code."""
    parts = re.split(r"`([^`]*)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part) for number, part in enumerate(parts)
    )


def render(changes: Sequence[Change], *, title: str) -> str:
    """Write one page about ``changes``, in their order."""
    environment = Environment(
        loader=PackageLoader("airflow_provider_connect_offsets.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(position=position_of, code=_code)
    template = environment.get_template("page.html.j2")
    # The picture is our own SVG, whose texts matplotlib has escaped.
    drawn = [(change, Markup(picture(change))) for change in changes]  # noqa: S704
    return template.render(title=title, changes=drawn, rows=ROWS, bars=BARS)
