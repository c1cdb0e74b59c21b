"""The picture of a change: a band for each partition that moves on a log.

A band shows the log as a bar, with the connector's position and the requested position. Lengths are in units of the
drawing, which are pixels on a wide screen; y grows downwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Polygon, Rectangle

from airflow_provider_connect_offsets.report.charts.svg import LARGE, WIDTH, Ink, canvas, to_svg, write
from airflow_provider_connect_offsets.report.moves import Log, PositionMove

LEFT, RIGHT = 128.0, 592.0
HEIGHT, LENS_HEIGHT = 78.0, 126.0

_THICK, _THIN = 14.0, 8.0
_GAP = 8.0  # between the ends of a bar and their numbers, with room for a marker outside of the log
_TOO_SMALL = 14.0  # a shorter move is also shown enlarged
_CELLS = 40  # records that are drawn one by one
_LONGEST_NAME = 64
_LEGEND = 36.0
_IN_LABEL = 5


@dataclass(frozen=True, slots=True)
class Names:
    """Labels of the two markers; a change that was not applied has no "after"."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class _Scale:
    """Positions on a bar from ``window.start`` to ``window.end``."""

    window: Log

    def x(self, position: int) -> float:
        """X of a position; a position outside of the window is drawn next to the bar."""
        if position < self.window.start:
            return LEFT - _GAP
        if position > self.window.end:
            return RIGHT + _GAP
        return LEFT + (position - self.window.start) / max(1, len(self.window)) * (RIGHT - LEFT)


def draw(moves: Sequence[PositionMove], names: Names, *, name: str) -> str | None:
    """Draw moves on logs.

    Args:
        moves: partitions; those without a log are left out
        names: labels of the markers
        name: of the drawing, unique in its report

    Returns:
        SVG; None if no move is on a log
    """
    shown = [move for move in moves if move.log is not None]
    if not shown:
        return None
    figure, axes = canvas(_LEGEND + sum(_height(move) for move in shown))
    _draw_legend(
        axes,
        12,
        names,
        again=any(move.records_again for move in shown),
        never=any(move.records_never for move in shown),
    )
    top = _LEGEND
    for move in shown:
        if move.log is not None:
            _draw_band(axes, top, move, move.log, names)
        top += _height(move)
    return to_svg(figure, name=name, label=_as_text(shown, names))


def is_enlarged(move: PositionMove) -> bool:
    """Whether the move is too short to be visible on the whole log."""
    if move.log is None or not move.between:
        return False
    return len(move.between) / len(move.log) * (RIGHT - LEFT) < _TOO_SMALL


def _height(move: PositionMove) -> float:
    """Height of a band."""
    return LENS_HEIGHT if is_enlarged(move) else HEIGHT


def _draw_band(axes: Axes, top: float, move: PositionMove, log: Log, names: Names) -> None:
    """Draw the band of ``move`` below ``top``."""
    _head(axes, top, move)
    if not move.between or not is_enlarged(move):
        _bar(axes, top + 42, _THICK, log)
        _journey(axes, top + 42, _Scale(log), move, names)
        return
    _bar(axes, top + 28, _THIN, log)
    _span(axes, top + 28, _THIN, _Scale(log), move)
    window = _window(move.between, log)
    _lens(axes, top + 28 + _THIN / 2, top + 90 - _THICK / 2, _Scale(log), window)
    _bar(axes, top + 90, _THICK, window)
    _journey(axes, top + 90, _Scale(window), move, names)


def _draw_legend(axes: Axes, y: float, names: Names, *, again: bool, never: bool) -> None:
    """Draw the legend at ``y``; ``again`` and ``never``: whether there are such records."""
    _marker(axes, 8, y, filled=False)
    write(axes, 20, y, names.before, fontsize=LARGE)
    _marker(axes, 108, y, filled=True)
    write(axes, 120, y, names.after, fontsize=LARGE)
    x = 208.0
    for shown, records_again, text in ((again, True, "delivered again"), (never, False, "never delivered")):
        if shown:
            _records(axes, x, x + 28, y, _THICK, again=records_again)
            write(axes, x + 36, y, text, fontsize=LARGE)
            x += 150
    write(axes, WIDTH, y, "each bar: one log, first to last record", color=Ink.MUTED, anchor="right")


def _head(axes: Axes, top: float, move: PositionMove) -> None:
    name = move.where if len(move.where) <= _LONGEST_NAME else f"…{move.where[1 - _LONGEST_NAME :]}"
    write(axes, 0, top + 10, name, fontsize=LARGE, fontweight="bold")
    ink = Ink.NEVER if move.records_never else Ink.AGAIN if move.records_again else Ink.TEXT
    write(axes, WIDTH, top + 10, move.effect, fontsize=LARGE, color=ink, anchor="right", fontweight="bold")


