"""What tests in a browser look at on every page: axe, the width, pictures, complaints of the browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.support.fuzzing import EVERYTHING

ROOT = Path(__file__).parents[2]
#: Pictures of pages, for people to look at; never committed.
PICTURES = ROOT / "build" / "screenshots"
WIDE, PHONE = (1440, 900), (390, 844)
_AXE = ROOT / "src" / "vetro" / "server" / "web" / "static" / "testing" / "axe.min.js"
#: What a browser says of answers that a test asked for: refused forms, a network that is cut.
_WANTED = re.compile(
    r"status of (400|401|403|409|413|422|429)\b|net::ERR_(INTERNET_DISCONNECTED|ABORTED|FAILED|NETWORK_CHANGED)"
)
#: What htmx says of a request that found no network; with any answer it says something else.
_UNSENT = re.compile(r"htmx:(afterRequest|sendError)\b")
_WIDER = """() => {
  const limit = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= limit) return [];
  const found = [...document.querySelectorAll("body *")]
    .filter((element) => element.getBoundingClientRect().right > limit + 1)
    .filter((element) => getComputedStyle(element).visibility !== "hidden")
    .map((element) => element.outerHTML.slice(0, 120)).slice(0, 5);
  return found.length ? found : [`something of ${document.documentElement.scrollWidth} pixels`];
}"""


def violations(page: Any, *rules: str) -> list[str]:
    """What axe has to say about the page as it is, one line an element; ``rules``: only these."""
    if not page.evaluate("() => Boolean(window.axe)"):  # a megabyte, once a page
        page.evaluate(_AXE.read_text("utf-8") + "\n;0")
    only = {"runOnly": list(rules)} if rules else {}
    found = page.evaluate(f"axe.run(document, {json.dumps({**only, 'resultTypes': ['violations']})})")
    return [
        f"{each['id']}: {each['help']}: {node['html'][:160]} ({node['failureSummary'].splitlines()[-1].strip()})"
        for each in found["violations"]
        for node in each["nodes"]
    ]


def wider_than_the_window(page: Any) -> list[str]:
    """Elements that make the page scroll sideways."""
    found: list[str] = page.evaluate(_WIDER)
    return found


def painted(page: Any) -> None:
    """Waits until what a page shows is drawn: the canvas of a picture and fading colours are done after two frames."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def picture(page: Any, name: str) -> None:
    """Keeps how the page looks, from its top to its end."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(PICTURES / f"{name}.png"), full_page=True, animations="disabled")


def examined(page: Any, name: str) -> list[str]:
    """Everything above, at both widths, light and dark; what is wrong. The page stays as it was, wide and light.

    Pictures, which people look at and no test does, are made with VETRO_TEST_ALL=1: half of the time goes there.
    By default axe looks at one of the widths only, in turns by name, and at dark colours on every third.
    """
    wrong: list[str] = []
    for width, height in (WIDE, PHONE):
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            painted(page)
            if EVERYTHING:
                picture(page, f"{name}-{width}-{scheme}")
            # Both schemes differ in colours only, and colours do not depend on the width.
            if scheme == "light" and (EVERYTHING or width == (WIDE, PHONE)[len(name) % 2][0]):
                wrong += [f"{width}: {line}" for line in violations(page)]
            elif scheme == "dark" and width == WIDE[0] and (EVERYTHING or len(name) % 3 == 0):
                wrong += [f"dark: {line}" for line in violations(page, "color-contrast")]
        wrong += [f"{width}: scrolls sideways: {html}" for html in wider_than_the_window(page)]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    return wrong


class Complaints:
    """What the browser complains about on pages: errors of scripts, violations of the security policy, lost files."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def watch(self, context: Any, missing: bool = False, cut: bool = False) -> None:
        """Listens to all pages of a context; ``missing``: some are wanted that are not there; ``cut``: requests may
        fail, because the test cuts the network.
        """
        context.on("weberror", lambda error: self.said.append(f"error: {error.error}"))
        context.on("console", lambda message: self._console(message, missing, cut))

    def _console(self, message: Any, missing: bool, cut: bool) -> None:
        wanted = _WANTED.search(message.text) or (missing and "status of 404" in message.text)
        unsent = cut and _UNSENT.match(message.text)
        if message.type in ("error", "warning") and not (wanted or unsent):
            self.said.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")
