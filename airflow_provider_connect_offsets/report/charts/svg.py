"""Convert matplotlib figures to SVG for reports: with the report's colours, and ids that are unique in the report.

Colours are drawn as placeholders and replaced by CSS variables, so a drawing fits light, dark and print.
"""

from __future__ import annotations

import io
import re
from enum import StrEnum
from html import escape
from typing import Any, Self

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDTH = 720.0
LARGE, SMALL = 12.0, 11.0
_POINTS_PER_INCH = 72


class Ink(StrEnum):
    """Placeholder colours; nothing else may use them."""

    variable: str
    fallback: str

    def __new__(cls, placeholder: str, variable: str, fallback: str) -> Self:
        """Attach the CSS variable, and the colour outside of a report."""
        member = str.__new__(cls, placeholder)
        member._value_ = placeholder
        member.variable = variable
        member.fallback = fallback
        return member

    TEXT = "#0a0b01", "--text", "#1b1f24"
    MUTED = "#0a0b02", "--muted", "#59636e"
    PAPER = "#0a0b03", "--paper", "#ffffff"
    LOG = "#0a0b04", "--log", "#d5dae0"
    LENS = "#0a0b05", "--lens", "#eceff2"
    # Blue and vermilion (Okabe and Ito) stay apart for every kind of colour blindness; the hatching, without colours.
    AGAIN = "#0a0b06", "--again", "#0072b2"
    NEVER = "#0a0b07", "--never", "#d55e00"
    AGAIN_PALE = "#0a0b08", "--again-pale", "#cfe5f3"
    NEVER_PALE = "#0a0b09", "--never-pale", "#fbdcc6"


def canvas(height: float, *, margin: float = 0.0) -> tuple[Figure, Axes]:
    """A figure, ``WIDTH`` wide without its margins, and its axes: in pixels, y grows downwards."""
    figure = Figure(figsize=(WIDTH / _POINTS_PER_INCH, height / _POINTS_PER_INCH), dpi=_POINTS_PER_INCH)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-margin, WIDTH + margin), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


def write(axes: Axes, x: float, y: float, text: str, *, anchor: str = "left", **style: Any) -> None:
    """Write a text; ``anchor``: which part of it is at ``x``, ``style``: as matplotlib's ``Text`` takes it."""
    # A dollar sign in a name must not begin a formula.
    style = {"fontsize": SMALL, "color": Ink.TEXT, "parse_math": False, **style}
    axes.text(x, y, text, ha=anchor, va="center_baseline", **style)


def to_svg(figure: Figure, *, name: str, label: str) -> str:
    """Draw ``figure`` as an ``<svg>`` element.

    Args:
        figure: the figure
        name: prefix of its ids, unique in its report
        label: its text for screen readers
    """
    buffer = io.StringIO()
    # Text stays text: searchable, and in the report's fonts.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "connect-offsets", "hatch.linewidth": 1.4}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    drawn = buffer.getvalue()
    svg = drawn[drawn.index("<svg") :].strip()
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for ink in Ink:
        svg = svg.replace(ink.value, f"var({ink.variable}, {ink.fallback})")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
