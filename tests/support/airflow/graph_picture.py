"""Pictures of DAGs' graphs, of Airflow's own page."""

from __future__ import annotations

import io
import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import FloatRect, Locator, Page, expect

from sandbox import wait_until

_MARGIN = 12
_SETTLED = 20.0  # seconds
# What floats above the graph, and the dots behind it.
_ALONE = ".react-flow__panel, .react-flow__minimap, .react-flow__controls, .react-flow__background { display: none }"
_CLOSED_GROUP = re.compile(r"\+ \d+ Task")
# Gray tones, and some in between for the edges of letters.
_COLORS = 24


@dataclass(frozen=True)
class GraphPicture:
    """The page of an Airflow at ``url``; pictures go to ``pictures``."""

    page: Page
    url: str
    pictures: Path

    def draw(self, dag_id: str, *, tasks: AbstractSet[str]) -> Path:
        """Draw a DAG's graph, with all task groups open, and nothing around it.

        Args:
            dag_id: The DAG.
            tasks: Names of its tasks, without those of their groups; all must be there before the picture is taken.
        """
        self._open(dag_id)
        for task in tasks:
            expect(self._nodes.get_by_text(task, exact=True).first).to_be_attached()
        self._close_details()
        self.page.get_by_role("button", name="Fit View").click()
        self.page.add_style_tag(content=_ALONE)
        shot = self.page.screenshot(clip=self._settled_box())
        self.pictures.mkdir(parents=True, exist_ok=True)
        path = self.pictures / f"{dag_id}.png"
        with Image.open(io.BytesIO(shot)) as image:
            image.convert("RGB").quantize(_COLORS, dither=Image.Dither.NONE).save(path, optimize=True)
        return path

    def _open(self, dag_id: str) -> None:
        """Open the graph, and all of its task groups."""
        self.page.goto(self.url)
        self.page.evaluate("""localStorage.setItem("default_dag_view", '"graph"')""")  # as its button does
        self.page.goto(f"{self.url}/dags/{dag_id}")
        self._nodes.first.wait_for()
        if self._nodes.get_by_text(_CLOSED_GROUP).count():
            self.page.get_by_role("button", name="Expand all task groups").click()

    def _close_details(self) -> None:
        button = self.page.get_by_role("button", name="Collapse Details Panel")
        if button.is_visible():
            button.click()
            button.wait_for(state="hidden")

    def _settled_box(self) -> FloatRect:
        """Where the graph is, with a margin, once it does not move any more."""
        last: list[FloatRect] = []

        def is_settled() -> bool:
            last.append(self._box())
            return last[-2:-1] == last[-1:]

        wait_until(is_settled, _SETTLED, "the graph does not come to rest", interval=0.3)
        return last[-1]

    def _box(self) -> FloatRect:
        boxes = [box for node in self._nodes.all() if (box := node.bounding_box()) is not None]
        left, top = (min(box[side] for box in boxes) - _MARGIN for side in ("x", "y"))
        right = max(box["x"] + box["width"] for box in boxes) + _MARGIN
        bottom = max(box["y"] + box["height"] for box in boxes) + _MARGIN
        return {"x": left, "y": top, "width": right - left, "height": bottom - top}

    @property
    def _nodes(self) -> Locator:
        return self.page.locator(".react-flow__node")
