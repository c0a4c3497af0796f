"""The journey by keyboard alone: Tab, Enter, Space, arrows and typing; no mouse, no focus set by a script."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.kit_journey import step
from tests.server.tasks import shop

#: A deployment on a busy machine: waiting costs nothing where all is well.
_LONG = 180_000
#: How often one may have to press Tab to get to something.
_FAR = 80
#: What has the focus: its name as people hear it, and whether one sees that it has the focus.
_FOCUS = """() => {
  const at = document.activeElement;
  const name = at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent;
  // The name of a tile has the focus, and the tile shows it.
  const looks = [at, at.closest(".tile")].filter(Boolean).map((one) => getComputedStyle(one));
  const marked = looks.some((look) => look.outlineStyle !== "none" || look.boxShadow !== "none");
  const seen = marked || at.matches("main, body");
  return [(name ?? "").replace(/[\\s*]+/g, " ").trim(), seen];
}"""


class Keys:
    """Somebody at a keyboard."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def to(self, name: str, key: str = "Tab", begins: bool = False) -> None:
        """Presses ``key`` until the focus is on what is called so; fails where one cannot get to, or not see it."""
        passed: list[str] = []
        for _ in range(_FAR):
            self.page.keyboard.press(key)
            found, seen = self.page.evaluate(_FOCUS)
            if found == name or (begins and found.startswith(name)):
                assert seen, f"one does not see that '{name}' has the focus"
                return
            passed.append(found)
        raise AssertionError(f"{_FAR} times {key} do not lead to '{name}', only to {passed}")

    def press(self, name: str, key: str = "Enter", begins: bool = False, back: bool = False) -> None:
        """Goes to a button or a link that leads to another page, and presses it; that page is there then."""
        self.to(name, "Shift+Tab" if back else "Tab", begins=begins)
        self.leave(key)

    def leave(self, key: str = "Enter") -> None:
        """Presses what leads to another page from here; that page is there then."""
        with self.page.expect_navigation():
            self.page.keyboard.press(key)

    def type(self, name: str, text: str) -> None:
        """Goes to a field and replaces what is in it."""
        self.to(name)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)


@pytest.mark.campaign
def test_the_journey_by_keyboard_alone(service: Any, page_for: Any) -> None:
    manifest = shop.MANIFEST.replace("test.shop", "test.Kiosk").replace("Shop", "Kiosk")
    classes = {"Classes/Kiosk.yaml": shop.SHOP.replace("Name: Shop", "Name: Kiosk")}
    page = page_for("ann")
    keys = Keys(page)
    page.goto("/app/packages/import")
    with step(page, "import"):
        with page.expect_file_chooser() as chosen:  # begun early: the browser must know before the key is pressed
            keys.to("Drop package archives here, or choose them")
            page.keyboard.press("Space")
        archive = shop.archive(classes, manifest)
        chosen.value.set_files([{"name": "kiosk.zip", "mimeType": "application/zip", "buffer": archive}])
        keys.to("Import")
        page.keyboard.press("Enter")
        expect(page.locator("[data-report]")).to_contain_text("1 package imported")
        expect(page.locator("[data-report]")).to_be_focused()
    with step(page, "search"):
        keys.press("Catalog", "Enter", back=True)
        keys.type("Search applications", "kiosk")
        expect(page.locator(".tile")).to_have_count(1)
        keys.press("Kiosk")
    with step(page, "application"):
        keys.to("Deploy")
        page.keyboard.press("Enter")  # where to is asked on this page, below the button
        expect(page.get_by_role("radio", name="A new environment")).to_be_visible()
        expect(page.get_by_role("radio", name="A new environment")).to_be_checked()
        keys.press("Make an environment first, deploy later", "Space")
    with step(page, "new environment"):
        keys.type("Name", "By keyboard")
        keys.press("Create and add the application")
    with step(page, "wizard"):
        keys.type("Title", "Quiet")
        keys.to("Warn")
        page.keyboard.press("Space")
        expect(page.get_by_role("checkbox", name="Warn")).to_be_checked()
        keys.press("Review")
    with step(page, "review"):
        expect(page.get_by_role("heading", name="Is this right?")).to_be_visible()
        keys.press("Add to the draft")
    with step(page, "environment"):
        expect(page.locator("article.component")).to_have_count(1)
        keys.press("Plan")
    with step(page, "plan"):
        expect(page.get_by_role("heading", name="Resources in the cloud")).to_be_visible(timeout=_LONG)
        keys.press("Deploy this")
    with step(page, "live view"):
        expect(page.locator("#live .page-head [data-state=errors]")).to_be_visible(timeout=_LONG)
        keys.to("Lines of the log")
        expect(page.locator("#log")).to_contain_text("opening Quiet")
        keys.press("To the environment")
    with step(page, "edit and deploy again"):
        keys.press("Edit", begins=True)
        keys.type("Title", "Loud")
        keys.press("Review")
        keys.press("Save in the draft")
        keys.press("Deploy")
        expect(page.locator("#live .page-head [data-state=errors]")).to_be_visible(timeout=_LONG)
        keys.press("To the environment")
    with step(page, "action"):
        keys.to("Actions")
        page.keyboard.press("Enter")
        keys.to("greet", "ArrowDown")
        keys.leave()
        keys.type("Name", "Kay")
        keys.leave()
        expect(page.locator(".result")).to_contain_text("hello Kay from Loud", timeout=_LONG)
        keys.press("By keyboard")
    with step(page, "history"):
        keys.press("History")
        expect(page.get_by_role("radio", name="to state 3", exact=True)).to_be_checked()
        keys.to("from state 2")
        page.keyboard.press("ArrowDown")
        expect(page.get_by_role("radio", name="from state 1", exact=True)).to_be_checked()
        keys.press("Compare")
        expect(page.locator("ins", has_text="Loud")).to_be_visible()
    with step(page, "delete"):
        keys.to("More")
        page.keyboard.press("Enter")
        page.keyboard.press("ArrowUp")
        assert page.evaluate(_FOCUS)[0] == "Delete"
        keys.leave()
        expect(page.get_by_role("heading", name="Delete By keyboard?")).to_be_visible()
        keys.press("Delete")
        expect(page.locator("#live .page-head [data-state=done]")).to_be_visible(timeout=_LONG)
