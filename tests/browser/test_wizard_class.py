"""Forms of classes in a real browser: presets, lists of the cloud, cards, made-up secrets, the plan in the review."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.kit import examined
from tests.browser.test_wizard import street
from tests.server.forms.conftest import archive
from tests.server.web.test_wizard_generated import MADE, SHOP


@pytest.fixture(scope="module")
def fair(service: Any) -> str:
    """The id of a package without a form of its own."""
    made = service.api("eve", "POST", "/v2/packages", raw=archive(manifest=MADE.replace("1.0.0", "1.1.0"), shop=SHOP))
    return str(made["imported"][0]["id"])


@pytest.mark.campaign
def test_a_class_is_filled_in_by_presets_lists_and_made_up_secrets(service: Any, page_for: Any, fair: str) -> None:
    page = page_for("eve")
    page.goto(f"{service.url}/app/environments/{street(service, 'fair')}/add/{fair}")
    large = page.get_by_role("button", name="Large shop")
    expect(page.get_by_role("button", name="Small shop")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#f-seats-i")).to_be_hidden()
    large.click()
    expect(large).to_have_attribute("aria-pressed", "true")
    page.get_by_text("Adjust").click()
    expect(page.locator("#f-seats-i")).to_have_value("80")
    expect(page.get_by_label("tue")).to_be_checked()
    page.get_by_label("wed").check()
    expect(page.get_by_text("those of no preset")).to_be_visible()
    expect(page.get_by_label("wed")).to_be_checked()
    # A secret by its rule, shown, and kept with the rest.
    page.locator("#f-name-i").fill("Corner")
    page.get_by_role("button", name="Generate Pin").click()
    pin = page.locator("#f-pin-i")
    expect(pin).to_have_attribute("type", "text")
    assert re.fullmatch("[A-Z0-9]{8,12}", pin.input_value())
    # A server comes with a name and a size. The card says what is missing, until it is there.
    kind = page.locator("#f-instance-i option", has_text="LinuxMuranoInstance").get_attribute("value")
    page.locator("#f-instance-i").select_option(kind)
    drawer = page.get_by_role("dialog")
    expect(drawer).to_be_visible()
    expect(drawer.locator("#f-instance-name-i")).to_have_value("fair-1")
    expect(drawer.locator("#f-instance-flavor-i")).to_have_value('"m1.small"')
    drawer.locator("#f-instance-name-i").fill("")
    page.keyboard.press("Escape")
    card = page.locator("[data-v-missing='f-instance-d']")
    expect(card).to_contain_text("Missing: Name of the server")
    page.get_by_role("button", name="Fill in Instance").click()
    drawer.locator("#f-instance-name-i").fill("front")
    expect(drawer.locator("#f-instance-flavor-i option").nth(1)).to_contain_text("GiB memory")
    drawer.locator("#f-instance-flavor-i").select_option(index=1)
    drawer.locator("#f-instance-image-i").select_option(label="Debian 12")
    page.keyboard.press("Escape")
    expect(card).to_have_text("")
    assert not examined(page, "wizard-presets")
    page.get_by_role("button", name="Review").click()
    plan = page.locator("#form-plan")
    expect(plan).to_contain_text("OS::Nova::Server", timeout=60_000)
    expect(page.get_by_text("mon, tue, wed")).to_be_visible()
    assert not examined(page, "wizard-plan")
    page.get_by_role("button", name="Add to the draft").click()
    expect(page.locator("#notices")).to_contain_text("is in your draft")
