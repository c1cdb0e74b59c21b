"""Charts of a flow's readiness: lag over time, and records that each group would read again.

Lengths are in units of the drawing, which are pixels on a wide screen; y grows downwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.charts.svg import LARGE, Ink, canvas, to_svg, write
from airflow_provider_connect_offsets.words import counted

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
        at: when
        lag: in records; None if unknown
        seconds: age of the oldest of them; None if unknown
    """

    at: datetime
    lag: int | None
    seconds: float | None


Series = Mapping[str, Sequence[Point]]


def draw_trend(series: Series, *, name: str) -> str | None:
    """Draw the lag of each of ``series`` over time, in records and in seconds, each on its own scale.

    Args:
        series: observations by label
        name: of the drawing, unique in its report

    Returns:
        SVG; None if there are no observations
    """
    points = [point for line in series.values() for point in line]
    if not points:
        return None
    began, ended = min(point.at for point in points), max(point.at for point in points)
    figure, axes = canvas(_HEAD + _ROW * len(series) + _FOOT, margin=_MARGIN)
    for (low, _), title in ((_LEFT, "Records not replicated yet"), (_RIGHT, "Age of the oldest, in seconds")):
        write(axes, low, 8, title, color=Ink.MUTED)
    for row, (label, line) in enumerate(series.items()):
        top = _HEAD + row * _ROW
        shares = [_share(point.at, began, ended) for point in line]
        lags = [_Mark(*pair) for pair in zip(shares, (point.lag for point in line), strict=True)]
        ages = [_Mark(*pair) for pair in zip(shares, (point.seconds for point in line), strict=True)]
        value = _panel(axes, top, _LEFT, lags)
        _panel(axes, top, _RIGHT, ages)
        room = _LEFT[1] - _LEFT[0] - (len(value) + 1) * _SMALL_CHARACTER
        text = _shortened(label, int(room / _LARGE_CHARACTER))
        write(axes, _LEFT[0], top + 8, text, fontweight="bold", fontsize=LARGE)
    bottom = _HEAD + len(series) * _ROW + 8
    for low, high in (_LEFT, _RIGHT):
        write(axes, low, bottom, words.moment(began), color=Ink.MUTED)
        if ended > began:
            write(axes, high, bottom, words.moment(ended), color=Ink.MUTED, anchor="right")
    label = "; ".join(f"{label}: {_last_lag(line)}" for label, line in series.items())
    return to_svg(figure, name=name, label=f"Lag over time. {label}.")


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
    """Draw two bars for each group; None if there is no group. ``name``: of the drawing, unique in its report."""
    shown = bars[:MOST_GROUPS]
    if not shown:
        return None
    most = max(1, *(number or 0 for bar in shown for number in (bar.planned, bar.by_checkpoints)))
    figure, axes = canvas(_BAR_ROW * len(shown) + 4, margin=_MARGIN)
    for row, bar in enumerate(shown):
        top = row * _BAR_ROW
        write(axes, _BAR_LEFT, top + 8, _shortened(bar.group), fontweight="bold", fontsize=LARGE)
        _bar(axes, top + 22, bar.planned, most, colour=(Ink.AGAIN_PALE, Ink.AGAIN), label="after a planned failover")
        _bar(axes, top + 35, bar.by_checkpoints, most, colour=(Ink.LOG, Ink.MUTED), label="by its checkpoints")
    label = "; ".join(
        f"{bar.group}: {words.known(bar.planned)} and {words.known(bar.by_checkpoints)}" for bar in shown[:5]
    )
    return to_svg(figure, name=name, label=f"Records read again, after a planned failover and by checkpoints. {label}.")


@dataclass(frozen=True, slots=True)
class _Mark:
    """A value at a share of the whole time, 0 to 1; None if unknown."""

    share: float
    value: float | None


def _panel(axes: Axes, top: float, span: tuple[float, float], marks: Sequence[_Mark]) -> str:
    """Draw a panel, and return the text at its right end."""
    low, high = span
    floor = top + 18 + _PANEL
    known = [mark.value for mark in marks if mark.value is not None]
    most = max(known, default=0.0)
    axes.plot([low, high], [floor, floor], color=Ink.LOG, lw=1.0)
    marker = "o" if len(marks) <= _FEW else None
    for stretch in _stretches(marks):
        xs = [low + mark.share * (high - low) for mark in stretch]
        ys = [floor - (mark.value or 0) / (most or 1) * _PANEL for mark in stretch]
        axes.fill_between(xs, ys, floor, color=Ink.AGAIN_PALE, lw=0)
        axes.plot(xs, ys, color=Ink.AGAIN, lw=1.6, marker=marker, markersize=3.5, solid_capstyle="round")
    now = "unknown" if not marks or marks[-1].value is None else _figure(marks[-1].value)
    greatest = f" (most {_figure(most)})" if most and known and most != known[-1] else ""
    text = f"{now}{greatest}"
    write(axes, high, top + 8, text, anchor="right")
    return text


def _stretches(marks: Sequence[_Mark]) -> list[list[_Mark]]:
    """Ranges of marks with known values."""
    stretches: list[list[_Mark]] = [[]]
    for mark in marks:
        if mark.value is None:
            stretches.append([])
        else:
            stretches[-1].append(mark)
    return [stretch for stretch in stretches if stretch]


def _bar(axes: Axes, y: float, number: int | None, most: int, *, colour: tuple[Ink, Ink], label: str) -> None:
    face, edge = colour
    width = max(1.5, (number or 0) / most * (_BAR_RIGHT - _BAR_LEFT) * 0.6)
    if number is not None:
        axes.add_patch(Rectangle((_BAR_LEFT, y - _BAR / 2), width, _BAR, facecolor=face, edgecolor=edge, lw=1.0))
    x = _BAR_LEFT if number is None else _BAR_LEFT + width + 6
    write(axes, x, y, f"{words.known(number)} {label}", color=Ink.MUTED)


def _share(moment: datetime, began: datetime, ended: datetime) -> float:
    span = ended - began
    return 1.0 if span <= timedelta(0) else (moment - began) / span


def _last_lag(line: Sequence[Point]) -> str:
    last = line[-1] if line else None
    return "unknown" if last is None or last.lag is None else counted(last.lag, "record")


def _figure(value: float) -> str:
    """A number, with one decimal if it is a small fraction."""
    return f"{value:,.0f}" if value == int(value) or value >= 10 else f"{value:.1f}"


def _shortened(text: str, longest: int = _LONGEST_NAME) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
