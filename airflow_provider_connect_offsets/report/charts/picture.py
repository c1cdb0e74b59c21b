"""The picture of a change: a band for each partition that moves on a log."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_connect_offsets.report.charts import bands
from airflow_provider_connect_offsets.report.charts.bands import Names
from airflow_provider_connect_offsets.report.charts.svg import canvas, to_svg
from airflow_provider_connect_offsets.report.moves import PositionMove

_LEGEND = 36.0
_IN_LABEL = 5

__all__ = ["Names", "draw"]


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
    figure, axes = canvas(_LEGEND + sum(bands.height(move) for move in shown))
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
    return to_svg(figure, name=name, label=_label(shown, names))


def _label(shown: Sequence[PositionMove], names: Names) -> str:
    """The drawing as text, for screen readers."""
    texts = [
        f"{move.where}: {names.before} {move.before}, {names.after} {move.after}, {move.effect}"
        for move in shown[:_IN_LABEL]
    ]
    more = [f"and {len(shown) - _IN_LABEL} more, as in the table"] if len(shown) > _IN_LABEL else []
    return f"Positions on each log. {'; '.join([*texts, *more])}."
