"""The picture of a change: a band for each partition that moves on a log.

A band shows the log as a bar, with the connector's position and the requested position. Lengths are in units of the
drawing, which are pixels on a wide screen; y grows downwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_connect_offsets.report.charts.svg import LARGE, WIDTH, Anchor, Drawing, Ink
from airflow_provider_connect_offsets.report.moves import PositionMove

LEFT, RIGHT = 128.0, 592.0
HEIGHT, LENS_HEIGHT = 78.0, 126.0

_THICK, _THIN = 14.0, 8.0
_RADIUS = 5.5  # of a marker, with its edge
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
    """Positions on a bar from ``window.start`` to ``window.stop``."""

    window: range

    def x(self, position: int) -> float:
        """Return the x of a position; a position outside of the window is drawn next to the bar."""
        if position < self.window.start:
            return LEFT - _GAP
        if position > self.window.stop:
            return RIGHT + _GAP
        return LEFT + (position - self.window.start) / max(1, len(self.window)) * (RIGHT - LEFT)


def draw(moves: Sequence[PositionMove], names: Names, *, name: str) -> str | None:
    """Draw moves on logs.

    Args:
        moves: partitions; those without a log are left out
        names: labels of the markers
        name: name of the drawing, unique in its report

    Returns:
        SVG; None if no move is on a log
    """
    shown = [move for move in moves if move.log is not None]
    if not shown:
        return None
    drawing = Drawing(_LEGEND + sum(_height(move) for move in shown), name=name)
    _draw_legend(
        drawing,
        12,
        names,
        again=any(move.records_again for move in shown),
        never=any(move.records_never for move in shown),
    )
    top = _LEGEND
    for move in shown:
        if move.log is not None:
            _draw_band(drawing, top, move, move.log, names)
        top += _height(move)
    return drawing.svg(_as_text(shown, names))


def is_enlarged(move: PositionMove) -> bool:
    """Whether the move is too short to be visible on the whole log."""
    if move.log is None or not move.log_between:
        return False
    return len(move.log_between) / len(move.log) * (RIGHT - LEFT) < _TOO_SMALL


def _height(move: PositionMove) -> float:
    """Return the height of a band."""
    return LENS_HEIGHT if is_enlarged(move) else HEIGHT


def _draw_band(drawing: Drawing, top: float, move: PositionMove, log: range, names: Names) -> None:
    """Draw the band of ``move`` below ``top``."""
    _head(drawing, top, move)
    if not move.log_between or not is_enlarged(move):
        _bar(drawing, top + 42, _THICK, log)
        _journey(drawing, top + 42, _Scale(log), move, names)
        return
    _bar(drawing, top + 28, _THIN, log)
    _span(drawing, top + 28, _THIN, _Scale(log), move)
    window = _window(move.log_between, log)
    _lens(drawing, top + 28 + _THIN / 2, top + 90 - _THICK / 2, _Scale(log), window)
    _bar(drawing, top + 90, _THICK, window)
    _journey(drawing, top + 90, _Scale(window), move, names)


def _draw_legend(drawing: Drawing, y: float, names: Names, *, again: bool, never: bool) -> None:
    """Draw the legend at ``y``; ``again`` and ``never``: whether there are such records."""
    _marker(drawing, 8, y, filled=False)
    drawing.text((20, y), names.before, size=LARGE)
    _marker(drawing, 108, y, filled=True)
    drawing.text((120, y), names.after, size=LARGE)
    x = 208.0
    for shown, records_again, text in ((again, True, "delivered again"), (never, False, "never delivered")):
        if shown:
            drawing.records((x, y), (28, _THICK), again=records_again)
            drawing.text((x + 36, y), text, size=LARGE)
            x += 150
    drawing.text((WIDTH, y), "each bar: one log, first to last record", color=Ink.MUTED, anchor=Anchor.RIGHT)


def _head(drawing: Drawing, top: float, move: PositionMove) -> None:
    name = move.where if len(move.where) <= _LONGEST_NAME else f"…{move.where[1 - _LONGEST_NAME :]}"
    drawing.text((0, top + 10), name, size=LARGE, bold=True)
    ink = Ink.NEVER if move.records_never else Ink.AGAIN if move.records_again else Ink.TEXT
    drawing.text((WIDTH, top + 10), move.effect, size=LARGE, color=ink, anchor=Anchor.RIGHT, bold=True)


def _bar(drawing: Drawing, y: float, thickness: float, window: range) -> None:
    drawing.bar((LEFT, y), (RIGHT - LEFT, thickness), fill=Ink.LOG, edge=Ink.MUTED, line=0.6)
    drawing.text((LEFT - 2 * _GAP, y), f"{window.start:,}", color=Ink.MUTED, anchor=Anchor.RIGHT)
    drawing.text((RIGHT + 2 * _GAP, y), f"{window.stop:,}", color=Ink.MUTED)


def _journey(drawing: Drawing, y: float, scale: _Scale, move: PositionMove, names: Names) -> None:
    """Draw the move from before to after, on the bar at ``y``."""
    _span(drawing, y, _THICK, scale, move)
    _cells(drawing, y, scale.window)
    before, after = move.change.before_position, move.change.after_position
    if before is not None and after is not None and abs(scale.x(before) - scale.x(after)) > 2 * _TOO_SMALL:
        way = _RADIUS if after > before else -_RADIUS
        drawing.arrow(scale.x(before) + way, scale.x(after) - way, y)
    for position, filled in ((before, False), (after, True)):
        if position is not None:
            _marker(drawing, scale.x(position), y, filled=filled)
    _text_at(drawing, y - 18, scale, before, _label(names.before, before, move.before))
    astray = f", {move.side_of_log}" if move.side_of_log else ""
    _text_at(drawing, y + 18, scale, after, _label(names.after, after, move.after) + astray, bold=True)


def _span(drawing: Drawing, y: float, thickness: float, scale: _Scale, move: PositionMove) -> None:
    if move.log_between:
        low = min(scale.x(move.log_between.start), RIGHT - 2)
        high = max(scale.x(move.log_between.stop), low + 2)  # wide enough to be visible
        drawing.records((low, y), (high - low, thickness), again=bool(move.records_again))


def _cells(drawing: Drawing, y: float, window: range) -> None:
    """Draw lines between records, if there are few records."""
    if not 1 < len(window) <= _CELLS:
        return
    scale = _Scale(window)
    for position in range(window.start + 1, window.stop):
        x = scale.x(position)
        drawing.line([(x, y - _THICK / 2), (x, y + _THICK / 2)], color=Ink.MUTED, width=0.6)


def _window(way: range, log: range) -> range:
    """Return a short piece of the log around a short move, which fills a third of that piece at most."""
    length = min(max(8, 3 * len(way)), len(log))
    start = min(max(log.start, (way.start + way.stop - length) // 2), log.stop - length)
    return range(start, start + length)


def _lens(drawing: Drawing, upper: float, lower: float, scale: _Scale, window: range) -> None:
    corners = [(scale.x(window.start), upper), (scale.x(window.stop), upper), (RIGHT, lower), (LEFT, lower)]
    drawing.area(corners, fill=Ink.LENS)
    drawing.text((WIDTH, (upper + lower) / 2), "enlarged", color=Ink.MUTED, anchor=Anchor.RIGHT)


def _marker(drawing: Drawing, x: float, y: float, *, filled: bool) -> None:
    face = Ink.TEXT if filled else Ink.PAPER
    drawing.dot((x, y), _RADIUS - 1, fill=face, edge=Ink.TEXT, line=1.8)


def _label(name: str, position: int | None, text: str) -> str:
    return f"{name} {text}" if position is not None else f"{name}: {text}"


def _text_at(drawing: Drawing, y: float, scale: _Scale, position: int | None, text: str, *, bold: bool = False) -> None:
    """Write a marker's label, centred on the marker, but never beyond the bar's ends."""
    x = LEFT if position is None else scale.x(position)
    half = 3.2 * len(text)
    anchor = Anchor.LEFT if x - half < LEFT else Anchor.RIGHT if x + half > RIGHT else Anchor.CENTER
    drawing.text(({Anchor.LEFT: LEFT, Anchor.RIGHT: RIGHT}.get(anchor, x), y), text, anchor=anchor, bold=bold)


def _as_text(shown: Sequence[PositionMove], names: Names) -> str:
    """Return the drawing as text, for screen readers."""
    texts = [
        f"{move.where}: {names.before} {move.before}, {names.after} {move.after}, {move.effect}"
        for move in shown[:_IN_LABEL]
    ]
    more = [f"and {len(shown) - _IN_LABEL} more, which the table lists"] if len(shown) > _IN_LABEL else []
    return f"Positions on each log. {'; '.join([*texts, *more])}."
