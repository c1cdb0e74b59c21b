"""How someone works in a browser: with a mouse, or with keys only."""

from __future__ import annotations

from typing import Protocol

from playwright.sync_api import Locator

# More than a page has that keys reach, twice.
_TABS = 400
_HAS_FOCUS = "element => element === document.activeElement"


class Hand(Protocol):
    """Reaches parts of a page, and presses buttons, folds and links."""

    def reach(self, part: Locator) -> None:
        """Give a part the focus."""

    def press(self, part: Locator) -> None:
        """Do what a button, a fold or a link does."""


class Mouse:
    """Clicks."""

    def reach(self, part: Locator) -> None:
        """Click it."""
        part.click()

    def press(self, part: Locator) -> None:
        """Click it."""
        part.click()


class Keys:
    """Moves on by Tab from what has the focus, as someone without a mouse does, and presses Enter."""

    def reach(self, part: Locator) -> None:
        """Press Tab until it has the focus; fails if Tab never leads there."""
        part.wait_for()
        for _ in range(_TABS):
            if part.evaluate(_HAS_FOCUS):
                return
            part.page.keyboard.press("Tab")
        message = f"Tab does not lead to {part}"
        raise AssertionError(message)

    def press(self, part: Locator) -> None:
        """Press Enter on it."""
        self.reach(part)
        part.page.keyboard.press("Enter")
