"""The first day of two people, in the fewest steps: who runs the service, and who wants an application from it.

`Counted` counts what they do: pages that were loaded (a form with all of
its steps is one), presses, seconds.
"""

from __future__ import annotations

import re
import time
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import expect

from tests.browser.kit_journey import step, typed

#: A deployment on a busy machine: waiting costs nothing where all is well.
LONG = 240_000
_BEGUN = "/app/forms/begun"
_TOKEN = "token-of-the-first-day"


class Counted:
    """A tab, and what somebody did in it since the last `begin`."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.pages: list[str] = []
        self.presses: list[str] = []
        self._begun = time.monotonic()
        page.on("framenavigated", self._loaded)

    def begin(self) -> None:
        """Counts from here."""
        self.pages, self.presses, self._begun = [], [], time.monotonic()

    @property
    def seconds(self) -> float:
        """Since `begin`."""
        return time.monotonic() - self._begun

    def press(self, role: str, name: str, within: Any = None, **more: Any) -> None:
        """Presses a button or link, when it is there."""
        where = self.page if within is None else within
        where.get_by_role(role, name=name, **more).first.click(timeout=LONG)
        self.presses.append(name)

    def _loaded(self, frame: Any) -> None:
        # The steps of a form, and its review, are one page: a form that asks less has fewer.
        path = re.sub(r"^(/app/forms/\w+)/.*", r"\1", urlsplit(frame.url).path)
        # Before its first answer nothing of a form is stored: its address says how it begins, and then has its id.
        path = re.sub(r"^/app/forms/\..*", _BEGUN, path)
        if self.pages[-1:] == [_BEGUN] and path.startswith("/app/forms/"):
            self.pages[-1] = path
        if frame.parent_frame is None and path.startswith("/app/") and path not in self.pages[-1:]:
            self.pages.append(path)


def deploy_database(tab: Counted) -> None:
    """From the first page to an application that can be opened, or that is simulated: its task has ended."""
    page = tab.page
    with step(page, "from home to the application"):
        tab.press("link", "Deploy an application")
        tab.press("link", "Small Database")
    with step(page, "the application"):
        tab.press("button", "Deploy")
        tab.press("button", "Go on to the form")
    with step(page, "its form"):
        typed(page, page.get_by_role("textbox", name="Token", exact=True), _TOKEN)
        typed(page, page.get_by_role("textbox", name="Token a second time", exact=True), _TOKEN)
        tab.press("button", "Next")
        image = page.get_by_label("Image")
        expect(image).to_be_visible()
        if not image.input_value():
            image.select_option(label="Debian 12")
        tab.press("button", "Review")
        expect(page.get_by_role("heading", name="Is this right?")).to_be_visible()
        tab.press("button", "Deploy")
    with step(page, "its task"):
        expect(page.locator("#live .page-head [data-state=done]")).to_be_visible(timeout=LONG)
