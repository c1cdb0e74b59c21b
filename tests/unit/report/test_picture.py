"""The picture of a report, for eyes and for screen readers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from airflow_provider_connect_offsets.offsets.plan import PlanRow
from airflow_provider_connect_offsets.report import Change
from airflow_provider_connect_offsets.report.charts.picture import Names, draw, is_enlarged
from tests.support.rows.written import begin, mirror_row

AFTERWARDS = Names("before", "after")


def picture_of(directory: Path, rows: Sequence[PlanRow], logs: Mapping[int, tuple[int, int]]) -> str:
    """Draw a plan's rows on logs of ``flights``, by partition."""
    bounds = {("flights", number): log for number, log in logs.items()}
    change = Change.read(begin(directory).snapshot(bounds).plan(rows).run)
    drawn = draw(change.moves, AFTERWARDS, name="one")
    assert drawn is not None
    return drawn


def texts(svg: str) -> list[str]:
    """Texts of a picture, in drawing order."""
    root = ET.fromstring(svg)  # noqa: S314 - our own
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_rewind(tmp_path: Path) -> None:
    """It has log start and end, both positions, and the number of records."""
    assert texts(picture_of(tmp_path, [mirror_row(0, 500, 120)], {0: (10, 1600)})) == [
        "before",
        "after",
        "delivered again",
        "each bar: one log, first to last record",
        "flights · 0",
        "380 again",
        "10",
        "1,600",
        "before 500",
        "after 120",
    ]


def test_one_record_of_a_million_is_enlarged(tmp_path: Path) -> None:
    """Single records are drawn."""
    assert texts(picture_of(tmp_path, [mirror_row(0, 500000, 500001)], {0: (0, 1000000)}))[4:] == [
        "flights · 0",
        "1 never",
        "0",
        "1,000,000",
        "enlarged",
        "499,996",
        "500,004",
        "before 500,000",
        "after 500,001",
    ]


@pytest.mark.parametrize(
    ("before", "after", "log", "labels"),
    [
        (500, 900, (0, 500), ["before 500", "after 900, beyond the log end"]),
        (500, 1, (100, 500), ["before 500", "after 1, before the log start"]),
        (None, 40, (0, 500), ["before: no offset", "after 40"]),
        (0, 0, (0, 0), ["before 0", "after 0"]),
        (1, 2, (1, 2), ["before 1", "after 2"]),
    ],
)
def test_odd_positions_are_drawn_too(
    tmp_path: Path, before: int | None, after: int, log: tuple[int, int], labels: list[str]
) -> None:
    """Odd are positions outside of the log, no offset, and an empty log."""
    row = mirror_row(0, before, after)
    if before == after:
        row = replace(mirror_row(0, None, after), before_position=before)

    assert texts(picture_of(tmp_path, [row], {0: log}))[-2:] == labels


def test_only_a_bar_too_short_to_be_visible_is_enlarged(tmp_path: Path) -> None:
    """A move of a twentieth of the log is visible, one of a hundredth is enlarged."""
    rows = [mirror_row(0, 500, 450), mirror_row(1, 500, 490), mirror_row(2, 500, 600)]
    logs = {("flights", number): (0, 1000) for number in (0, 1)} | {("flights", 2): (0, 500)}
    change = Change.read(begin(tmp_path).snapshot(logs).plan(rows).run)

    assert {move.row.kafka_partition: is_enlarged(move) for move in change.moves} == {0: False, 1: True, 2: False}


def test_what_is_on_no_log_is_not_drawn(tmp_path: Path) -> None:
    """A partition without a log is not drawn."""
    change = Change.read(begin(tmp_path).snapshot({}).plan([mirror_row(0, 500, 120)]).run)

    assert draw(change.moves, AFTERWARDS, name="one") is None


def test_the_picture_has_a_text_for_those_who_cannot_see_it(tmp_path: Path) -> None:
    """It has the first partitions, and how many more there are."""
    rows = [mirror_row(number, 500 - number, 100) for number in range(7)]
    svg = picture_of(tmp_path, rows, dict.fromkeys(range(7), (0, 500)))
    root = ET.fromstring(svg)  # noqa: S314 - our own

    assert root.get("role") == "img"
    assert (root.get("aria-label") or "").startswith(
        "Positions on each log. flights · 0: before 500, after 100, 400 again; flights · 1: before 499,"
    )
    assert (root.get("aria-label") or "").endswith("; and 2 more, which the table lists.")


def test_colours_are_the_reports_and_names_are_its_own(tmp_path: Path) -> None:
    """Two pictures share no id, and both kinds of records differ in hatching."""
    rows, logs = [mirror_row(0, 500, 120), mirror_row(1, 120, 500)], {0: (0, 500), 1: (0, 500)}
    svg = picture_of(tmp_path, rows, logs)

    assert "var(--again, #0072b2)" in svg
    assert "var(--never, #d55e00)" in svg
    assert all(name.startswith("one-") for name in re.findall(r'\bid="([^"]*)"', svg))
    assert len(set(re.findall(r"url\(#(one-[^)]*)\)", svg))) == len(re.findall("<pattern ", svg)) == 2
    assert "<metadata" not in svg
    assert "DOCTYPE" not in svg


def test_equal_changes_have_equal_pictures(tmp_path: Path) -> None:
    """Equal input gives equal output."""
    rows, logs = [mirror_row(0, 500, 120)], {0: (0, 500)}

    assert picture_of(tmp_path / "a", rows, logs) == picture_of(tmp_path / "b", rows, logs)
