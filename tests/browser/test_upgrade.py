"""An upgrade in a real browser: from the badge of a component to the new version, with one new question."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.kit import examined

#: A deployment on a busy machine: waiting costs nothing where all is well.
LONG = 180_000
MANIFEST = """\
Format: '1.4'
Type: Application
FullName: com.example.Ferry
Name: Ferry
Version: {version}
Require: {{io.vetro: 1}}
Classes: {{com.example.Ferry: Ferry.yaml}}
"""
FERRY = """\
Namespaces: {=: com.example, std: io.murano, l: io.vetro.lifecycle}
Name: Ferry
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull()}
  %s
Methods:
  deploy:
    Body:
      - $.find(std:Environment).reporter.report($this, 'The ferry sails')
"""
NEW = """berth: {Contract: $.int().notNull(), Default: 1, Meta: {l:Renamed: {from: quay, to: 2.0.0}}}
  mode: {Contract: $.string().notNull().check(len($) > 2)}"""
CHANGES = """\
- Version: 2.0.0
  Date: 2026-11-01
  Changes:
    - {Kind: breaking, Text: The quay is called berth}
    - {Kind: added, Text: 'It has a mode, which has to be given'}
"""


def ferry(version: str, properties: str, name: str = "Ferry", **more: str) -> bytes:
    """The archive of a version; ``name``: of the class, for tests that share a service; ``more``: texts of files."""
    buffer = io.BytesIO()
    files = {"manifest": MANIFEST.format(version=version), f"Classes/{name}": FERRY % properties, **more}
    with zipfile.ZipFile(buffer, "w") as target:
        for path, text in files.items():
            target.writestr(zipfile.ZipInfo(f"{path}.yaml"), text.replace("Ferry", name))
    return buffer.getvalue()


@pytest.mark.campaign
def test_one_new_question_is_answered_and_deployed_with_three_clicks(service: Any, page_for: Any) -> None:
    page = page_for("ann")
    service.api("ann", "POST", "/v2/packages", raw=ferry("1.0.0", "quay: {Contract: $.int().notNull(), Default: 1}"))
    made = service.api("ann", "POST", "/v2/environments", {"name": "harbour"})["id"]
    session = service.api("ann", "POST", f"/v2/environments/{made}/sessions")["id"]
    model = {"?": {"type": "com.example.Ferry", "id": "ferry1", "name": "Ferry"}, "name": "north", "quay": 4}
    service.api("ann", "POST", f"/v2/sessions/{session}/components", model)
    page.goto(f"/app/environments/{made}/")
    page.get_by_role("button", name="Deploy", exact=True).click()
    expect(page.locator("#live .page-head [data-state=done]")).to_be_visible(timeout=LONG)
    page.goto(f"/app/environments/{made}/upgrade")
    expect(page.get_by_role("heading", name="Nothing newer")).to_be_visible()
    service.api("ann", "POST", "/v2/packages", raw=ferry("2.0.0", NEW, changes=CHANGES))
    page.goto(f"/app/environments/{made}/")
    # One: the badge. The first question has the focus.
    page.get_by_role("link", name="Upgrade to 2.0.0").click()
    field = page.locator("#f-ferry1-mode-i")
    expect(field).to_be_focused()
    expect(page.get_by_text("It has a mode, which has to be given")).to_be_visible()
    assert not examined(page, "upgrade")
    # A value that the class refuses is told at its field; nothing is lost.
    field.fill("x")
    page.get_by_role("button", name="Plan the upgrade").click()
    expect(page.locator("#f-ferry1-mode .wrong-text")).to_be_visible()
    expect(field).to_have_value("x")
    assert not examined(page, "upgrade-refused")
    page.goto(f"/app/environments/{made}/")
    page.get_by_role("link", name="Upgrade to 2.0.0").click()
    expect(field).to_be_focused()
    page.keyboard.type("fast")
    # Two: its plan. Three: it is deployed.
    page.get_by_role("button", name="Plan the upgrade").click()
    expect(page.locator("dl.properties dt", has_text="version").first).to_be_visible(timeout=LONG)
    page.get_by_role("button", name="Deploy without way back").click()
    expect(page.locator("#live h2 + .state")).to_have_text("done", timeout=LONG)
    session = service.api("ann", "POST", f"/v2/environments/{made}/sessions")["id"]
    (now,) = service.api("ann", "GET", f"/v2/sessions/{session}/model")["services"]
    service.api("ann", "DELETE", f"/v2/sessions/{session}")
    assert now["?"]["type"] == "com.example.Ferry/2.0.0@com.example.Ferry"
    assert (now["mode"], now["berth"]) == ("fast", 4)
    page.goto(f"/app/environments/{made}/")
    expect(page.get_by_text("Upgrade to 2.0.0")).to_have_count(0)
    # What is lost is ticked before there is a draft.
    service.api("ann", "POST", "/v2/packages", raw=ferry("3.0.0", "mode: {Contract: $.string().notNull()}"))
    page.goto(f"/app/environments/{made}/upgrade")
    page.get_by_text("compared with 2.0.0", exact=True).click()
    assert not examined(page, "upgrade-lost")
    page.get_by_role("button", name="Make the draft").click()
    expect(page.get_by_label("Ferry.berth")).to_be_focused()  # the browser wants it ticked
    page.get_by_label("Ferry.berth").check()
    page.get_by_role("button", name="Make the draft").click()
    expect(page.get_by_role("heading", name="What deploying would change")).to_be_visible()
    page.goto(f"/app/environments/{made}/upgrade")
    expect(page.get_by_role("link", name="Look at the changes")).to_be_visible()
    assert not examined(page, "upgrade-draft")
