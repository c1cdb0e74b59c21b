"""The picture of a change: a band for each partition that moves on a log."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from airflow_provider_connect_offsets.report.charts import bands
from airflow_provider_connect_offsets.report.charts.bands import Names
from airflow_provider_connect_offsets.report.charts.svg import to_svg
from airflow_provider_connect_offsets.report.moves import PositionMove

_LEGEND = 36.0
_POINTS_PER_INCH = 72
_TOLD = 5

__all__ = ["Names", "draw"]


def draw(moves: Sequence[PositionMove], names: Names, *, name: str) -> str | None:
    """Draw ``moves`` as SVG, None where none of them is on a log; ``name`` is the picture's own on its page."""
    shown = [move for move in moves if move.log is not None]
    if not shown:
        return None
    total = _LEGEND + sum(bands.height(move) for move in shown)
    figure = Figure(figsize=(bands.WIDTH / _POINTS_PER_INCH, total / _POINTS_PER_INCH), dpi=_POINTS_PER_INCH)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, bands.WIDTH), ylim=(total, 0))
    axes.axis("off")
    bands.draw_legend(
        axes,
        12,
        names,
        again=any(move.records_again for move in shown),
        never=any(move.records_never for move in shown),
    )
    top = _LEGEND
    for move in shown:
        if move.log is not None:
            bands.draw_band(axes, top, move, move.log, names)
        top += bands.height(move)
    return to_svg(figure, name=name, label=_said(shown, names))


def _said(shown: Sequence[PositionMove], names: Names) -> str:
    """The picture in words, for those who can't see it; the table beside it has all of it."""
    told = [
        f"{move.where}: {names.before} {move.before}, {names.after} {move.after}, {move.effect}"
        for move in shown[:_TOLD]
    ]
    more = [f"and {len(shown) - _TOLD} more, as in the table"] if len(shown) > _TOLD else []
    return f"Positions on each log. {'; '.join([*told, *more])}."
