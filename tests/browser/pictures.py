"""Makes docs/pictures/*.webp: applications of the catalog on real servers, with the people of the tests in a browser.

``script/pictures`` runs it. With ``--catalog [NAME…]`` it makes those of the applications themselves
(`tests.browser.catalog_pictures`).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from playwright.sync_api import expect, sync_playwright

from tests.browser import catalog_pictures
from tests.browser.conftest import Running, chromium_path, new_context
from tests.browser.kit import ROOT
from tests.browser.kit_applications import ANSWERS, LONG, await_end, begin, publish, remove, review
from tests.browser.kit_real import running_on_servers
from tests.support.servers import real_servers, warm_images
from vetro.packages.bundle import applications

FOLDER = ROOT / "docs" / "pictures"
#: They belong to the repository: no larger than this (bytes).
MOST = 150 * 1024
_WIDE = {"viewport": {"width": 1280, "height": 860}, "color_scheme": "light", "reduced_motion": "reduce"}
_PHONE = {"viewport": {"width": 390, "height": 780}, "color_scheme": "dark", "reduced_motion": "reduce"}


def main() -> int:
    """Takes them all; 1 if one of them is too large."""
    chromium = chromium_path()
    if chromium is None:
        print("pictures: Chromium is missing. On Debian, as root: apt-get install chromium", file=sys.stderr)
        return 1
    if sys.argv[1:2] == ["--catalog"]:
        return catalog_pictures.main(sys.argv[2:])
    real_servers()
    settings.configure()  # for the form that uploads packages
    FOLDER.mkdir(parents=True, exist_ok=True)
    images = {"VETRO_CLOUD__DRIVER": "nspawn", "VETRO_IMAGES": str(warm_images())}
    with (
        tempfile.TemporaryDirectory(prefix="vetro-pictures-") as name,
        running_on_servers(Path(name), **images) as service,
        sync_playwright() as playwright,
    ):
        expect.set_options(timeout=120_000)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        try:
            _take(browser, service)
        finally:
            browser.close()
    large = [path.name for path in sorted(FOLDER.glob("*.webp")) if path.stat().st_size > MOST]
    for name in large:
        print(f"pictures: {name} has more than {MOST} bytes", file=sys.stderr)
    return 1 if large else 0


def _take(browser: Any, service: Running) -> None:
    """A cache while it is deployed and then, a site, and the pages that lead there."""
    publish(service, *applications(), person="ann")
    page, small = (new_context(browser, service, "ann", **look).new_page() for look in (_WIDE, _PHONE))
    blank = browser.new_context().new_page()

    def keep(name: str, page: Any = page) -> None:
        page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
        (FOLDER / f"{name}.webp").write_bytes(catalog_pictures.webp(blank, page))

    ANSWERS["PostgreSQL"](begin(page, "PostgreSQL"))
    keep("form")
    cache = _deploy(page, "Redis")
    expect(page.locator("#log")).to_contain_text("Installing Redis", timeout=LONG)
    keep("deployment")
    await_end(page)
    site = _deploy(page, "StaticSite")
    await_end(page)
    small.goto(site)
    expect(small.locator("[data-health=running]").first).to_be_visible(timeout=LONG)
    keep("phone", small)
    page.goto(cache)
    expect(page.locator("[data-health=running]").first).to_be_visible(timeout=LONG)
    page.goto("/app/")
    expect(page.locator("[data-health=running]")).to_have_count(2, timeout=LONG)
    expect(page.get_by_text("Looking for addresses")).to_have_count(0)
    keep("home")
    page.goto("/app/catalog/")
    expect(page.locator(".tile").first).to_be_visible()
    keep("catalog")
    page.goto("/app/catalog/io.vetro.catalog.PostgreSQL/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    keep("application")
    for environment in (cache, site):
        remove(page, environment)


def _deploy(page: Any, application: str) -> str:
    """Fills in its form and deploys it into an environment of its own, whose address this is."""
    ANSWERS[application](begin(page, application))
    review(page)
    page.get_by_role("button", name="Deploy", exact=True).last.click()
    page.wait_for_url("**/app/environments/*/tasks/*/")
    return str(page.url).partition("tasks/")[0]


if __name__ == "__main__":
    sys.exit(main())
