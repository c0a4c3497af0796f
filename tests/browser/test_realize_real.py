"""A new administrator on a machine without an image makes servers real by two presses, on pages only.

Needs root and systemd-nspawn. The image is the one that all tests share: instead of mmdebstrap its archive is copied.
"""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.acceptance.test_health_real import Place
from tests.acceptance.test_power_real import running as servers_of
from tests.browser.conftest import Running
from tests.browser.kit import PHONE, WIDE, examined, violations, wider_than_the_window
from tests.browser.kit_real import running_on_servers
from tests.support.image_tool import becomes, image_tool
from tests.support.servers import real_servers
from vetro.clouds.images.recipe import DEFAULT

pytestmark = pytest.mark.campaign
#: Copies the archive that is there; for two seconds it only says what it does.
COPY = """#!/bin/sh
echo 'I: extracting archives...'; sleep 2
for last; do [ "${last##*.}" = tar ] && target=$last; done
cp {tar} "$target"
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service on a machine that has all but an image."""
    built = real_servers().get(DEFAULT)
    folder = tmp_path_factory.mktemp("real")
    with pytest.MonkeyPatch.context() as patch:
        becomes(image_tool(folder / "bin", patch), COPY.replace("{tar}", str(built.tar)))
        with running_on_servers(folder, VETRO_IMAGES=str(folder / "images")) as made:
            yield made


@pytest.fixture
def place(service: Running) -> Place:
    made = Place.__new__(Place)
    made.service, made.folder, made.token = service.service, service.service.folder / "data", service.token("root")
    return made


@pytest.mark.timeout(600)
def test_what_is_simulated_is_made_real_on_pages(place: Place, page_for: Any) -> None:
    page = page_for("root")
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto("/app/")
    # Before there is anything: what is simulated, what that means, and the way out, also on a phone.
    for width, height in (WIDE, PHONE):
        page.set_viewport_size({"width": width, "height": height})
        strip = page.locator("#simulated")
        expect(strip).to_contain_text("no server is started")
        expect(strip.get_by_role("link", name="Make servers real")).to_be_visible()
        page.get_by_role("link", name="Simulated").click()
        page.wait_for_url("**/app/environments/#simulated")
        assert not violations(page) and not wider_than_the_window(page)
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    assert examined(page, "nothing-is-real") == []
    place.upload()
    id = place.deploy()
    page.goto(f"/app/environments/{id}/")
    page.locator("[data-simulated]").get_by_role("link", name="Make this real").click()
    assert examined(page, "build-the-image") == []
    page.get_by_role("button", name="Build the image and make this real").click()
    expect(page.get_by_role("status")).to_contain_text("The image is being built.")
    # It goes on by itself: the image, the servers, the page of the task.
    page.wait_for_url(f"**/app/environments/{id}/tasks/*/", timeout=240_000)
    expect(page.locator("main")).to_contain_text("Done", timeout=240_000)
    expect(page.locator("[data-simulated]")).to_have_count(0)
    assert servers_of(place) == {f"{id} web": True}
    session = place.ask("POST", f"/environments/{id}/sessions")["id"]
    (talker,) = place.ask("GET", f"/sessions/{session}/model")["services"]
    with urllib.request.urlopen(f"http://{talker['instance']['ipAddresses'][0]}:8080/word", timeout=10) as answer:
        assert answer.read() == b"hello\n"

    for _ in range(10):  # whichever process of the service answers
        page.goto("/app/environments/")
        expect(page.locator("#simulated")).to_have_count(0)
    place.done(place.ask("DELETE", f"/environments/{id}"))
