"""Makes pictures of the catalog's applications on real servers: ``script/pictures --catalog [NAME…]``.

A service of its own deploys each from its form, through the pages; nothing is left of it but pictures. They go into
the packages: ``catalog/NAME/VERSION/screenshots/``, WebP, 1280 pixels wide. Pages show them by name.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings
from playwright.sync_api import expect, sync_playwright

from tests.browser.conftest import Running, chromium_path, new_context
from tests.browser.kit import ROOT, painted
from tests.browser.kit_applications import ANSWERS, LONG, PASSWORD, Form, await_end, begin, publish, remove, review
from tests.browser.kit_real import running_on_servers
from tests.support.servers import real_servers, warm_images
from vetro.packages.bundle import applications

#: Bytes of a picture at most.
MOST = 150 * 1024
_SIZE = {"width": 1280, "height": 860}
#: Which applications are deployed into one environment, each after those before it.
_TOGETHER: tuple[tuple[str, ...], ...] = (
    ("WordPress",),
    ("Redis", "Monitoring"),
    ("StaticSite", "HAProxy"),
    ("MariaDB",),
    ("PostgreSQL",),
    ("RabbitMQ",),
    ("Memcached",),
)
#: What the form of an application can make, too.
_NEEDED = {"WordPress": ("MariaDB", "HAProxy")}
#: Those that show something in a browser themselves: path below their address, and what is to be seen there.
_SITES = {
    "WordPress": ("", "Notes on engines"),
    "StaticSite": ("", "Corner shop"),
    "Monitoring": ("graph?g0.expr=up&g0.tab=1", 'job="monitoring"'),
}
#: Chromium makes pictures PNG; on an empty page it makes them smaller.
_WEBP = """async (data) => {
  const picture = await createImageBitmap(await (await fetch("data:image/png;base64," + data)).blob());
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  canvas.getContext("2d").drawImage(picture, 0, 0);
  const made = new Uint8Array(await (await canvas.convertToBlob({type: "image/webp", quality: 0.82})).arrayBuffer());
  let text = "";
  for (let at = 0; at < made.length; at += 32768) text += String.fromCharCode(...made.subarray(at, at + 32768));
  return btoa(text);
}"""


def webp(blank: Any, page: Any) -> bytes:
    """How a page looks, as WebP, which is made on an empty page."""
    painted(page)
    shot = page.screenshot(animations="disabled")
    return base64.b64decode(blank.evaluate(_WEBP, base64.b64encode(shot).decode()))


class Studio:
    """A browser in which somebody is signed in, and where its pictures go."""

    def __init__(self, browser: Any, service: Running) -> None:
        look = {"viewport": _SIZE, "color_scheme": "light", "reduced_motion": "reduce"}
        self.context = new_context(browser, service, "root", **look)
        self.context.set_default_timeout(120_000)
        self.page = self.context.new_page()
        self._blank = browser.new_context().new_page()
        #: What is too large.
        self.wrong: list[str] = []

    def keep(self, page: Any, name: str, title: str) -> None:
        """Keeps how a page looks as a picture of an application; refuses one with a password in it."""
        assert PASSWORD not in page.locator("body").inner_text()
        data = webp(self._blank, page)
        path = applications()[name][-1] / "screenshots" / f"{title}.webp"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        print(f"{path.relative_to(ROOT)}: {len(data) // 1024} KiB", flush=True)
        if len(data) > MOST:
            self.wrong.append(f"{path.relative_to(ROOT)} has more than {MOST} bytes")


def main(names: Sequence[str]) -> int:
    """Takes those of the applications named, of all without; 1 if one of them is too large or there is no such one."""
    unknown = sorted({*names} - {*ANSWERS})
    if unknown:
        print(f"pictures: there is no application '{unknown[0]}', only {', '.join(sorted(ANSWERS))}", file=sys.stderr)
        return 1
    wanted = {*names} or {*ANSWERS}
    settings.configure()  # for the form that uploads packages
    with _studio(wanted) as (studio, ids):
        for group in _TOGETHER:
            if wanted & {*group}:
                _deploy(studio, group, wanted, ids)
    for line in studio.wrong:
        print(f"pictures: {line}", file=sys.stderr)
    return 1 if studio.wrong else 0


@contextmanager
def _studio(wanted: set[str]) -> Iterator[tuple[Studio, dict[str, str]]]:
    """A service with real servers and the packages; their ids."""
    real_servers()
    groups = [name for group in _TOGETHER if wanted & {*group} for name in group]
    needed = dict.fromkeys(one for name in groups for one in (*_NEEDED.get(name, ()), name))
    images = {"VETRO_CLOUD__DRIVER": "nspawn", "VETRO_IMAGES": str(warm_images())}
    with (
        tempfile.TemporaryDirectory(prefix="vetro-pictures-") as folder,
        running_on_servers(Path(folder), **images) as service,
        sync_playwright() as playwright,
    ):
        expect.set_options(timeout=120_000)
        ids = publish(service, *needed)
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=flags)
        try:
            yield Studio(browser, service), ids
        finally:
            browser.close()


def _deploy(studio: Studio, group: Sequence[str], wanted: set[str], ids: dict[str, str]) -> None:
    """Deploys what belongs together, takes the pictures that are wanted, and removes all of it."""
    page, (first, *others) = studio.page, group
    form = begin(page, first)
    ANSWERS[first](form)
    if first in wanted:
        _keep_form(studio, first)
    review(page)
    page.get_by_role("button", name="Deploy", exact=True).last.click()
    page.wait_for_url("**/app/environments/*/tasks/*/")
    environment = str(page.url).partition("tasks/")[0]
    try:
        await_end(page)
        near = _keep_rest(studio, environment, first, first in wanted)
        for name in others:
            page.goto(f"{environment}add/{ids[name]}")
            page.wait_for_url("**/app/forms/*/1")
            ANSWERS[name](Form(page, near))
            if name in wanted:
                _keep_form(studio, name)
            review(page)
            page.get_by_role("button", name="Add to the draft").click()
            expect(page.locator("#notices")).to_contain_text("is in your draft")
            page.get_by_role("button", name="Deploy", exact=True).first.click()
            page.wait_for_url("**/app/environments/*/tasks/*/")
            await_end(page)
            _keep_rest(studio, environment, name, name in wanted)
    finally:
        remove(page, environment)


def _keep_form(studio: Studio, name: str) -> None:
    """The form with its presets, filled in."""
    studio.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    studio.keep(studio.page, name, "1-form")


def _keep_rest(studio: Studio, environment: str, name: str, wanted: bool) -> str:
    """The environment's page, with health and addresses, and the actions of the application unfolded; and what the
    application itself shows in a browser. Gives the first address.
    """
    page = studio.page
    page.goto(environment)
    folder = applications()[name][-1]
    called = yaml.safe_load((folder / "manifest.yaml").read_text("utf-8"))["Name"]
    component = page.locator("article.component").filter(has_text=f"{called} {folder.name}")
    expect(component).to_be_visible()
    address = str(component.locator("[data-copy]").first.get_attribute("data-copy"))
    if not wanted:
        return address
    for one in page.locator("article.component").all():  # of those beside it, too
        expect(one.locator("[data-health=running]")).to_be_visible(timeout=LONG)
    component.get_by_role("button", name="Actions").click()
    studio.keep(page, name, "2-environment")
    if name not in _SITES:
        return address
    login = {"username": "admin", "password": PASSWORD} if name == "Monitoring" else None
    context = studio.context.browser.new_context(viewport=_SIZE, http_credentials=login, reduced_motion="reduce")
    try:
        path, text = _SITES[name]
        site = context.new_page()
        site.set_default_timeout(LONG)
        site.goto(f"{address.rstrip('/')}/{path}")
        expect(site.get_by_text(text).first).to_be_visible()
        studio.keep(site, name, "3-in-the-browser")
    finally:
        context.close()
    return address
