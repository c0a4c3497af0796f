"""Two people in two browsers on one environment: what one does the other sees; both have drafts, one deploys first."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.kit_journey import step
from tests.browser.test_environments import prepared

#: A deployment on a busy machine: waiting costs nothing where all is well.
_LONG = 180_000


@pytest.mark.campaign
def test_two_drafts_of_which_one_is_deployed(service: Any, page_for: Any) -> None:
    ann, bob = page_for("ann"), page_for("bob")
    address = prepared(ann, service.url, "shared", {"title": "North"})
    with step(bob, "seeing that somebody else has a draft"):
        bob.goto(address)
        expect(bob.get_by_text("has changes that are not deployed")).to_contain_text("ann")
    with step(ann, "first deployment"):
        ann.goto(address)
        ann.get_by_role("button", name="Deploy", exact=True).click()
        expect(ann.locator("#live .page-head [data-state=done]")).to_be_visible(timeout=_LONG)
    with step(bob, "seeing what was deployed"):
        expect(bob.get_by_role("link", name="North", exact=True)).to_be_visible()
        expect(bob.get_by_role("link", name="Edit North")).to_be_visible()
    for page, title in ((ann, "Far North"), (bob, "Near North")):
        with step(page, f"edit to {title}"):
            page.goto(address)
            page.get_by_role("link", name="Edit North").click()
            page.get_by_role("textbox", name="Title", exact=True).fill(title)
            page.get_by_role("button", name="Review").click()
            page.get_by_role("button", name="Save in the draft").click()
            expect(page.locator("#notices")).to_contain_text("is changed in your draft")
    with step(bob, "one's own draft only"):
        bob.goto(f"{address}changes")
        expect(bob.locator("ins", has_text="Near North")).to_be_visible()
        expect(bob.locator("main")).not_to_contain_text("Far North")
    with step(ann, "second deployment"):
        ann.get_by_role("button", name="Deploy", exact=True).click()
        expect(ann.locator("#live .page-head [data-state=done]")).to_be_visible(timeout=_LONG)
    with step(bob, "being told that the draft cannot be deployed any more"):
        bob.goto(address)
        expect(bob.get_by_text("cannot be deployed any more")).to_be_visible()
        bob.get_by_role("link", name="Look at it").click()
        expect(bob.locator("main")).to_contain_text("Near North")


@pytest.mark.campaign
def test_of_two_who_press_deploy_one_is_told_so(service: Any, page_for: Any) -> None:
    ann, bob = page_for("ann"), page_for("bob", cut=True)
    address = prepared(ann, service.url, "contested", {"title": "West", "wait": 10})
    environment = address.rsplit("/", 2)[-2]
    with step(bob, "a draft of his own"):
        session = service.api("bob", "POST", f"/v2/environments/{environment}/sessions")["id"]
        model = {"?": {"type": "test.Shop", "id": "contested-b", "name": "East"}, "title": "East"}
        service.api("bob", "POST", f"/v2/sessions/{session}/components", model)
        bob.goto(address)
        expect(bob.get_by_role("button", name="Deploy", exact=True)).to_be_visible()
    # Bob's page does not hear of what Ann does; so both press the button.
    bob.context.set_offline(True)
    with step(ann, "deploy"):
        ann.goto(address)
        ann.get_by_role("button", name="Deploy", exact=True).click()
        expect(ann.locator("#log")).to_contain_text("opening West", timeout=_LONG)
    with step(bob, "deploy too late"):
        bob.route("**/events*", lambda route: route.abort())
        bob.route(address, lambda route: route.abort() if route.request.headers.get("hx-target") else route.continue_())
        bob.context.set_offline(False)
        bob.get_by_role("button", name="Deploy", exact=True).click()
        expect(bob.get_by_role("heading", level=1)).to_have_text("Something is in the way")
    with step(ann, "her deployment ends"):
        expect(ann.locator("#live .page-head [data-state=done]")).to_be_visible(timeout=_LONG)
        expect(ann.locator("#log")).not_to_contain_text("East")
    with step(bob, "his draft is there to be read"):
        bob.unroute_all()
        bob.goto(address)
        bob.get_by_role("link", name="Look at it").click()
        expect(bob.locator("main")).to_contain_text("East")


@pytest.mark.campaign
def test_a_live_view_that_was_cut_off_has_every_line_once(service: Any, page_for: Any) -> None:
    page, other = page_for("ann", cut=True), page_for("bob")
    address = prepared(page, service.url, "torn", {"title": "One", "wait": 20}, {"title": "Two"})
    page.goto(address)
    page.get_by_role("button", name="Deploy", exact=True).click()
    with step(page, "cut off"):
        expect(page.locator("#log")).to_contain_text("opening One", timeout=_LONG)
        page.context.set_offline(True)
    with step(other, "somebody else sees the rest"):
        other.goto(page.url)
        expect(other.locator("#live .page-head [data-state=done]")).to_be_visible(timeout=_LONG)
    with step(page, "going on by itself"):
        expect(page.locator("#log")).not_to_contain_text("Deployment finished")
        page.context.set_offline(False)
        expect(page.locator("#live .page-head [data-state=done]")).to_be_visible(timeout=_LONG)
        expect(page.locator("#log")).to_contain_text("Deployment finished")
    told = "lines => lines.map((line) => [line.dataset.seq, line.querySelector('.text').textContent])"
    assert page.locator("#log li").evaluate_all(told) == other.locator("#log li").evaluate_all(told)
