"""An upgrade of a real server in a browser: one new question; then a version that is bad takes itself back.

Needs root and systemd-nspawn. It ends with no trace of its own on this machine.
"""

from __future__ import annotations

import io
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.acceptance.test_health_real import Place
from tests.browser.conftest import Running
from tests.browser.kit_real import running_on_servers
from tests.catalog.life import within

pytestmark = pytest.mark.campaign

MANIFEST = """\
Format: 1.4
Type: Application
FullName: test.shop
Version: {version}
Name: Shop
Require: {{io.vetro: 1}}
Classes: {{test.Shop: Shop.yaml}}
"""
#: It counts its visitors on its disk. ``properties`` and what each deployment runs differ by version.
SHOP = """\
Namespaces:
  {{=: test, std: io.murano, res: io.murano.resources, conf: io.murano.configuration, l: io.vetro.lifecycle}}
Name: Shop
Extends: std:Application
Meta:
  - l:Health: {{name: page, kind: http, port: port, path: /health, expect: [200], every: 10, grace: 20}}
  - l:Update: {{settle: 3}}
Properties:
  instance: {{Contract: $.class(res:LinuxMuranoInstance).notNull()}}
  port: {{Contract: $.int().notNull(), Default: 8080}}
  {properties}
Methods:
  deploy:
    Body:
      - $.instance.deploy()
      - conf:Linux.putFile($.instance.agent, $this.program(), '/srv/shop.py', 'Write the program')
      - conf:Linux.runCommand($.instance.agent, {command}, 'Open')
  program:
    Body:
      Return: |
        import http.server, pathlib
        count = pathlib.Path('/srv/visitors')
        class Shop(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path == '/visit':
                    count.write_text(str(int(count.read_text() if count.exists() else 0) + 1))
                mood = pathlib.Path('/srv/mood')
                said = (mood.read_text().strip() if mood.exists() else 'plain') + ' ' + (
                    count.read_text() if count.exists() else '0')
                self.send_response(200)
                self.end_headers()
                self.wfile.write(said.encode())
            def log_message(self, *args):
                pass
        http.server.HTTPServer(('', 8080), Shop).serve_forever()
"""
UNIT = (
    "printf '[Service]\\nExecStart=/usr/bin/python3 /srv/shop.py\\n[Install]\\nWantedBy=multi-user.target\\n'"
    " > /etc/systemd/system/shop.service && systemctl enable --now shop"
)
VERSIONS = {
    "1.0.0": ("", f'"{UNIT}"'),
    "2.0.0": ("mood: {Contract: $.string().notNull()}", "format('echo {0} > /srv/mood', $.mood)"),
    # It forgets its visitors, and does not open again.
    "3.0.0": ("mood: {Contract: $.string().notNull()}", "'rm /srv/visitors; systemctl disable --now shop'"),
}


def archive(version: str) -> bytes:
    properties, command = VERSIONS[version]
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("manifest.yaml", MANIFEST.format(version=version))
        file.writestr("Classes/Shop.yaml", SHOP.format(properties=properties, command=command))
    return data.getvalue()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service whose cloud makes servers of this machine."""
    with running_on_servers(tmp_path_factory.mktemp("real")) as made:
        yield made


class Clicks:
    """Counts what somebody presses."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.count = 0

    def press(self, role: str, name: str) -> None:
        self.page.get_by_role(role, name=name).first.click()
        self.count += 1


@pytest.mark.timeout(600)
def test_one_new_question_and_a_bad_version_that_takes_itself_back(service: Running, page_for: Any) -> None:
    place = Place.__new__(Place)
    place.service, place.folder, place.token = service.service, service.service.folder / "data", service.token("root")

    def publish(version: str) -> None:
        service.api("root", "POST", "/v2/packages", raw=archive(version))

    publish("1.0.0")
    id = place.ask("POST", "/environments", {"name": "market"})["id"]
    session = place.ask("POST", f"/environments/{id}/sessions")["id"]
    server = {"?": {"id": "s" * 32, "type": "io.murano.resources.LinuxMuranoInstance"}, "name": "front"}
    server |= {"flavor": "m1.small", "image": "debian-12-murano"}
    shop = {"?": {"id": "a" * 32, "type": "test.Shop", "name": "shop"}, "instance": server}
    model = place.ask("GET", f"/sessions/{session}/model")
    place.ask("PUT", f"/sessions/{session}/model", {**model, "services": [shop]})
    place.done(place.ask("POST", f"/sessions/{session}/deploy"))

    def address() -> str:
        now = place.ask("POST", f"/environments/{id}/sessions")["id"]
        (found,) = place.ask("GET", f"/sessions/{now}/model")["services"]
        place.ask("DELETE", f"/sessions/{now}")
        return str(found["instance"]["ipAddresses"][0])

    here = address()

    def visit(path: str = "/visit") -> str:
        with urllib.request.urlopen(f"http://{here}:8080{path}", timeout=10) as answer:
            return str(answer.read().decode())

    assert [visit() for _ in range(3)][-1] == "plain 3"
    page = page_for("root")
    page.on("dialog", lambda dialog: dialog.accept())

    # Version 2: the badge, one answer, and a button.
    publish("2.0.0")
    page.goto(f"/app/environments/{id}/")
    began, clicks = time.monotonic(), Clicks(page)
    clicks.press("link", "Upgrade to 2.0.0")
    expect(page.locator(f"#f-{'a' * 32}-mood-i")).to_be_focused()
    page.keyboard.type("merry")
    clicks.press("button", "Upgrade now")
    page.wait_for_url("**/updates/*")
    steps = page.locator("#live h2 + .state")
    expect(steps).to_have_text("done", timeout=120_000)
    took = time.monotonic() - began
    print(f"shop 1 -> 2: {clicks.count} clicks and one answer, {took:.1f} s")
    assert clicks.count <= 3 and took <= within(60)
    assert visit("/health") == "merry 3" and visit() == "merry 4"

    # Version 3 is bad: nobody does anything, and it is gone.
    publish("3.0.0")
    page.goto(f"/app/environments/{id}/")
    began, clicks = time.monotonic(), Clicks(page)
    clicks.press("link", "Upgrade to 3.0.0")
    clicks.press("button", "Upgrade now")
    page.wait_for_url("**/updates/*")
    expect(steps).to_contain_text("taken back", timeout=240_000)
    print(f"shop 2 -> 3 and back: {clicks.count} clicks, {time.monotonic() - began:.1f} s")
    expect(page.locator("#live [role=status]")).to_contain_text("application 'shop' is")
    deadline = time.monotonic() + 60
    while True:  # its server starts
        try:
            said = visit("/health")
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    assert said == "merry 4" and address() == here
    page.goto(f"/app/environments/{id}/")
    expect(page.get_by_role("link", name="Upgrade to 3.0.0").first).to_be_visible()
