"""Reports and pages at a phone's width of 390 px, with long names and large numbers; and by axe's rules."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_provider_connect_offsets.report import write_report
from airflow_provider_connect_offsets.workspace.outcome import Result
from tests.support.rows.written import rewound_fleet
from tests.support.rows.written_reports import REPORTS

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

PHONE = 390
SMALLEST_TEXT = 8.0  # px: of text in a chart, as it is shown
# What a finger can't reach: wider than its box, though the box does not scroll.
CUT_OFF = """
() => [...document.querySelectorAll('main *')].filter(element => {
  const box = element.closest('.scroll');
  return !box && element.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5;
}).map(element => element.outerHTML.slice(0, 120))
"""
SCROLLS = """
() => [...document.querySelectorAll('.scroll')].filter(box =>
  box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX !== 'auto').length
"""
TEXT_SIZES = """
() => [...document.querySelectorAll('svg text')].map(text => {
  const svg = text.ownerSVGElement;
  return parseFloat(getComputedStyle(text).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
})
"""


@pytest.fixture(scope="module")
def phone() -> Iterator[Page]:
    """Headless Chromium with a phone's screen."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-sync", "--disable-component-update"]
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        try:
            yield chromium.new_page(viewport={"width": PHONE, "height": 844})
        finally:
            chromium.close()


@pytest.mark.parametrize(("kind", "write"), REPORTS.items(), ids=list(REPORTS))
def test_nothing_is_cut_off(kind: str, write: Callable[[Path], str], phone: Page, tmp_path: Path) -> None:
    """The page is as wide as the screen; tables and charts scroll in boxes of their own, and can be read there."""
    phone.goto(write(tmp_path))
    phone.screenshot(path=Path("build", f"phone-{kind}.png"), full_page=True)

    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE
    assert phone.evaluate(CUT_OFF) == []
    assert phone.evaluate(SCROLLS) == 0
    assert min(phone.evaluate(TEXT_SIZES), default=SMALLEST_TEXT) >= SMALLEST_TEXT


def test_after_is_next_to_before(phone: Page, tmp_path: Path) -> None:
    """What a change did is seen without a swipe, if its numbers have a usual length."""
    written = rewound_fleet(tmp_path, ["orders-archive"])["orders-archive"]
    written.outcome(Result.APPLIED, "What became of it.")
    phone.goto(write_report(written.run))

    after = phone.get_by_role("columnheader", name="After").bounding_box()
    assert after is not None
    assert after["x"] + after["width"] <= PHONE


@pytest.mark.parametrize(("kind", "write"), REPORTS.items(), ids=list(REPORTS))
def test_axe_finds_nothing_serious(kind: str, write: Callable[[Path], str], phone: Page, tmp_path: Path) -> None:
    """Names for screen readers, what keys reach, and contrast, in light and in dark."""
    from axe_playwright_python.sync_playwright import Axe

    phone.goto(write(tmp_path))
    for scheme in ("light", "dark"):
        phone.emulate_media(color_scheme=scheme)
        found = Axe().run(phone).response["violations"]
        serious = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in {"serious", "critical"}]
        assert serious == [], (kind, scheme)
