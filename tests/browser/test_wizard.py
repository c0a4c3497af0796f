"""The wizard in a real browser: what it keeps while one types, drawers, lists, errors, going back, the keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.kit import examined, violations
from tests.server.forms.conftest import MANIFEST, archive
from tests.server.web.test_wizard import RICH


@pytest.fixture(scope="module")
def shop(service: Any) -> dict[str, str]:
    """The id of a package with both kinds of forms."""
    made = service.api("eve", "POST", "/v2/packages", raw=archive(shop=RICH))
    return {"id": str(made["imported"][0]["id"])}


def street(service: Any, name: str) -> str:
    """The id of a new environment."""
    return str(service.api("eve", "POST", "/v2/environments", {"name": name})["id"])


def test_what_is_typed_is_kept_and_lists_grow_in_place(service: Any, page_for: Any, shop: Any) -> None:
    page = page_for("eve")
    environment = street(service, "typed")
    page.goto(f"{service.url}/app/environments/{environment}/add/{shop['id']}?source=class")
    page.get_by_label("name", exact=False).first.fill("Corner")
    expect(page.locator("#kept")).to_have_text("Saved")
    page.reload()
    name = page.locator("#f-name-i")
    expect(name).to_have_value("Corner")
    # A port more; the focus goes to it, and what is typed meanwhile stays.
    page.get_by_role("button", name="Add Ports").click()
    second = page.locator("#f-ports-1-i")
    expect(second).to_be_focused()
    second.fill("x")
    second.blur()
    expect(page.locator("#f-ports-1-error")).to_have_text("Enter a whole number.")
    second.fill("8080")
    page.get_by_role("button", name="Move item 2 up").click()
    expect(page.locator("#f-ports-0-i")).to_have_value("8080")
    # More choices than one wants to scroll through are searched.
    page.get_by_label("Search choices for Zone").fill("z3")
    expect(page.locator("#f-zone-i option")).to_have_count(12)
    page.locator("#f-zone-i").select_option(label="z35")
    # A new host in a drawer.
    page.get_by_role("button", name="Add Hosts").click()
    kind = page.locator("#f-hosts-0-i option", has_text="Host").get_attribute("value")
    page.locator("#f-hosts-0-i").select_option(kind)
    drawer = page.get_by_role("dialog", name="1: Host")
    expect(drawer).to_be_visible()
    drawer.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Add entry Labels").click()
    key = page.locator("#f-labels-k1")
    expect(key).to_be_focused()
    key.fill("colour")
    page.get_by_label("Value").fill("blue")
    assert not examined(page, "wizard-class")
    # The review is reached with a complete form only; the first thing that is wrong gets the focus.
    page.get_by_role("button", name="Review").click()
    expect(drawer).to_be_visible()
    address = drawer.locator("#f-hosts-0-address-i")
    expect(address).to_be_focused()
    address.fill("10.0.0.1")
    assert not examined(page, "wizard-drawer")
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_text("10.0.0.1")).to_be_visible()
    expect(page.get_by_text("blue")).to_be_visible()
    expect(page.get_by_text("z35")).to_be_visible()
    assert not examined(page, "wizard-review")
    page.go_back()
    expect(page.locator("#f-ports-0-i")).to_have_value("8080")
    page.go_forward()
    page.get_by_role("button", name="Add to the draft").click()
    expect(page.locator("#notices")).to_contain_text("is in your draft")


@pytest.mark.campaign
def test_steps_with_the_keyboard_alone(service: Any, page_for: Any, shop: Any) -> None:
    page = page_for("eve")
    page.goto(f"{service.url}/app/environments/{street(service, 'steps')}/add/{shop['id']}")
    page.locator("#f-name-i").focus()
    page.keyboard.type("corner")
    page.keyboard.press("Enter")
    expect(page.locator("#f-name-i")).to_be_focused()
    expect(page.locator("#f-name-error")).to_have_text("Begin with a capital")
    page.keyboard.press("Control+A")
    page.keyboard.type("Corner")
    expect(page.locator("#f-name-error")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.locator("#f-seats-i")).to_be_visible()
    page.locator("#f-seats-i").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("100")
    page.keyboard.press("Enter")
    summary = page.locator("#summary")
    expect(summary).to_contain_text("That is no corner shop")
    expect(summary).to_be_focused()
    assert not examined(page, "wizard-steps")
    page.go_back()
    expect(page.locator("#f-name-i")).to_have_value("Corner")
    page.go_forward()
    page.locator("#f-seats-i").fill("12")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Is this right?")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Is this right?")).to_be_visible()


UI = """\
Version: 2.4
Application:
  ?: {type: test.Shop}
  name: $.sign.name
  pin: $.sign.secret
Forms:
  - sign:
      fields:
        - {name: name, type: string, label: Name}
        - name: externalAD
          type: boolean
          label: The directory is elsewhere
          required: false
          widgetMedia:
            js: [muranodashboard/js/external-ad.js, nowhere/to/be/found.js]
            css: {all: [muranodashboard/css/checkbox.css]}
        - {name: domainAdminUserName, type: string, label: Who keeps it, required: false}
        - {name: secret, type: password, label: Secret}
