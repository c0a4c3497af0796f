"""Taking an update back in a real browser: its way back stays open, what it would do is shown, a button does it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.kit import examined
from tests.browser.test_upgrade import LONG, NEW, ferry

#: A package of its own: test_upgrade.py has the ferry, in the same project.
barge = partial(ferry, name="Barge")


@pytest.mark.campaign
def test_an_update_is_taken_back_by_a_press_after_its_plan_was_read(service: Any, page_for: Any) -> None:
    page, questions = page_for("ann"), list[str]()

    def answer(dialog: Any) -> None:
        questions.append(dialog.message)
        dialog.accept()

    page.on("dialog", answer)
    service.api("ann", "POST", "/v2/packages", raw=barge("1.0.0", "quay: {Contract: $.int().notNull(), Default: 1}"))
    made = service.api("ann", "POST", "/v2/environments", {"name": "strait"})["id"]
    session = service.api("ann", "POST", f"/v2/environments/{made}/sessions")["id"]
    model = {"?": {"type": "com.example.Barge", "id": "barge1", "name": "Barge"}, "name": "north", "quay": 4}
    service.api("ann", "POST", f"/v2/sessions/{session}/components", model)
    page.goto(f"/app/environments/{made}/")
    page.get_by_role("button", name="Deploy", exact=True).click()
    expect(page.locator("#live .page-head [data-state=done]")).to_be_visible(timeout=LONG)
    service.api("ann", "POST", "/v2/packages", raw=barge("2.0.0", NEW))

    # The upgrade, with a way back that stays open for an hour.
    page.goto(f"/app/environments/{made}/upgrade")
    page.locator("#f-barge1-mode-i").fill("fast")
    page.get_by_role("button", name="Make the draft").click()
    way_back = page.get_by_role("region", name="Way back")
    way_back.get_by_role("combobox").select_option(label="one hour longer")
    way_back.get_by_role("button", name="Upgrade with way back").click()
    page.wait_for_url("**/updates/*")
    state = page.locator("#live h2 + .state")
    expect(state).to_have_text("done; can be taken back", timeout=LONG)
    page.goto(f"/app/environments/{made}/")
    page.get_by_role("link", name="Take it back or keep it").click()

    # What it does is there before the button is pressed.
    plan = page.get_by_role("region", name="What taking it back does")
    expect(plan.locator("dl.properties dt", has_text="version").first).to_be_visible()
    expect(plan.get_by_text("quay").first).to_be_visible()
    expect(plan.get_by_text("States that go: 2.")).to_be_visible()
    assert not examined(page, "undo")
    plan.get_by_role("button", name="Take it back").click()
    expect(state).to_have_text("taken back: all is as it was before", timeout=LONG)
    expect(page.get_by_text("State 3 is state 1 again.")).to_be_visible()
    expect(page.get_by_role("button", name="Take it back")).to_have_count(0)
    assert questions == ["Take the update back? What was written since is lost."]
    assert not examined(page, "undone")

    session = service.api("ann", "POST", f"/v2/environments/{made}/sessions")["id"]
    (now,) = service.api("ann", "GET", f"/v2/sessions/{session}/model")["services"]
    assert now["?"]["type"] == "com.example.Barge/1.0.0@com.example.Barge" and now["quay"] == 4
    assert "mode" not in now
    page.goto(f"/app/environments/{made}/")
    expect(page.get_by_role("link", name="Upgrade to 2.0.0")).to_be_visible()
