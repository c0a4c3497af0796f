"""The catalog and the packages in a real browser: searching while one types, drag and drop, progress, keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.kit import ROOT, examined
from tests.browser.kit_filled import packed
from tests.server.catalog.archives import archive
from tests.support.waiting import until

_DROP = """([files]) => {
  const carried = new DataTransfer();
  for (const [name, bytes] of files) carried.items.add(new File([Uint8Array.from(bytes)], name));
  const place = document.querySelector("[data-drop]");
  for (const kind of ["dragover", "drop"]) {
    place.dispatchEvent(new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true }));
  }
}"""
_BROKEN = "Name: Bad\nMethods:\n  deploy:\n    Body:\n    - If: $.a\n      Thenn: []\n"


def dropped(page: Any, *files: tuple[str, bytes]) -> None:
    """Drops archives onto the import page."""
    page.evaluate(_DROP, [[[name, list(data)] for name, data in files]])


def imported(page: Any, url: str, *packages: bytes) -> None:
    """Imports packages as a person does."""
    page.goto(f"{url}/app/packages/import")
    files = [
        {"name": f"{number}.zip", "mimeType": "application/zip", "buffer": data} for number, data in enumerate(packages)
    ]
    page.locator("#archive").set_input_files(files)
    page.get_by_label("Leave alone what is there already").check()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("[data-report]")).to_contain_text("imported")


@pytest.mark.campaign
def test_applications_are_found_while_one_types_and_going_back_keeps_what_was_chosen(
    service: Any, page_for: Any
) -> None:
    page = page_for("ann")
    imported(
        page,
        service.url,
        archive("org.quince.Jam", Name="Quince jam", Tags=["quince", "sweet"]),
        archive("org.quince.Tart", Name="Quince tart", Tags=["quince", "baked"]),
    )
    page.goto(f"{service.url}/app/catalog/")
    search = page.get_by_label("Search applications")
    search.press_sequentially("quince")
    expect(page.locator(".tile")).to_have_count(2)
    search.press_sequentially(" ta")
    expect(page.locator(".tile")).to_have_count(1)
    search.fill("quince")
    expect(page.locator(".tile")).to_have_count(2)
    page.goto(page.url + "&tag=baked")  # as the chip does, however many tags are more frequent
    expect(page.locator(".tile")).to_have_count(1)
    chip = page.get_by_role("checkbox", name="baked")
    expect(chip).to_be_checked()
    page.get_by_role("link", name="Quince tart").click()
    expect(page.get_by_role("heading", name="Quince tart")).to_be_visible()
    expect(page.locator("#form")).to_contain_text("size")
    page.go_back()
    expect(chip).to_be_checked()
    chip.uncheck()
    expect(page.locator(".tile")).to_have_count(2)
    assert "tag=" not in page.url


def test_the_keyboard_alone_finds_and_opens_an_application(service: Any, page_for: Any) -> None:
    page = page_for("ann")
    imported(page, service.url, archive("org.medlar.Jelly", Name="Medlar jelly"))
    page.goto(f"{service.url}/app/catalog/")
    page.get_by_label("Search applications").focus()
    page.keyboard.type("medlar")
    expect(page.locator(".tile")).to_have_count(1)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Medlar jelly":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Medlar jelly")).to_be_visible()
    page.get_by_role("button", name="Deploy", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("A new environment")).to_be_checked()
    expect(page.get_by_label("Its name")).to_have_value("Medlar jelly")


@pytest.mark.campaign
def test_archives_are_dropped_checked_imported_and_deleted(service: Any, page_for: Any) -> None:
    page = page_for("ann")
    good = ("good.zip", archive("org.sloe.Gin", Name="Sloe gin"))
    bad = ("bad.zip", archive("org.sloe.Bad", classes={"org.sloe.Bad": _BROKEN}))
    page.goto(f"{service.url}/app/packages/import")
    dropped(page, good, bad)
    expect(page.locator("[data-files] li")).to_have_count(2)
    page.get_by_role("button", name="Only check").click()
    report = page.locator("[data-report]")
    expect(report).to_contain_text("would be refused")
    expect(report).to_contain_text("Classes/org.sloe.Bad.yaml:6")
    expect(report).to_be_focused()
    dropped(page, good)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(report).to_contain_text("1 package imported")
    report.get_by_role("link", name="Sloe gin").click()
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Deactivate").click()
    expect(page.locator("#notices")).to_contain_text("The package is inactive")
    page.goto(f"{service.url}/app/packages/?q=sloe")
    page.get_by_label("Tick Sloe gin 0.0.0").check()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("#notices")).to_contain_text("1 package is deleted")


@pytest.mark.campaign  # in the client of the tests: tests/server/web
def test_an_application_is_tried_out_without_an_environment(service: Any, page_for: Any) -> None:
    page = page_for("ann")
    service.api("ann", "POST", "/v2/packages", raw=packed(ROOT / "examples/deploy/com.example.vetro.Database"))
    before = service.api("ann", "GET", "/v2/environments")
    page.goto(f"{service.url}/app/catalog/com.example.vetro.Database/")
    page.get_by_role("button", name="Try it Small Database").click()
    expect(page.locator("[data-tried]")).to_contain_text("no environment is made")
    page.get_by_role("textbox", name="Token", exact=True).fill("token-of-a-trial")
    page.get_by_role("textbox", name="Token a second time", exact=True).fill("token-of-a-trial")
    page.get_by_role("button", name="Next", exact=True).last.click()
    page.get_by_label("Image").select_option(label="Debian 12")
    expect(page.locator("#kept")).to_have_text("Kept while you try")
    assert examined(page, "try-form") == []
    page.get_by_role("button", name="What would it do?").click()
    plan = page.locator("#form-plan")
    expect(plan).to_contain_text("1 server", timeout=180_000)
    expect(plan).to_contain_text("m1.medium")
    expect(plan.get_by_role("heading", name="Where it would answer")).to_be_visible()
    expect(plan).to_contain_text("http://")
    assert examined(page, "try-plan") == []
    assert "token-of-a-trial" not in page.content()
    page.get_by_role("button", name="Stop trying").click()
    expect(page.locator("#notices")).to_contain_text("thrown away")
    page.goto(f"{service.url}/app/forms/")
    expect(page.get_by_role("main")).not_to_contain_text("Small Database")
    assert [row["id"] for row in service.api("ann", "GET", "/v2/environments")["items"]] == [
        row["id"] for row in before["items"]
    ]


@pytest.mark.campaign
def test_an_upload_that_is_stopped_says_where_to_look(service: Any, page_for: Any) -> None:
    page = page_for("ann")
    page.goto(f"{service.url}/app/packages/import")
    held: list[Any] = []  # nobody answers these
    page.route("**/app/packages/import", lambda route: held.append(route))
    dropped(page, ("good.zip", archive("org.rowan.Jelly", Name="Rowan jelly")))
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("button", name="Import", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#report")).to_contain_text("The connection ended")
    expect(page.get_by_role("button", name="Import", exact=True)).to_be_enabled()
    assert len(held) == 1


def test_nothing_stands_above_nothing_matches(filled: dict[str, str], page_for: Any) -> None:
    page = page_for("ann")
    recent, tag = page.get_by_role("heading", name="Recently used"), page.locator(".chip", has_text="example")

    def counted() -> bool:
        page.goto("/app/catalog/")
        return bool(tag.count())

    until(counted)  # tags are counted twice a minute, and other tests may have asked before there were any
    expect(recent).to_be_visible()
    expect(tag).to_be_visible()
    search = page.get_by_label("Search applications")
    search.fill("zzzz")
    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
    expect(recent).to_be_hidden()
    expect(tag).to_be_hidden()
    # What narrows the search stays, so that it can be taken away.
    page.goto("/app/catalog/?q=zzzz&tag=example")
    expect(tag).to_be_visible()
    expect(page.get_by_text("Installed here", exact=True)).to_be_hidden()
