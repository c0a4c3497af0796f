"""Environments in a real browser: several people watch one deployment, a network cut, the picture of the objects."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.kit import PHONE, WIDE, examined, wider_than_the_window
from tests.server.tasks import shop

#: A deployment on a busy machine: waiting costs nothing where all is well.
_LONG = 180_000
#: Calls the API as the signed-in person, as the pages' own scripts may.
_CALL = """async ([method, path, json, file]) => {
  const headers = { "X-CSRFToken": document.cookie.match(/vetro_csrf=([^;]+)/)?.[1] ?? "" };
  let body;
  if (file) {
    body = new FormData();
    body.append("archive", new Blob([Uint8Array.from(atob(file), (c) => c.charCodeAt(0))]), "package.zip");
  } else if (json !== null) {
    body = JSON.stringify(json);
    headers["Content-Type"] = "application/json";
  }
  const answer = await fetch(path, { method, headers, body });
  return [answer.status, await answer.text()];
}"""


def call(page: Any, method: str, path: str, json: Any = None, file: bytes = b"") -> Any:
    """An answer of the API as data."""
    import json as codec

    status, text = page.evaluate(_CALL, [method, path, json, base64.b64encode(file).decode()])
    assert status < 300, (path, status, text)
    return codec.loads(text) if text else None


def prepared(page: Any, url: str, name: str, *shops: dict[str, Any]) -> str:
    """Address of a new environment whose draft has these shops."""
    page.goto(f"{url}/app/environments/new")
    if not call(page, "GET", "/v2/packages?fqn=test.shop")["items"]:
        call(page, "POST", "/v2/packages", file=shop.archive())
    made = call(page, "POST", "/v2/environments", {"name": name})["id"]
    session = call(page, "POST", f"/v2/environments/{made}/sessions")["id"]
    for own, properties in enumerate(shops):
        model = {"?": {"type": "test.Shop", "id": f"{name}-{own}", "name": properties["title"]}, **properties}
        call(page, "POST", f"/v2/sessions/{session}/components", model)
    return f"{url}/app/environments/{made}/"


@pytest.mark.campaign
def test_two_people_watch_one_deployment(service: Any, page_for: Any) -> None:
    ann, bob = page_for("ann"), page_for("bob")
    address = prepared(
        ann, service.url, "watched", {"title": "North", "wait": 3}, {"title": "South", "warn": True, "wait": 10}
    )
    ann.goto(address)
    expect(ann.get_by_text("New in the draft").first).to_be_visible()
    ann.get_by_role("button", name="Plan", exact=True).click()
    expect(ann.get_by_role("heading", name="Resources in the cloud")).to_be_visible(timeout=_LONG)
    bob.goto(address)
    expect(bob.get_by_role("heading", name="Nothing in it yet")).to_be_visible()
    ann.get_by_role("button", name="Deploy this").click()
    expect(ann.locator("#log")).to_contain_text("opening South", timeout=_LONG)
    # Bob's page follows without being loaded again, and lets nobody change what is being deployed.
    expect(bob.get_by_role("link", name="Watch what happens")).to_be_visible()
    expect(bob.get_by_role("link", name="Add application")).to_have_count(0)
    # A filter survives a reload.
    ann.get_by_label("Application", exact=True).select_option(label="South")
    expect(ann.locator("#log")).not_to_contain_text("North")
    ann.reload()
    expect(ann.get_by_label("Application", exact=True)).to_have_value("watched-1")
    # It reported an error: "Done" does not stand beside a red step.
    expect(ann.locator("#live .page-head [data-state=errors]")).to_be_visible(timeout=_LONG)
    expect(ann.locator("#log")).to_contain_text("something is odd")
    expect(ann.locator("#log")).not_to_contain_text("North")
    expect(bob.locator("article.component")).to_have_count(2)


@pytest.mark.campaign
def test_the_live_view_goes_on_after_a_network_cut(service: Any, page_for: Any) -> None:
    page = page_for("ann", cut=True)
    page.goto(prepared(page, service.url, "cut", {"title": "Far", "wait": 20}))
    page.get_by_role("button", name="Deploy", exact=True).click()
    expect(page.locator("#log")).to_contain_text("opening Far", timeout=_LONG)
    expect(page.locator("#connection[data-connection=open]")).to_be_attached()
    page.context.set_offline(True)
    page.evaluate("window.dispatchEvent(new Event('online'))")  # opens anew, in vain
    expect(page.locator("#connection[data-connection=lost]")).to_be_attached()
    page.context.set_offline(False)
    expect(page.locator("#live .page-head [data-state=done]")).to_be_visible(timeout=_LONG)
    expect(page.locator("#log")).to_contain_text("Deployment finished")
    numbers = page.locator("#log li").evaluate_all("lines => lines.map((line) => Number(line.dataset.seq))")
    assert numbers == sorted(set(numbers))


@pytest.mark.campaign
def test_the_picture_is_used_by_keyboard_and_searched(service: Any, page_for: Any) -> None:
    page = page_for("ann")
    shops = [{"title": f"Shop {n}"} for n in range(12)]
    page.goto(f"{prepared(page, service.url, 'drawn', *shops)}topology")
    expect(page.locator("#topology[data-drawn]")).to_be_visible()
    rows = page.locator("#live tbody tr")
    assert rows.count() == page.evaluate("document.getElementById('canvas').graph.nodes().length") >= 13
    page.locator("#canvas").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#chosen")).to_contain_text("io.murano.Environment")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#chosen")).to_contain_text("test.Shop")
    before = page.evaluate("document.getElementById('canvas').graph.zoom()")
    page.keyboard.press("+")
    assert page.evaluate("document.getElementById('canvas').graph.zoom()") > before
    page.get_by_label("Find an object").fill("shop 7")
    expect(page.locator("#found")).to_have_text("1")
    page.keyboard.press("Enter")
    expect(page.locator("#chosen")).to_contain_text("Shop 7")
    page.locator("#canvas").press("Enter")
    expect(page.get_by_role("heading", name="Shop 7")).to_be_visible()


def test_long_names_neither_widen_pages_nor_squeeze_what_stands_beside_them(service: Any, page_for: Any) -> None:
    page, name = page_for("ann"), f"{'W' * 90} and {'A' * 90}"
    address = prepared(page, service.url, name, {"title": f"{'W' * 120}"})
    component = f"components/{name.replace(' ', '%20')}-0/"
    for part in ("", component, "topology"):
        answer = page.goto(address + part)
        assert answer.status == 200, part
        for width, height in (WIDE, PHONE):
            page.set_viewport_size({"width": width, "height": height})
            assert not wider_than_the_window(page), part
        page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
        if part == "topology":
            # Words of ours stay in one line, labels in the picture within their boxes.
            tall = "cells => cells.filter((cell) => cell.getClientRects().length > 1).length"
            assert page.locator("#live .key-word").evaluate_all(tall) == 0
            assert page.locator("#live thead th").first.evaluate("cell => cell.clientHeight") < 80
            expect(page.locator("#topology[data-drawn]")).to_be_visible()
            label = "node => node.boundingBox({ includeOverlays: false }).w"
            widths = page.evaluate(f"document.getElementById('canvas').graph.nodes().map({label})")
            assert max(widths) < 200, widths


@pytest.mark.campaign
@pytest.mark.parametrize("width", [pytest.param(1440, marks=pytest.mark.campaign), 390])
def test_the_bar_for_ticked_environments_stays_on_the_screen(
    width: int, service: Any, filled: dict[str, str], page_for: Any
) -> None:
    for number in range(12):
        service.api("ann", "POST", "/v2/environments", {"name": f"Stall {width} {number:02}"})
    page = page_for("ann")
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"/app/environments/?q=Stall {width}")
    bar = page.get_by_role("group", name="With the ticked environments")
    expect(bar.get_by_role("button", name="Delete…")).to_be_disabled()
    page.get_by_label(f"Tick Stall {width} 11").check()
    expect(bar).to_contain_text("(1)")
    expect(bar.get_by_role("button", name="Delete…")).to_be_in_viewport(ratio=1)
    assert examined(page, f"environments-ticked-{width}") == []
    page.set_viewport_size({"width": width, "height": 844})
    # The list is loaded anew when something happens in it: what is ticked stays ticked.
    service.api("ann", "POST", "/v2/environments", {"name": f"Stall {width} 12"})
    expect(page.get_by_label(f"Tick Stall {width} 12")).to_be_visible()
    expect(page.get_by_label(f"Tick Stall {width} 11")).to_be_checked()
    bar.get_by_label("All shown").check()
    expect(bar).to_contain_text("(13)")
    bar.get_by_role("button", name="Delete…").click()
    expect(page.get_by_role("heading", name="Delete these 13 environments?")).to_be_visible()
    assert examined(page, f"environments-delete-{width}") == []
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator("#notices")).to_contain_text("13 environments are being deleted")
