"""Charts over time, of lag and of positions; and of the records that each group of a flow would read again.

Lengths are in units of the drawing, which are pixels on a wide screen; y grows downwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.charts.svg import LARGE, Anchor, Drawing, Ink
from airflow_provider_connect_offsets.words import quantify

MOST_GROUPS = 15

_MARGIN = 6.0
_ROW, _PANEL, _FOOT, _HEAD = 66.0, 34.0, 22.0, 26.0
_LEFT, _RIGHT = (0.0, 340.0), (380.0, 720.0)
_FEW = 40  # points that are marked one by one
_LARGE_CHARACTER, _SMALL_CHARACTER = 7.6, 6.6  # widths, roughly
_LONGEST_NAME = 48
_BAR, _BAR_ROW, _BAR_LEFT, _BAR_RIGHT = 11.0, 46.0, 0.0, 600.0


@dataclass(frozen=True, slots=True)
class Point:
    """One observation.

    Attributes:
        at: time of the observation
        lag: records not replicated yet; None if unknown
        seconds: age of the oldest of these records; None if unknown
    """

    at: datetime
    lag: int | None
    seconds: float | None


Series = Mapping[str, Sequence[Point]]


@dataclass(frozen=True, slots=True)
class PositionPoint:
    """A source partition in a snapshot.

    Attributes:
        at: time of the snapshot
        position: the next record to be read; None if nothing was stored
        left: offsets from there to the log end; None if unknown
    """

    at: datetime
    position: int | None
    left: int | None


def draw_trend(series: Series, *, name: str) -> str | None:
    """Draw the lag of each of ``series`` over time, in records and in seconds, each on its own scale.

    Args:
        series: observations by label
        name: name of the drawing, unique in its report

    Returns:
        SVG; None if there are no observations
    """
    label = "; ".join(f"{label}: {_last_lag(line)}" for label, line in series.items())
    values = {label: [_Pair(one.at, one.lag, one.seconds) for one in line] for label, line in series.items()}
    titles = ("Records not replicated yet", "Age of the oldest, in seconds")
    return _draw_pairs(values, titles, name=name, label=f"Lag over time. {label}.")


def draw_positions(series: Mapping[str, Sequence[PositionPoint]], *, name: str) -> str | None:
    """Draw the position of each of ``series`` over time, from its lowest, and what was left to read.

    Arguments and result: as for :func:`draw_trend`.
    """
    label = "; ".join(f"{label}: {_last_position(line)}" for label, line in series.items())
    values = {label: [_Pair(one.at, one.position, one.left) for one in line] for label, line in series.items()}
    titles = ("Position", "Left to read")
    return _draw_pairs(values, titles, name=name, label=f"Positions over time. {label}.", from_lowest=True)


class _Pair(NamedTuple):
    """What the two panels of a row show at one time; None if unknown."""

    at: datetime
    left: float | None
    right: float | None


def _draw_pairs(
    series: Mapping[str, Sequence[_Pair]], titles: tuple[str, str], *, name: str, label: str, from_lowest: bool = False
) -> str | None:
    """Draw two panels for each of ``series``; ``from_lowest``: the left one begins at its lowest value, not at 0."""
    points = [point for line in series.values() for point in line]
    if not points:
        return None
    began, ended = min(point.at for point in points), max(point.at for point in points)
    drawing = Drawing(_HEAD + _ROW * len(series) + _FOOT, name=name, margin=_MARGIN)
    for (low, _), title in zip((_LEFT, _RIGHT), titles, strict=True):
        drawing.text((low, 8), title, color=Ink.MUTED)
    for row, (line_label, line) in enumerate(series.items()):
        top = _HEAD + row * _ROW
        shares = [_share(point.at, began, ended) for point in line]
        left = [_Mark(*pair) for pair in zip(shares, (point.left for point in line), strict=True)]
        right = [_Mark(*pair) for pair in zip(shares, (point.right for point in line), strict=True)]
        lowest = min((mark.value for mark in left if mark.value is not None), default=0.0) if from_lowest else 0.0
        value = _panel(drawing, top, _LEFT, left, lowest=lowest)
        _panel(drawing, top, _RIGHT, right)
        room = _LEFT[1] - _LEFT[0] - (len(value) + 1) * _SMALL_CHARACTER
        text = _shorten(line_label, int(room / _LARGE_CHARACTER))
        drawing.text((_LEFT[0], top + 8), text, bold=True, size=LARGE)
    bottom = _HEAD + len(series) * _ROW + 8
    for low, high in (_LEFT, _RIGHT):
        drawing.text((low, bottom), words.moment(began), color=Ink.MUTED)
        if ended > began:
            drawing.text((high, bottom), words.moment(ended), color=Ink.MUTED, anchor=Anchor.RIGHT)
    return drawing.svg(label)


@dataclass(frozen=True, slots=True)
class GroupBar:
    """Records that a group would read again; None if unknown.

    Attributes:
        group: the group
        planned: after a planned failover
        by_checkpoints: by MirrorMaker 2's checkpoints alone
    """

    group: str
    planned: int | None
    by_checkpoints: int | None


def draw_rereads(bars: Sequence[GroupBar], *, name: str) -> str | None:
    """Draw two bars for each group; None if there is no group. ``name``: unique name in its report."""
    shown = bars[:MOST_GROUPS]
    if not shown:
        return None
    most = max(1, *(number or 0 for bar in shown for number in (bar.planned, bar.by_checkpoints)))
    drawing = Drawing(_BAR_ROW * len(shown) + 4, name=name, margin=_MARGIN)
    for row, bar in enumerate(shown):
        top = row * _BAR_ROW
        drawing.text((_BAR_LEFT, top + 8), _shorten(bar.group), bold=True, size=LARGE)
        _bar(drawing, top + 22, bar.planned, most, colour=(Ink.AGAIN_PALE, Ink.AGAIN), label="after a planned failover")
        _bar(drawing, top + 35, bar.by_checkpoints, most, colour=(Ink.LOG, Ink.MUTED), label="by its checkpoints")
    label = "; ".join(
        f"{bar.group}: {words.number_or_unknown(bar.planned)} and {words.number_or_unknown(bar.by_checkpoints)}"
        for bar in shown[:5]
    )
    return drawing.svg(f"Records read again after a planned failover, and with checkpoints alone. {label}.")


@dataclass(frozen=True, slots=True)
class _Mark:
    """A value at a share of the whole time, 0 to 1; None if unknown."""

    share: float
    value: float | None


def _panel(
    drawing: Drawing, top: float, span: tuple[float, float], marks: Sequence[_Mark], *, lowest: float = 0.0
) -> str:
    """Draw a panel that begins at ``lowest``, and return the text at its right end."""
    low, high = span
    floor = top + 18 + _PANEL
    known = [mark.value for mark in marks if mark.value is not None]
    most = max(known, default=0.0)
    scale = _PANEL / ((most - lowest) or 1)
    drawing.line([(low, floor), (high, floor)], color=Ink.LOG, width=1.0)
    for stretch in _stretches(marks):
        points = [(low + mark.share * (high - low), floor - ((mark.value or 0) - lowest) * scale) for mark in stretch]
        drawing.area([(points[0][0], floor), *points, (points[-1][0], floor)], fill=Ink.AGAIN_PALE)
        drawing.line(points, color=Ink.AGAIN, width=1.6)
        for x, y in points if len(marks) <= _FEW or len(points) == 1 else ():
            drawing.dot((x, y), 2, fill=Ink.AGAIN, edge=Ink.NONE, line=0)
    now = "unknown" if not marks or marks[-1].value is None else _figure(marks[-1].value)
    greatest = f" (most {_figure(most)})" if most and known and most != known[-1] else ""
    text = f"{now}{greatest}"
    drawing.text((high, top + 8), text, anchor=Anchor.RIGHT)
    return text


def _stretches(marks: Sequence[_Mark]) -> list[list[_Mark]]:
    """Return the ranges of consecutive marks with known values."""
    stretches: list[list[_Mark]] = [[]]
    for mark in marks:
        if mark.value is None:
            stretches.append([])
        else:
            stretches[-1].append(mark)
    return [stretch for stretch in stretches if stretch]


def _bar(drawing: Drawing, y: float, number: int | None, most: int, *, colour: tuple[Ink, Ink], label: str) -> None:
    face, edge = colour
    width = max(1.5, (number or 0) / most * (_BAR_RIGHT - _BAR_LEFT) * 0.6)
    if number is not None:
        drawing.bar((_BAR_LEFT, y), (width, _BAR), fill=face, edge=edge, line=1.0)
    x = _BAR_LEFT if number is None else _BAR_LEFT + width + 6
    drawing.text((x, y), f"{words.number_or_unknown(number)} {label}", color=Ink.MUTED)


def _share(moment: datetime, began: datetime, ended: datetime) -> float:
    span = ended - began
    return 1.0 if span <= timedelta(0) else (moment - began) / span


def _last_lag(line: Sequence[Point]) -> str:
    last = line[-1] if line else None
    return "unknown" if last is None or last.lag is None else quantify(last.lag, "record")


def _last_position(line: Sequence[PositionPoint]) -> str:
    last = line[-1] if line else None
    if last is None or last.position is None:
        return "unknown"
    return f"{last.position:,}" + ("" if last.left is None else f", {last.left:,} left")


def _figure(value: float) -> str:
    """Return a number as text, with one decimal if it is below 10 and no whole number."""
    return f"{value:,.0f}" if value == int(value) or value >= 10 else f"{value:.1f}"


def _shorten(text: str, longest: int = _LONGEST_NAME) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
