"""Search over everything and help for the page, by keyboard and as readers of the screen hear them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.kit import picture, violations, wider_than_the_window


@pytest.mark.campaign
def test_ctrl_k_leads_anywhere_and_help_explains_the_page(page_for: Callable[..., Any], filled: dict[str, str]) -> None:
    page = page_for("ann")
    page.goto("/app/environments/", wait_until="load")
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Search everything")
    expect(field).to_be_focused()
    palette = page.get_by_role("dialog", name="Search everything")
    expect(palette.get_by_role("option").first).to_be_visible()
    page.keyboard.type("spring")
    wanted = page.get_by_role("option", name="Spring fair", exact=True).first
    expect(wanted).to_be_visible()
    assert not violations(page) and not wider_than_the_window(page)
    picture(page, "palette")
    for _ in range(20):
        if field.get_attribute("aria-activedescendant") == wanted.get_attribute("id"):
            break
        page.keyboard.press("ArrowDown")
    expect(wanted).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Spring fair")
    page.wait_for_load_state()  # keys mean something once the scripts are there
    page.keyboard.press("?")
    drawer = page.get_by_role("dialog", name="Help for this page")
    expect(drawer).to_contain_text("An environment")
    expect(drawer.get_by_role("link", name="The whole manual")).to_be_visible()
    assert not violations(page)
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Search", exact=False).first.click()
    expect(field).to_be_focused()
    assert not wider_than_the_window(page)
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