"""


@pytest.fixture(scope="module")
def guarded(service: Any) -> str:
    """The id of a package whose form has a script of its author and a password."""
    manifest = MANIFEST.replace("Version: 1.0.0", "Version: 2.0.0")
    assert manifest != MANIFEST
    made = service.api("mallory", "POST", "/v2/packages", raw=archive(manifest=manifest, shop=RICH, ui=UI))
    return str(made["imported"][0]["id"])


@pytest.mark.campaign
def test_scripts_that_a_definition_names_run_and_what_is_missing_does_no_harm(
    service: Any, page_for: Any, guarded: str
) -> None:
    page = page_for("mallory")
    page.goto(f"/app/quick/{guarded}")
    keeper = page.get_by_label("Who keeps it")
    expect(keeper).to_be_hidden()
    page.get_by_label("The directory is elsewhere").check()
    expect(keeper).to_be_visible()
    keeper.fill("Kay")
    # What the server sends anew is under the script's care, too.
    expect(page.locator("#kept")).to_have_text("Saved")
    page.reload()
    expect(keeper).to_be_visible()
    expect(keeper).to_have_value("Kay")
    assert page.evaluate("[...document.styleSheets].some((one) => one.href?.endsWith('checkbox.css'))")
    assert page.evaluate("[...document.scripts].every((one) => !one.src.includes('nowhere'))")
    page.get_by_label("The directory is elsewhere").uncheck()
    expect(keeper).to_be_hidden()


@pytest.mark.campaign
def test_a_password_is_typed_twice_the_same_and_never_shown_again(service: Any, page_for: Any, guarded: str) -> None:
    page = page_for("mallory")
    page.goto(f"/app/quick/{guarded}?source=definition")
    page.locator("#f-name-i").fill("Corner")
    secret, again = page.locator("#f-secret-i"), page.locator("input[name$='.secret-clone'][id]")
    secret.fill("weak")
    secret.blur()
    expect(page.locator("#f-secret-error")).to_contain_text("7")
    secret.fill("Passw0rd!")
    again.fill("Passw0rd?")
    again.blur()
    wrong = page.locator(f"#{again.get_attribute('id').removesuffix('-i')}-error")
    expect(wrong).to_have_text("The two entries are not the same.")
    page.get_by_role("button", name="Review").click()
    expect(again).to_be_focused()
    again.fill("Passw0rd!")
    expect(wrong).to_be_hidden()
    # Both are shown on demand, one by one.
    page.get_by_role("button", name="Show Secret", exact=True).click()
    assert (secret.get_attribute("type"), again.get_attribute("type")) == ("text", "password")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("link", name="Back").click()
    expect(page.locator("#f-name-i")).to_have_value("Corner")
    assert (secret.input_value(), again.input_value()) == ("", "")
    expect(page.get_by_text("A value is kept.").first).to_be_visible()
    assert "Passw0rd" not in page.content()
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("heading", name="Is this right?")).to_be_visible()


@pytest.mark.campaign
def test_what_is_typed_while_the_network_is_cut_is_kept_once_it_is_back(
    service: Any, page_for: Any, context_for: Any, shop: Any
) -> None:
    context = context_for("eve")
    page = context.new_page()
    page.goto(f"/app/environments/{street(service, 'cut')}/add/{shop['id']}?source=class")
    name = page.locator("#f-name-i")
    name.fill("Before")
    expect(page.locator("#kept")).to_have_text("Saved")
    context.set_offline(True)
    name.fill("Meanwhile")
    expect(page.locator("#kept")).to_have_text("Not saved. Trying again…")
    # Going on says so, too, and loses nothing.
    page.get_by_role("button", name="Review").click()
    expect(page.locator("#kept")).to_have_text("Not saved. Trying again…")
    expect(name).to_have_value("Meanwhile")
    context.set_offline(False)
    expect(page.locator("#kept")).to_have_text("Saved")
    page.reload()
    expect(name).to_have_value("Meanwhile")


@pytest.mark.campaign
def test_what_is_typed_before_the_scripts_are_there_is_kept(service: Any, page_for: Any, shop: Any) -> None:
    page, held = page_for("eve"), []
    page.route("**/wizard*.js", lambda route: held.append(route))
    page.goto(f"/app/environments/{street(service, 'slow')}/add/{shop['id']}?source=class", wait_until="commit")
    name = page.locator("#f-name-i")
    name.fill("Early bird")
    page.locator("#f-size-i").select_option(label="large")
    assert page.locator("#kept").inner_text() == ""
    while not held:
        page.wait_for_timeout(50)
    held[0].continue_()
    expect(page.locator("#kept")).to_have_text("Saved")
    page.unroute_all()
    page.reload()
    expect(name).to_have_value("Early bird")
    expect(page.locator("#f-size-i option:checked")).to_have_text("large")
    # Nobody touched anything since: nothing is sent.
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.reload()
    page.wait_for_function("() => document.readyState === 'complete'")
    page.get_by_role("button", name="Add Ports").click()
    expect(page.locator("#f-ports-1-i")).to_be_focused()
    assert len(sent) == 1


@pytest.mark.campaign
def test_what_is_typed_after_the_session_ended_is_kept_once_one_is_signed_in_again(
    service: Any, page_for: Any, shop: Any
) -> None:
    page = page_for("eve")
    page.goto(f"/app/environments/{street(service, 'ended')}/add/{shop['id']}?source=class")
    (ticket,) = [each for each in page.context.cookies() if each["name"] == "vetro_session"]
    page.context.clear_cookies(name="vetro_session")
    page.locator("#f-name-i").fill("Night owl")
    out = page.locator("#notices [data-said=out]")
    expect(out).to_contain_text("not signed in any more")
    page.get_by_role("button", name="Review").click()
    expect(page.locator("#kept")).to_have_text("Not saved. Trying again…")
    expect(out).to_have_count(1)
    assert not violations(page)
    with page.context.expect_page() as opened:
        out.get_by_role("link", name="Sign in").click()
    expect(opened.value.get_by_role("button", name="Sign in")).to_be_visible()
    page.context.add_cookies([ticket])
    opened.value.close()
    expect(page.locator("#kept")).to_have_text("Saved")
    expect(out).to_have_count(0)
    page.reload()
    expect(page.locator("#f-name-i")).to_have_value("Night owl")
