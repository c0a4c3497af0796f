"""Texts of packages and people on every page that shows them: they stay texts, and secrets are nowhere.

One project is filled with names that are HTML; then every link of the pages is followed.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
import yaml
from playwright.sync_api import expect

from tests.browser.kit_people import PEOPLE
from tests.server.catalog.archives import zipped
from tests.server.tasks import shop
from tests.support.fuzzing import EVERYTHING
from tests.support.waiting import until

pytestmark = pytest.mark.attack("pages", "texts of others")

#: What would show that some text became part of a page.
EVIL = "\"'><i data-pwned>x</i><script>pwned=1</script>"
_LINK = "javascript:globalThis.pwned=1"
#: Pictures in SVG are refused; this one begins as others do.
_NOT_QUITE_A_PICTURE = b"\x89PNG\r\n\x1a\n<svg xmlns='http://www.w3.org/2000/svg'><script>pwned=1</script></svg>"
CANARY = "canary-5b1f7e"
_STARTS = ("/app/catalog/", "/app/environments/", "/app/packages/", "/app/templates/", "/app/people/me")
#: Pages. By default those next to where the walk begins.
_MOST = 70 if EVERYTHING else 40
_LOOK = """() => ({
  pwned: "pwned" in globalThis || document.querySelector("[data-pwned]") !== null,
  runs: [...document.querySelectorAll("[href], [src], [action]")].map((one) => one.href || one.src || one.action)
    .filter((address) => /^\\s*(javascript|data:text|vbscript)/i.test(address)),
  shown: document.body.innerText.includes("data-pwned"),
  links: [...document.querySelectorAll('a[href^="/app/"], a[href^="?"]')].map((one) => one.pathname + one.search),
})"""


def evil_package() -> bytes:
    """A package that says evil things wherever it may say something."""
    address = {"Link": _LINK, "Text": EVIL}
    manifest = {
        **yaml.safe_load(shop.MANIFEST),
        "FullName": "test.evil",
        "Name": EVIL,
        "Description": f"# {EVIL}\n[x]({_LINK}) {EVIL}",
        "Author": EVIL,
        "Tags": ["<i data-pwned>"],
        "Classes": {"test.evil.Shop": "Shop.yaml"},
        "Supplier": {"Name": EVIL, "Summary": EVIL, "Description": EVIL, "CompanyUrl": address},
    }
    text = shop.SHOP.replace("=: test\n", "=: test.evil\n  f: io.murano.metadata.forms\n")
    text = text.replace(
        "password: {Contract: $.string(), Default: null}", "password: {Contract: $.string(), Meta: {f:Secret: {}}}"
    )
    return zipped(
        {
            "manifest.yaml": yaml.safe_dump(manifest),
            "Classes/Shop.yaml": text,
            "logo.png": _NOT_QUITE_A_PICTURE,
            "README.md": f"# {EVIL}\n\n[x]({_LINK}) <img src=x onerror=pwned=1>\n",
            "LICENSE": EVIL,
            "CHANGELOG.md": f"## 0.0.0\n{EVIL}",
        }
    )


@pytest.fixture(scope="module")
def wild(service: Any) -> str:
    """Id of an environment, deployed, whose every name is evil."""

    def api(*words: Any, **more: Any) -> Any:
        return service.api("mallory", *words, **more)

    api("POST", "/v2/packages", raw=evil_package())
    made = api("POST", "/v2/environments", {"name": EVIL, "description": EVIL})["id"]
    session = api("POST", f"/v2/environments/{made}/sessions")["id"]
    header = {"type": "test.evil.Shop", "id": f"{made}-0", "name": EVIL}
    model = {"?": header, "title": EVIL, "password": CANARY}
    api("POST", f"/v2/sessions/{session}/components", {**model, "warn": True})
    task = api("POST", f"/v2/sessions/{session}/deploy")["id"]
    until(lambda: api("GET", f"/v2/tasks/{task}")["state"] in ("done", "failed"))
    assert api("GET", f"/v2/tasks/{task}")["state"] == "done"
    session = api("POST", f"/v2/environments/{made}/sessions")["id"]
    other = {**model, "?": {**header, "id": f"{made}-1"}, "password": f"{CANARY}-of-the-draft"}
    api("POST", f"/v2/sessions/{session}/components", other)
    api("POST", "/v2/templates", {"name": EVIL, "description": EVIL, "services": [other]})
    api("POST", "/v2/tokens", {"name": EVIL})
    return str(made)


def walked(page: Any, starts: tuple[str, ...], secrets: list[str]) -> tuple[list[str], int]:
    """(what is wrong, how many pages showed evil texts as texts): every link followed, from these pages on."""
    wrong, shown = [], 0
    todo, came_from = deque(starts), dict.fromkeys(starts, "the start")
    for _ in range(_MOST):
        if not todo:
            break
        path = todo.popleft()
        answer = page.goto(path, wait_until="load")
        wrong += [f"{path}: {answer.status}, linked from {came_from[path]}"] if answer.status >= 400 else []
        found = page.evaluate(_LOOK)
        shown += found["shown"]
        if found["pwned"] or found["runs"]:
            wrong.append(f"{path}: became part of the page {found['runs']}")
        content = page.content()
        wrong += [f"{path}: shows a secret: {secret[:12]}…" for secret in secrets if secret in content]
        for link in found["links"]:
            # Files to be saved are no pages.
            if link not in came_from and not link.split("?")[0].endswith(
                ("/archive", "/export", "/log", "/report", "logo", ".json")
            ):
                came_from[link] = path
                todo.append(link)
    return wrong, shown


@pytest.mark.campaign
def test_nothing_that_people_or_packages_say_becomes_part_of_a_page(service: Any, wild: str, page_for: Any) -> None:
    page = page_for("mallory")
    starts = (f"/app/environments/{wild}/topology", f"/app/environments/{wild}/changes", *_STARTS)
    secrets = [CANARY, *(service.token(name) for name in PEOPLE), service.session("mallory")]
    wrong, shown = walked(page, starts, secrets)
    assert wrong == []
    assert shown > 15


def test_what_scripts_draw_stays_text(wild: str, page_for: Any) -> None:
    page = page_for("mallory")
    page.goto(f"/app/environments/{wild}/topology")
    expect(page.locator("#topology[data-drawn]")).to_be_visible()
    page.locator("#canvas").focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(page.locator("#chosen")).to_contain_text("data-pwned")
    assert not page.evaluate(_LOOK)["pwned"]


def test_pages_of_administrators_show_names_of_others_as_text(service: Any, page_for: Any) -> None:
    user = service.api("root", "POST", "/v2/admin/users", {"name": EVIL})["id"]
    project = service.api("root", "POST", "/v2/admin/projects", {"name": EVIL, "description": EVIL})["id"]
    service.api("root", "POST", "/v2/admin/memberships", {"user": user, "project": project, "role": "member"})
    page = page_for("root")
    paths = ("", f"users/{user}/", f"users/{user}/delete", "projects/", f"projects/{project}/", "audit?all=1", "new")
    wrong, shown = [], 0
    for path in paths:
        page.goto(f"/app/people/{path}")
        found = page.evaluate(_LOOK)
        wrong += [path] if found["pwned"] or found["runs"] else []
        shown += found["shown"]
    assert wrong == []
    assert shown >= 6


def test_another_site_cannot_put_pages_into_a_frame(service: Any, page_for: Any, chromium: Any) -> None:
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.set_content(f'<iframe src="{service.url}/app/login"></iframe>')
        frame = page.frame_locator("iframe")
        page.wait_for_load_state("load")
        expect(frame.get_by_role("heading", name="Sign in to Vetro")).to_have_count(0)
    finally:
        context.close()
