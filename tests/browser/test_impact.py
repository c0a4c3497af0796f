"""Impact in a real browser: ten applications of one package, seen before the third version is published."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.kit import examined
from tests.server.impact.fleet import archive, shop

ENVIRONMENTS = 10
#: Not `test.shop`: other tests import a package of that name into the same service, with another class.
PACKAGE = "test.fleet"


@pytest.mark.campaign
def test_ten_applications_are_seen_before_a_version_is_published(service: Any, page_for: Any) -> None:
    page = page_for("ida")
    service.api("ida", "POST", "/v2/packages", raw=archive("1.0.0", name=PACKAGE))
    for number in range(ENVIRONMENTS):
        more = {"text": "fragile", "password": "p"} if number == 3 else {}
        made = service.api("ida", "POST", "/v2/environments", {"name": f"shop-{number}"})["id"]
        session = service.api("ida", "POST", f"/v2/environments/{made}/sessions")["id"]
        model = shop(number + 1, f"{PACKAGE}.Shop/1.0.0", **more)
        service.api("ida", "POST", f"/v2/sessions/{session}/components", model)
        service.api("ida", "POST", f"/v2/sessions/{session}/deploy")
    page.goto("/app/environments/")
    expect(page.locator("[data-state=ready]")).to_have_count(ENVIRONMENTS, timeout=300_000)
    # Whoever brings the version gets to see it without asking.
    page.goto("/app/packages/import")
    file = {"name": "3.zip", "mimeType": "application/zip", "buffer": archive("3.0.0", name=PACKAGE)}
    page.set_input_files("input[name=archive]", file)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="What Shop 3.0.0 would change")).to_be_visible()
    expect(page.get_by_text("10 environments were looked at.", exact=True)).to_be_visible(timeout=300_000)
    assert not examined(page, "impact-after-import")
    expect(page.get_by_role("region", name="Fails").get_by_text("Classes/Shop.yaml")).to_be_visible()
    new = page.get_by_role("link", name="Shop 3.0.0").get_attribute("href").split("/")[-2]
    # The list of environments says that there is something newer.
    page.goto("/app/environments/")
    expect(page.locator("[data-newer='3.0.0']")).to_have_count(ENVIRONMENTS)
    # It stays on the page of the package, where it can be asked again; and who publishes it comes there.
    page.goto(f"/app/packages/{new}/")
    page.get_by_role("navigation", name="Parts of the package").get_by_role("link", name="Impact").click()
    expect(page.get_by_text("10 environments of your project use an older version.")).to_be_visible()
    page.get_by_role("button", name="Find out again").click()
    expect(page.get_by_text("10 environments were looked at.", exact=True)).to_be_visible(timeout=300_000)
    assert not examined(page, "impact")
    same = page.get_by_role("region", name="Nothing changes")
    expect(same.get_by_text("9 environments")).to_be_visible()
    fails = page.get_by_role("region", name="Fails")
    expect(fails.get_by_text("Classes/Shop.yaml")).to_be_visible()
    fails.get_by_role("link", name="shop-3").click()
    expect(page.get_by_role("heading", name="shop-3")).to_be_visible()
    assert not examined(page, "impact-plan")
    page.get_by_role("link", name="Upgrade it").click()
    expect(page.get_by_role("heading", name="What changes")).to_be_visible(timeout=60_000)
