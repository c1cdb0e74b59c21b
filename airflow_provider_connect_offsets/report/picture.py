"""The picture of a change: each partition's log as a bar, and on it where the connector stood and stands."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.plan import PlanRow
from airflow_provider_connect_offsets.report.change import Bounds, Change

LIMIT = 40
# Okabe and Ito's colours, which people with any colour vision can tell apart; the hatching says it once more.
_LOG, _AGAIN, _NEVER, _INK, _SOFT = "#b8c4ce", "#0072b2", "#d55e00", "#1d2a35", "#5b6b79"
_ROW_INCHES = 0.62


@dataclass(frozen=True, slots=True)
class _Bar:
    """One partition: its log, or the part of it around a small move, as 0 to 1."""

    label: str
    bounds: Bounds
    before: int
    after: int

    @property
    def window(self) -> tuple[int, int]:
        """What is drawn: a move of less than a twentieth of the log would be too small to be seen in all of it."""
        start, end, move = self.bounds.log_start, self.bounds.log_end, abs(self.after - self.before)
        if move * 20 >= end - start:
            return start, end
        low = min(self.before, self.after)
        return max(start, low - move * 10), min(end, low + move * 10)

    @property
    def edges(self) -> tuple[str, str]:
        """The numbers at the ends, with dots where the log goes on."""
        low, high = self.window
        return (
            f"{low:,}" if low == self.bounds.log_start else f"… {low:,}",
            f"{high:,}" if high == self.bounds.log_end else f"{high:,} …",
        )

    def share(self, position: int) -> float:
        """Where a position lies in the window."""
        low, high = self.window
        return (position - low) / max(high - low, 1)


def picture(change: Change) -> str:
    """Draw it as an SVG element; an empty string where no partition has a place in a log."""
    bars = [bar for row in change.changed if (bar := _bar(change, row))][:LIMIT]
    if not bars:
        return ""
    figure = Figure(figsize=(9, 0.9 + _ROW_INCHES * len(bars)), layout="constrained")
    axes = figure.add_subplot()
    for number, bar in enumerate(bars):
        _draw(axes, bar, len(bars) - 1 - number)
    axes.set_ylim(-0.6, len(bars) - 0.4)
    axes.set_xlim(-0.06, 1.06)
    axes.set_yticks(range(len(bars)), [bar.label for bar in reversed(bars)], color=_INK)
    axes.set_xticks([0, 1], ["log start", "log end"], color=_SOFT)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    _legend(figure, axes)
    return _svg(figure, title=f"Positions of {change.connector} before and after the change")


def _bar(change: Change, row: PlanRow) -> _Bar | None:
    if row.topic is None or row.kafka_partition is None:
        return None
    bounds = change.bounds.get(TopicPartition(row.topic, row.kafka_partition))
    if bounds is None:
        return None
    # Nothing stored: drawn where a consumer that starts at the beginning would stand.
    before = bounds.log_start if row.before_position is None else row.before_position
    after = bounds.log_start if row.after_position is None else row.after_position
    return _Bar(f"{row.topic} / {row.kafka_partition}", bounds, before, after)


def _draw(axes: Axes, bar: _Bar, y: int) -> None:
    axes.barh(y, 1.0, height=0.26, color=_LOG, zorder=1)
    before, after = bar.share(bar.before), bar.share(bar.after)
    forward = after > before
    axes.barh(
        y,
        after - before,
        left=before,
        height=0.26,
        color=_NEVER if forward else _AGAIN,
        hatch="xx" if forward else "//",
        edgecolor="white",
        linewidth=0,
        zorder=2,
    )
    axes.plot(before, y, "o", ms=8, mfc="white", mec=_INK, mew=1.6, zorder=4)
    axes.plot(after, y, "D", ms=7, color=_INK, zorder=5)
    _write(axes, f"{bar.before:,}", (before, y), (0, 9))
    _write(axes, f"{bar.after:,}", (after, y), (0, -15), weight="bold")
    low, high = bar.edges
    _write(axes, low, (0.0, y), (-10, -3), align="right", color=_SOFT)
    _write(axes, high, (1.0, y), (10, -3), align="left", color=_SOFT)


def _write(  # noqa: PLR0913 - how a text is set, each by its name
    axes: Axes,
    text: str,
    at: tuple[float, float],
    shift: tuple[float, float],
    *,
    align: str = "center",
    color: str = _INK,
    weight: str = "normal",
) -> None:
    axes.annotate(text, at, shift, textcoords="offset points", ha=align, color=color, size=8, weight=weight)


def _legend(figure: Figure, axes: Axes) -> None:
    handles = [
        axes.plot([], [], "o", ms=8, mfc="white", mec=_INK, mew=1.6, label="before")[0],
        axes.plot([], [], "D", ms=7, color=_INK, label="after")[0],
        axes.barh([0], [0], color=_AGAIN, hatch="//", edgecolor="white", label="delivered again"),
        axes.barh([0], [0], color=_NEVER, hatch="xx", edgecolor="white", label="never delivered"),
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=4, frameon=False, fontsize=8)


def _svg(figure: Figure, *, title: str) -> str:
    """Write the bare element: no XML head, no fixed size, no date, and a name for those who can't see it."""
    buffer = io.StringIO()
    # Texts stay texts, for the browser's own fonts; the salt makes equal pictures equal files.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "connect-offsets"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Title": title}, transparent=True)
    drawn = buffer.getvalue()
    element = drawn[drawn.index("<svg") :]
    element = re.sub(r'^<svg[^>]*?viewBox="([^"]+)"[^>]*>', r'<svg role="img" viewBox="\1">', element, count=1)
    return element.replace('<svg role="img"', f'<svg role="img" aria-label="{_escaped(title)}"', 1)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
