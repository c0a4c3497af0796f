"""People in a real browser: signing in and out, a token, language and time zone, an account made for somebody."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.kit_people import PASSWORD


@pytest.mark.campaign
def test_signing_in_by_keyboard_leads_back_to_where_one_was(service: Any, page_for: Any) -> None:
    page = page_for()
    page.goto("/app/people/me")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("ann")
    page.keyboard.press("Tab")
    page.keyboard.type("not it")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("wrong")
    page.get_by_label("Password").focus()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Profile and tokens")
    page.get_by_role("button", name="ann").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in to Vetro")).to_be_visible()
    page.go_back()
    page.goto("/app/people/me")
    expect(page.get_by_role("heading", name="Sign in to Vetro")).to_be_visible()


@pytest.mark.campaign
def test_a_token_is_made_copied_and_revoked(service: Any, page_for: Any) -> None:
    page = page_for("paul", permissions=["clipboard-read", "clipboard-write"])
    page.goto("/app/people/me")
    page.get_by_label("What is it for?").fill("a script")
    page.get_by_label("Works for").select_option("7")
    page.get_by_role("button", name="Create").click()
    text = page.locator("#made").inner_text()
    page.get_by_role("button", name="Copy").click()
    expect(page.locator(".copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == text
    status, _ = service.service.get("/v2/me", **{"X-Auth-Token": text})
    assert status == 200
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Revoke a script").click()
    expect(page.locator("#notices")).to_contain_text("revoked")
    status, _ = service.service.get("/v2/me", **{"X-Auth-Token": text})
    assert status == 401


@pytest.mark.campaign
def test_times_are_those_of_the_viewer(service: Any, page_for: Any) -> None:
    first = "() => document.querySelector('.token-list time').title"
    page = page_for("paul", timezone_id="Asia/Tokyo")
    page.goto("/app/people/me")
    tokyo = page.evaluate(first)
    other = page_for("paul", timezone_id="America/New_York")
    other.goto("/app/people/me")
    assert other.evaluate(first) != tokyo
    # What she chose wins over the browser, until she leaves it to the browser again.
    other.get_by_label("Time zone").select_option("Asia/Tokyo")
    other.get_by_label("Language", exact=True).select_option("de")
    other.get_by_role("button", name="Save").click()
    expect(other.locator("#notices")).to_contain_text("gespeichert")
    assert other.locator("html").get_attribute("lang") == "de"
    made = other.evaluate("() => document.querySelector('.token-list time').dateTime")
    hour = other.evaluate(
        "(at) => new Intl.DateTimeFormat('de', {timeStyle: 'medium', timeZone: 'Asia/Tokyo'}).format(new Date(at))",
        made,
    )
    assert hour in other.evaluate(first)
    other.get_by_label("Zeitzone").select_option("")
    other.get_by_label("Sprache", exact=True).select_option("")
    other.get_by_role("button", name="Speichern").click()
    expect(other.locator("html")).to_have_attribute("lang", "en")


@pytest.mark.campaign
def test_an_account_is_made_and_its_owner_comes_by_the_link(service: Any, page_for: Any) -> None:
    page = page_for("root")
    page.goto("/app/people/")
    page.get_by_role("link", name="New account").click()
    page.get_by_label("Name").fill("newcomer")
    page.get_by_label("Project", exact=True).select_option("demo")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("newcomer")
    page.get_by_role("button", name="Make a link").click()
    address = page.locator("#made").inner_text()
    assert re.fullmatch(re.escape(service.url) + r"/app/link/vetro_[\w-]+", address)
    theirs = page_for()
    theirs.goto(address)
    theirs.get_by_role("button", name="Sign in").click()
    theirs.goto("/app/people/me")
    theirs.get_by_label("New password", exact=True).fill("first of my own")
    theirs.get_by_label("New password again").fill("first of my own")
    theirs.get_by_role("button", name="Change password").click()
    expect(theirs.locator("#notices")).to_contain_text("changed")
    page.get_by_role("button", name="Lock").click()
    expect(page.get_by_text("newcomer is locked out")).to_be_visible()
    theirs.reload()
    expect(theirs.get_by_role("heading", name="Sign in to Vetro")).to_be_visible()
    page.goto("/app/people/audit?all=1&who=root&what=user")
    expect(page.get_by_role("cell", name="user.create").first).to_be_visible()
