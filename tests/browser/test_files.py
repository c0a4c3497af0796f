"""A file as an argument of an action, in a real browser: in parts, over a connection that is lost, and as it was."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.kit import examined
from tests.browser.test_wizard import street
from tests.server.forms.conftest import archive
from tests.server.web.test_wizard_files import NEEDS, SAFE
from tests.support.waiting import until


@pytest.fixture(scope="module")
def deployed(service: Any) -> tuple[str, str]:
    """An environment with an application, and the address of the form of its action `keep`."""
    # Without the class that the shop of other tests has, too: one project has a class in one package.
    manifest = NEEDS.replace("1.0.0", "1.2.0").replace("test.Shop", "test.Safe").replace("  test.Host: Host.yaml\n", "")
    service.api(
        "eve", "POST", "/v2/packages", raw=archive(manifest=manifest, shop=SAFE.replace("Name: Shop", "Name: Safe"))
    )
    environment = street(service, "files")
    session = service.api("eve", "POST", f"/v2/environments/{environment}/sessions")["id"]
    safe = {"?": {"type": "test.Safe", "id": f"{environment}-safe", "name": "Safe"}, "name": "Corner"}
    service.api("eve", "POST", f"/v2/sessions/{session}/components", safe)
    task = service.api("eve", "POST", f"/v2/sessions/{session}/deploy")["id"]
    until(lambda: service.api("eve", "GET", f"/v2/tasks/{task}")["state"] in ("done", "failed"))
    return environment, f"{service.url}/app/environments/{environment}/actions/{environment}-safe_keep"


def test_a_file_comes_in_parts_and_the_action_gets_it_as_it_was(
    service: Any, page_for: Any, deployed: tuple[str, str], tmp_path: Path
) -> None:
    _, address = deployed
    content = random.Random(52).randbytes((9 << 20) + 77)
    (tmp_path / "backup.tar").write_bytes(content)
    page = page_for("eve", cut=True)
    page.goto(address)
    field, run = page.locator("#f-file-i"), page.get_by_role("button", name="Run")
    run.click()
    expect(page.locator("#f-file-error")).to_have_text("Choose a file.")
    expect(field).to_be_focused()
    assert not examined(page, "file-missing")

    # The second part does not get through: once by itself, then until somebody says so.
    parts: list[str] = []
    lost = {"left": 4}

    def route(route: Any) -> None:
        offset = route.request.url.rpartition("=")[2]
        parts.append(offset)
        if offset == str(4 << 20) and lost["left"]:
            lost["left"] -= 1
            route.abort()
        else:
            route.continue_()

    page.route("**/v2/environments/*/files/*", route)
    field.set_input_files(tmp_path / "backup.tar")
    status = page.locator("#f-file-status")
    expect(status).to_contain_text("Sending backup.tar, 9.0\u00a0MB…")
    expect(page.get_by_role("progressbar", name="File: how much has arrived")).to_have_js_property("value", 4 << 20)
    run.click()
    expect(status).to_contain_text("What you pressed is done once it has arrived.")
    expect(page.locator("#f-file-error")).to_have_text("The connection was lost after 4.0\u00a0MB of 9.0\u00a0MB.")
    expect(page.get_by_role("progressbar")).to_be_hidden()
    assert not examined(page, "file-lost")
    page.get_by_role("button", name="Try again File").click()
    run.click()
    page.wait_for_url("**/app/results/*/")
    expect(page.locator("#result")).to_contain_text(hashlib.sha256(content).hexdigest())
    expect(page.locator("#result")).to_contain_text("backup.tar")
    assert parts == ["0", *[str(4 << 20)] * 5, str(8 << 20)]


@pytest.mark.campaign
def test_what_was_given_is_kept_taken_away_and_given_anew(
    service: Any, page_for: Any, deployed: tuple[str, str], tmp_path: Path
) -> None:
    page = page_for("eve")
    page.goto(deployed[1])
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(b"" if name == "b.txt" else b"x" * 2048)
    field, status = page.locator("#f-file-i"), page.locator("#f-file-status")
    field.set_input_files(tmp_path / "a.txt")
    expect(status).to_have_text("Given: a.txt, 2.0\u00a0KB")
    expect(page.locator("#kept")).to_have_text("Saved")
    assert not examined(page, "file-given")
    page.reload()
    expect(status).to_have_text("Given: a.txt, 2.0\u00a0KB")
    remove = page.get_by_role("button", name="Remove File")
    remove.focus()
    page.keyboard.press("Enter")
    expect(status).to_have_text("")
    expect(field).to_be_focused()
    expect(remove).to_be_hidden()
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#f-file-error")).to_have_text("Choose a file.")
    # What is too large is said before anything is sent.
    page.evaluate("document.querySelector('#f-file-i').dataset.most = '1024'")
    field.set_input_files(tmp_path / "a.txt")
    expect(page.locator("#f-file-error")).to_contain_text("The file has 2.0\u00a0KB.")
    # As after signing in again in another tab: the page has a token that counts no more.
    page.context.add_cookies([{"name": "vetro_csrf", "value": "a1" * 16, "url": service.url}])
    field.set_input_files(tmp_path / "b.txt")
    expect(status).to_have_text("Given: b.txt, 0.0\u00a0KB")
    page.get_by_role("button", name="Run").click()
    page.wait_for_url("**/app/results/*/")
    expect(page.locator("#result")).to_contain_text(hashlib.sha256(b"").hexdigest())


@pytest.mark.campaign
def test_without_scripts_it_says_that_it_needs_them(service: Any, page_for: Any, deployed: tuple[str, str]) -> None:
    page = page_for("eve", java_script_enabled=False, locale="en-GB")
    page.goto(deployed[1])
    expect(page.get_by_text("Giving a file needs JavaScript")).to_be_visible()
    expect(page.locator("#f-file-i")).to_be_hidden()
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#f-file-error")).to_have_text("Choose a file.")
