"""From Airflow's navigation to a connector's page, with keys only; the pages in light and dark, wide and on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from sandbox.scene import MIRROR, SINK
from tests.support.airflow.airflow_ui import AirflowUi
from tests.support.airflow.make_up import Playing
from tests.support.airflow.pictured import refuse_old, words_of

pytestmark = pytest.mark.browser

SCREENS = {"wide": ViewportSize(width=1280, height=1000), "phone": ViewportSize(width=390, height=844)}


def test_where_a_connector_is_and_was(playing: Playing, ui: AirflowUi) -> None:
    """What the newest snapshot and Connect say of it, and the commands for what one can do."""
    run = ui.trigger("connector_offsets_snapshot", {"kafka_conn_id": "kafka_target"})
    assert run.end() == "success"

    page = ui.open_overview()
    for name in (MIRROR, SINK):
        expect(page.get_by_role("link", name=name, exact=True)).to_be_visible()
    _picture(ui, page, "page", shown=page.get_by_role("group", name="Connectors of"))
    page.get_by_role("link", name=SINK, exact=True).press("Enter")
    expect(page.get_by_role("heading", name="Where it was")).to_be_visible()
    expect(page.get_by_role("img", name="Positions over time.")).to_be_visible()
    page.locator("summary").first.press("Enter")
    expect(page.get_by_text("airflow dags trigger connector_offsets_restore").first).to_be_visible()
    _picture(ui, page, "page-connector", shown=page.get_by_role("group", name="Where it was"))

    page.get_by_role("link", name="Ask Connect for its state and offsets now").press("Enter")
    expect(page.get_by_role("heading", name="As Connect has it now")).to_be_visible()
    shown = page.locator("dl").first.inner_text()
    assert "RUNNING" in shown
    assert str(playing.connect.offsets(SINK)[0]["offset"]["kafka_offset"]) in shown

    page.get_by_role("link", name="snapshots", exact=True).press("Enter")
    page.get_by_role("link", name="Ask Connect for the states of all connectors now").press("Enter")
    expect(page.get_by_role("row", name=MIRROR)).to_contain_text("RUNNING")
    _picture(ui, page, "page-series")


def _picture(ui: AirflowUi, page: Page, name: str, *, shown: Locator | None = None) -> None:
    """Keep what the page looks like on each screen, in light and in dark; ``shown``: as for ``AirflowUi.picture``."""
    for screen, size in SCREENS.items():
        for scheme in ("light", "dark"):
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=ui.pictures / f"{name}-{screen}-{scheme}.png", full_page=True)
    page.screenshot(path=ui.pictures / f"{name}-phone.png")
    page.set_viewport_size(SCREENS["wide"])
    page.emulate_media(color_scheme="light")
    page.screenshot(path=ui.pictures / f"{name}.png")
    if shown is not None:
        for picture in (name, f"{name}-phone"):
            refuse_old(picture, words_of(shown), ui.pictures)
