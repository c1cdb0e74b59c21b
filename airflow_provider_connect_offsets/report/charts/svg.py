"""A drawing for a report, as an ``<svg>`` element in the report's colours.

Lengths are in units of the drawing, which are pixels on a wide screen; y grows downwards. Shapes cover earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from xml.etree import ElementTree as ET

#: x and y; or a width and a height.
XY = tuple[float, float]

WIDTH = 720.0
LARGE, SMALL = 12, 11
_ARROW_LENGTH, _ARROW_WIDTH = 9.0, 4.0
_HATCHING = {"again": "M0 8L8 0M-2 2L2 -2M6 10L10 6", "never": "M0 8L8 0M0 0L8 8"}


class Ink(StrEnum):
    """Colours: the report's CSS variable, and the colour used outside of a report."""

    TEXT = "var(--text, #1b1f24)"
    MUTED = "var(--muted, #59636e)"
    PAPER = "var(--paper, #ffffff)"
    LOG = "var(--log, #d5dae0)"
    LENS = "var(--lens, #eceff2)"
    # Blue and vermilion (Okabe and Ito) differ for every kind of colour blindness; hatchings differ without colours.
    AGAIN = "var(--again, #0072b2)"
    NEVER = "var(--never, #d55e00)"
    AGAIN_PALE = "var(--again-pale, #cfe5f3)"
    NEVER_PALE = "var(--never-pale, #fbdcc6)"
    NONE = "none"


class Anchor(StrEnum):
    """Which part of a text is at its x, in SVG's words."""

    LEFT = "start"
    CENTER = "middle"
    RIGHT = "end"


class Drawing:
    """Shapes and labels, in the order in which they are drawn.

    Args:
        height: Height of the drawing; its width is ``WIDTH``, without the margins.
        name: Prefix of its ids, unique in its report.
        margin: Width of the margins on the left and on the right.
    """

    def __init__(self, height: float, *, name: str, margin: float = 0.0) -> None:
        self._name = name
        box = (0 - margin, 0, WIDTH + 2 * margin, height)
        self._root = ET.Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=" ".join(map(_number, box)))
        self._patterns = ET.SubElement(self._root, "defs")

    def text(
        self,
        at: XY,
        text: str,
        *,
        anchor: Anchor = Anchor.LEFT,
        size: int = SMALL,
        color: Ink = Ink.TEXT,
        bold: bool = False,
    ) -> None:
        """Write a text, vertically centred on ``at``."""
        style = {"font-size": str(size), "fill": color, "text-anchor": anchor, "dy": "0.35em"}
        if bold:
            style["font-weight"] = "bold"
        self._add("text", style, x=at[0], y=at[1]).text = text

    def bar(self, left: XY, size: XY, *, fill: str, edge: Ink, line: float) -> None:
        """Draw a rectangle of width and height ``size``; ``left``: the middle of its left edge."""
        (x, y), (width, height) = left, size
        style = {"fill": fill, "stroke": edge, "stroke-width": _number(line)}
        self._add("rect", style, x=x, y=y - height / 2, width=width, height=height)

    def records(self, left: XY, size: XY, *, again: bool) -> None:
        """Draw a range of records that are delivered again or skipped; each kind has its own colour and hatching."""
        kind, fill, edge = ("again", Ink.AGAIN_PALE, Ink.AGAIN) if again else ("never", Ink.NEVER_PALE, Ink.NEVER)
        self.bar(left, size, fill=fill, edge=Ink.NONE, line=0)
        self.bar(left, size, fill=f"url(#{self._add_hatching(kind, edge)})", edge=edge, line=1.2)

    def line(self, points: Sequence[XY], *, color: Ink, width: float) -> None:
        """Draw a line through points."""
        style = {"points": _points(points), "fill": Ink.NONE, "stroke": color, "stroke-width": _number(width)}
        self._add("polyline", {**style, "stroke-linecap": "round", "stroke-linejoin": "round"})

    def area(self, points: Sequence[XY], *, fill: Ink) -> None:
        """Fill a polygon."""
        self._add("polygon", {"points": _points(points), "fill": fill})

    def dot(self, at: XY, radius: float, *, fill: Ink, edge: Ink, line: float) -> None:
        """Draw a circle."""
        self._add("circle", {"fill": fill, "stroke": edge, "stroke-width": _number(line)}, cx=at[0], cy=at[1], r=radius)

    def arrow(self, start: float, end: float, y: float) -> None:
        """Draw a horizontal arrow at ``y``, from x ``start`` to x ``end``."""
        back = -_ARROW_LENGTH if end > start else _ARROW_LENGTH
        self.line([(start, y), (end + back, y)], color=Ink.TEXT, width=1.6)
        self.area([(end, y), (end + back, y - _ARROW_WIDTH), (end + back, y + _ARROW_WIDTH)], fill=Ink.TEXT)

    def svg(self, label: str) -> str:
        """Return the ``<svg>`` element; ``label``: its text for screen readers."""
        self._root.attrib |= {"role": "img", "aria-label": label}
        return ET.tostring(self._root, encoding="unicode")

    def _add(self, tag: str, style: dict[str, str], **numbers: float) -> ET.Element:
        return ET.SubElement(self._root, tag, {name: _number(value) for name, value in numbers.items()} | style)

    def _add_hatching(self, kind: str, color: Ink) -> str:
        """Return the id of a pattern, which is added once."""
        name = f"{self._name}-{kind}"
        if all(pattern.get("id") != name for pattern in self._patterns):
            size = {"width": "8", "height": "8", "patternUnits": "userSpaceOnUse"}
            pattern = ET.SubElement(self._patterns, "pattern", {"id": name} | size)
            ET.SubElement(pattern, "path", {"d": _HATCHING[kind], "stroke": color, "stroke-width": "1.4"})
        return name


def _points(points: Sequence[XY]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
