"""A terminal in a real server, in a browser: typed, shown, resized, ended, and gone with the process that served it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Running, new_context
from tests.browser.kit import examined
from tests.browser.kit_real import running_on_servers
from tests.server.tasks import shop
from tests.support.waiting import until

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(900)]
#: Seconds that anything may take: machines that do other things are slow. Waiting costs nothing where all is well.
PATIENCE = 180

HOUSE = """\
Name: Shop
Namespaces: {=: test, std: io.murano, res: io.murano.resources}
Extends: std:Application
Properties:
  instance: {Contract: $.class(res:Instance).notNull()}
Methods:
  deploy:
    Body: [$.instance.deploy()]
"""
INSTANCE = {
    "?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": "i-front"}, "name": "front",
    "image": "debian-12-murano", "flavor": "m1.small", "assignFloatingIp": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service whose cloud makes servers of this machine."""
    with running_on_servers(tmp_path_factory.mktemp("terminal")) as made:
        yield made


@pytest.fixture(scope="module")
def server(service: Running) -> str:
    """The address of an environment with a server."""
    api = partial(service.api, "ann")
    api("POST", "/v2/packages", raw=shop.archive({"Classes/Shop.yaml": HOUSE}))
    made = api("POST", "/v2/environments", {"name": "house"})["id"]
    session = api("POST", f"/v2/environments/{made}/sessions")["id"]
    component = {"?": {"type": "test.Shop", "id": "shop", "name": "Shop"}, "instance": INSTANCE}
    api("POST", f"/v2/sessions/{session}/components", component)
    task = api("POST", f"/v2/sessions/{session}/deploy")["id"]
    until(lambda: api("GET", f"/v2/tasks/{task}")["state"] in ("done", "failed"), PATIENCE)
    assert api("GET", f"/v2/tasks/{task}")["state"] == "done", api("GET", f"/v2/tasks/{task}")
    return f"/app/environments/{made}/servers"


def text_of(page: Any) -> str:
    found: str = page.locator(".xterm-rows").inner_text().replace("\u00a0", " ")
    return found


def typed(page: Any, text: str, expected: str) -> None:
    page.locator(".xterm-helper-textarea").press_sequentially(text + "\n")
    until(lambda: expected in text_of(page), PATIENCE)


def opened(page: Any, server: str, number: int) -> None:
    """A page with a terminal, whose shell sleeps so many seconds."""
    page.goto(server)
    page.get_by_role("link", name="Open a terminal").click()
    expect(page.locator("#terminal[data-state=open]")).to_be_visible()
    until(lambda: "#" in text_of(page), PATIENCE)
    typed(page, f"sh -c 'echo begun-$((1 + 1)); exec sleep {number}'", "begun-2")
    until(lambda: sleeping(str(number).encode()), PATIENCE)


def sockets(service: Running) -> list[Path]:
    return list((service.service.folder / "data" / "commands").glob("*.sock"))


