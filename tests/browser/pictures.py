"""Makes docs/pictures/*.png, with the people of the tests in a browser and a service of its own: script/pictures.

``script/pictures --catalog [NAME…]`` makes those of the catalog's applications: `tests.browser.catalog_pictures`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import expect, sync_playwright

from tests.browser import catalog_pictures
from tests.browser.conftest import chromium_path
from tests.browser.kit import ROOT, painted
from tests.server.servekit import Service

FOLDER = ROOT / "docs" / "pictures"
#: They belong to the repository: no larger than this (bytes).
MOST = 150 * 1024
#: The recorder's shop takes its time, so that there is a deployment to look at.
_ANSWERS = "plans:\n- {plan: Install shop, delay: 20}\n"
_LONG = 120_000


def main() -> int:
    """Takes them all; 1 if one of them is too large."""
    chromium = chromium_path()
    if chromium is None:
        print("pictures: Chromium is missing. On Debian, as root: apt-get install chromium", file=sys.stderr)
        return 1
    if sys.argv[1:2] == ["--catalog"]:
        return catalog_pictures.main(sys.argv[2:])
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="vetro-pictures-") as name:
        folder = Path(name)
        (folder / "answers.yaml").write_text(_ANSWERS, "utf-8")
        service = Service(folder, VETRO_CLOUD__DRIVER="record", VETRO_CLOUD__SCRIPT=str(folder / "answers.yaml"))
        try:
            url = service.await_ready()["url"]
            people = subprocess.run(
                [sys.executable, "-m", "tests.browser.kit_people"],
                env=service.environment, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=120,
            )  # fmt: skip
            session = json.loads(people.stdout)["ann"]["session"]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
                try:
                    _take(browser, url, session)
                finally:
                    browser.close()
        finally:
            service.end()
    large = [path.name for path in sorted(FOLDER.glob("*.png")) if path.stat().st_size > MOST]
    for name in large:
        print(f"pictures: {name} has more than {MOST} bytes", file=sys.stderr)
    return 1 if large else 0


def _take(browser: Any, url: str, session: str) -> None:
    cookie = {"name": "vetro_session", "value": session, "url": url, "httpOnly": True}
    given = {"base_url": url, "locale": "en-GB", "timezone_id": "UTC", "reduced_motion": "reduce"}
    wide = browser.new_context(viewport={"width": 1280, "height": 860}, color_scheme="light", **given)
    phone = browser.new_context(
        viewport={"width": 390, "height": 780}, device_scale_factor=1.5, color_scheme="dark", **given
    )
    for context in (wide, phone):
        context.set_default_timeout(_LONG)
        context.add_cookies([cookie])
    expect.set_options(timeout=_LONG)
    page = wide.new_page()
    page.goto("/app/catalog/")
    page.get_by_role("button", name="Import the examples").click()
    expect(page.locator("#notices")).to_contain_text("imported")
    page.goto("/app/catalog/")
    expect(page.locator(".tile").first).to_be_visible()
    _keep(page, "catalog")
    _fill_in(page)
    page.get_by_label("Application Name").fill("Corner-shop")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Save and deploy").click()
    expect(page.locator("#log")).to_contain_text("Installing the shop")
    expect(page.locator("#live")).to_contain_text("Run Install shop on a server")
    _keep(page, "deployment")
    expect(page.locator("#live .page-head [data-state=done]")).to_be_visible()
    page.get_by_role("link", name="To the environment").click()
    small = phone.new_page()
    small.goto(page.url)
    expect(small.locator("article.component")).to_have_count(2)
    _keep(small, "phone")


def _fill_in(page: Any) -> None:
    """A shop with a database in the form; keeps how its first page looks."""
    page.goto("/app/catalog/com.example.vetro.WebShop/add")
    page.get_by_role("button", name="A new environment").click()
    page.get_by_label("Name").fill("Market square")
    page.get_by_role("button", name="Create and add the application").click()
    page.get_by_label("Name of the shop").fill("Corner shop")
    page.get_by_label("Greeting").fill("Good morning, neighbours!")
    page.get_by_role("button", name="New Small Database").click()
    for name in ("Token", "Confirm password"):
        page.get_by_role("textbox", name=name, exact=True).fill("only-for-the-picture")
    page.get_by_role("button", name="Next").click()
    page.get_by_label("Image").select_option(label="Debian 12")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Add and go back to the form").click()
    expect(page.get_by_label("Name of the shop")).to_have_value("Corner shop")
    _keep(page, "wizard")
    page.get_by_role("button", name="Next").click()
    page.get_by_label("Image").select_option(label="Debian 12")


def _keep(page: Any, name: str) -> None:
    page.evaluate("scrollTo(0, 0)")
    painted(page)
    page.screenshot(path=str(FOLDER / f"{name}.png"), animations="disabled")


if __name__ == "__main__":
    sys.exit(main())