def _bar(axes: Axes, y: float, thickness: float, window: Log) -> None:
    axes.add_patch(
        Rectangle((LEFT, y - thickness / 2), RIGHT - LEFT, thickness, facecolor=Ink.LOG, edgecolor=Ink.MUTED, lw=0.6)
    )
    write(axes, LEFT - 2 * _GAP, y, f"{window.start:,}", color=Ink.MUTED, anchor="right")
    write(axes, RIGHT + 2 * _GAP, y, f"{window.end:,}", color=Ink.MUTED)


def _journey(axes: Axes, y: float, scale: _Scale, move: PositionMove, names: Names) -> None:
    """The move from before to after, on the bar at ``y``."""
    _span(axes, y, _THICK, scale, move)
    _cells(axes, y, scale.window)
    before, after = move.moved.before_position, move.moved.after_position
    if before is not None and after is not None and abs(scale.x(before) - scale.x(after)) > 2 * _TOO_SMALL:
        _arrow(axes, y, scale.x(before), scale.x(after))
    for position, filled in ((before, False), (after, True)):
        if position is not None:
            _marker(axes, scale.x(position), y, filled=filled)
    _text_at(axes, y - 18, scale, before, _label(names.before, before, move.before))
    astray = f", {move.astray}" if move.astray else ""
    _text_at(axes, y + 18, scale, after, _label(names.after, after, move.after) + astray, fontweight="bold")


def _span(axes: Axes, y: float, thickness: float, scale: _Scale, move: PositionMove) -> None:
    if move.between:
        low = min(scale.x(move.between.start), RIGHT - 2)
        high = max(scale.x(move.between.end), low + 2)  # wide enough to be visible
        _records(axes, low, high, y, thickness, again=bool(move.records_again))


def _records(axes: Axes, low: float, high: float, y: float, thickness: float, *, again: bool) -> None:
    """A range of records, with its colour and hatching."""
    axes.add_patch(
        Rectangle(
            (low, y - thickness / 2),
            high - low,
            thickness,
            facecolor=Ink.AGAIN_PALE if again else Ink.NEVER_PALE,
            edgecolor=Ink.AGAIN if again else Ink.NEVER,
            hatch="////" if again else "xxxx",
            lw=1.2,
        )
    )


def _cells(axes: Axes, y: float, window: Log) -> None:
    """Lines between records, if there are few."""
    if not 1 < len(window) <= _CELLS:
        return
    scale = _Scale(window)
    for position in range(window.start + 1, window.end):
        axes.plot([scale.x(position)] * 2, [y - _THICK / 2, y + _THICK / 2], color=Ink.MUTED, lw=0.6)


def _window(way: Log, log: Log) -> Log:
    """A short piece of the log around the way, in which it fills a third at most."""
    length = min(max(8, 3 * len(way)), len(log))
    start = min(max(log.start, (way.start + way.end - length) // 2), log.end - length)
    return Log(start, start + length)


def _lens(axes: Axes, upper: float, lower: float, scale: _Scale, window: Log) -> None:
    corners = [(scale.x(window.start), upper), (scale.x(window.end), upper), (RIGHT, lower), (LEFT, lower)]
    axes.add_patch(Polygon(corners, closed=True, facecolor=Ink.LENS, edgecolor="none", zorder=0))
    write(axes, WIDTH, (upper + lower) / 2, "enlarged", color=Ink.MUTED, anchor="right")


def _arrow(axes: Axes, y: float, start: float, end: float) -> None:
    axes.annotate(
        "",
        xy=(end, y),
        xytext=(start, y),
        arrowprops={"arrowstyle": "-|>", "color": Ink.TEXT, "lw": 1.6, "shrinkA": 6, "shrinkB": 5},
    )


def _marker(axes: Axes, x: float, y: float, *, filled: bool) -> None:
    face = Ink.TEXT if filled else Ink.PAPER
    axes.plot([x], [y], marker="o", markersize=9, color=face, markeredgecolor=Ink.TEXT, markeredgewidth=1.8, zorder=4)


def _label(name: str, position: int | None, text: str) -> str:
    return f"{name} {text}" if position is not None else f"{name}: {text}"


def _text_at(axes: Axes, y: float, scale: _Scale, position: int | None, text: str, **style: Any) -> None:
    """A marker's label: centred on it, but never beyond the bar's ends."""
    x = LEFT if position is None else scale.x(position)
    half = 3.2 * len(text)
    anchor = "left" if x - half < LEFT else "right" if x + half > RIGHT else "center"
    write(axes, {"left": LEFT, "right": RIGHT}.get(anchor, x), y, text, anchor=anchor, **style)


def _as_text(shown: Sequence[PositionMove], names: Names) -> str:
    """The drawing as text, for screen readers."""
    texts = [
        f"{move.where}: {names.before} {move.before}, {names.after} {move.after}, {move.effect}"
        for move in shown[:_IN_LABEL]
    ]
    more = [f"and {len(shown) - _IN_LABEL} more, as in the table"] if len(shown) > _IN_LABEL else []
    return f"Positions on each log. {'; '.join([*texts, *more])}."