def http_processes(service: Running) -> list[int]:
    """The processes that answer requests."""
    found, waiting = [], [service.service.process.pid]
    while waiting:
        pid = waiting.pop()
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            waiting += [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        except OSError:
            continue
        if b"vetro.server.http.server" in words:
            found.append(pid)
    return found


def test_a_terminal_is_used_and_ends(service: Running, server: str, page_for: Any) -> None:
    page = page_for("ann")
    page.goto(server)
    page.get_by_role("link", name="Open a terminal").click()
    expect(page.locator("#terminal[data-state=open]")).to_be_visible()
    until(lambda: "#" in text_of(page), PATIENCE)
    typed(page, "tty; id -un; echo $((40 + 2))", "42")
    assert "/dev/pts/" in text_of(page) and "root" in text_of(page)
    typed(
        page, "printf '\\033[31mred\\033[0m \\033[38;2;10;120;60mtrue\\033[0m <b>bold</b>\\n'", "red true <b>bold</b>"
    )
    assert page.locator(".xterm-rows b").count() == 0
    wide = page.evaluate("() => document.querySelector('.xterm-screen').clientWidth")
    assert examined(page, "terminal") == []
    page.set_viewport_size({"width": 700, "height": 700})
    until(lambda: page.evaluate("() => document.querySelector('.xterm-screen').clientWidth") < wide, PATIENCE)
    typed(page, "clear; [ $(stty size | cut -d' ' -f2) -lt 90 ] && echo small-$((1 + 1))", "small-2")
    typed(page, "exit 3", "exit")
    expect(page.locator("#terminal-state")).to_have_text("The shell has ended. (3)")
    page.get_by_role("button", name="Open again").click()
    expect(page.locator("#terminal[data-state=open]")).to_be_visible()
    until(lambda: "#" in text_of(page), PATIENCE)
    typed(page, "sh -c 'echo begun-$((1 + 1)); exec sleep 4444'", "begun-2")
    page.locator(".xterm-helper-textarea").press("Control+F6")
    expect(page.get_by_role("button", name="End")).to_be_focused()
    page.get_by_role("button", name="End").click()
    until(lambda: not sockets(service) and not sleeping(b"4444"), PATIENCE)


def test_others_find_none(service: Running, server: str, page_for: Any) -> None:
    """Neither the page nor what its script asks for, whatever they know of the environment and its server."""
    (front,) = service.api("ann", "GET", server.replace("/app/", "/v2/"))["items"]
    commands = f"{server.replace('/app/', '/v2/')}/{front['id']}/commands"
    for person, page_status, status in (("rita", 403, 403), ("eve", 404, 404), (None, 401, 401)):
        page = page_for(person, missing=True)
        shown = page.request.get(f"{server}/front/terminal", max_redirects=0)
        assert shown.status == page_status or (person is None and "/login" in shown.headers["location"]), person
        page.goto("/app/" if person else "/app/login")
        headers = page.evaluate("() => JSON.parse(document.body.getAttribute('hx-headers') || '{}')")
        assert person is None or headers, "with all that a page of theirs sends"
        asked = """([path, headers]) => fetch(path, {
          method: "POST", headers: {"Content-Type": "application/json", ...headers},
          body: JSON.stringify({command: ["sleep", "3333"], terminal: {columns: 80, rows: 24}}),
        }).then((answer) => answer.status)"""
        assert page.evaluate(asked, [commands, headers]) == status, person
    assert not sleeping(b"3333") and not sockets(service)
    audit = service.api("root", "GET", "/v2/audit?action=server.command")["items"]
    assert {row["user_name"] for row in audit} <= {"ann", "bob"}


def test_it_ends_with_the_session(service: Running, server: str, chromium: Any) -> None:
    """Signed out in another tab: the shell ends, says why, and nothing is opened again."""
    context = new_context(chromium, service, "bob")
    page, other = context.new_page(), context.new_page()
    opened(page, server, 5553)
    other.goto("/app/environments/")
    token = other.evaluate("() => JSON.parse(document.body.getAttribute('hx-headers'))")
    other.evaluate("(headers) => fetch('/app/logout', {method: 'POST', headers, redirect: 'manual'})", token)
    until(lambda: not sleeping(b"5553") and not sockets(service), PATIENCE)
    expect(page.locator("#terminal[data-state=ended]")).to_be_visible()
    assert page.locator("#terminal-state").inner_text() not in ("", "Open", "Opening…")
    page.get_by_role("button", name="Open again").click()
    expect(page.locator("#terminal[data-state=ended]")).to_be_visible()
    assert not sockets(service)
    page.goto(server)
    assert "/app/login" in page.url
    context.close()


def test_it_ends_with_the_page_and_with_the_process(service: Running, server: str, chromium: Any) -> None:
    context = new_context(chromium, service, "ann")  # the browser complains about what is killed
    page = context.new_page()
    opened(page, server, 5551)
    page.goto("/app/environments/")
    until(lambda: not sleeping(b"5551"), PATIENCE)
    opened(page, server, 5552)
    assert len(sockets(service)) == 1
    for pid in http_processes(service):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not sleeping(b"5552") and not sockets(service), PATIENCE)
    expect(page.locator("#terminal-state")).to_have_text("The connection is lost, and the shell has ended.")
    context.close()


def sleeping(number: bytes) -> bool:
    """Whether something on this machine, in a server for example, sleeps for so long."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes() == b"sleep\0" + number + b"\0":
                return True
        except OSError:
            continue
    return False
