"""What the pages cost a browser: bytes of a first visit, the picture of 1,000 objects, a wizard page of 300 fields.

    python -m benchmarks.pages_browser [--rounds 5] [--seconds 5] [--json] [--cpu]

Starts a service of its own and Debian's Chromium (without a screen: it draws in software). Times are those that the
browser tells (`performance.now`), so do this on a machine that does nothing else; ``--cpu`` judges processor time of
the page's main thread instead, of whole page loads, and of the mean frame. Exit status 1 when a goal of issue 6 is
missed.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.forms import FIELDS, definition

#: Objects of the picture.
OBJECTS = 1000
_ROOT = Path(__file__).parents[1]
_MANIFEST = """\
Format: MuranoPL/1.4
Type: Application
FullName: com.example.App
Version: 1.0.0
Name: Many fields
Description: A form of the benchmarks
Author: Vetro
Tags: []
Classes: {com.example.App: App.yaml}
UI: ui.yaml
"""
_CLASS = """\
Name: com.example.App
Extends: io.murano.Application
Properties:
  all: {Contract: {$.string().notNull(): $}}
"""
_TRANSFERRED = """() => ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
  .reduce((sum, entry) => sum + entry.transferSize, 0)"""
#: When the picture was drawn: noted by a script that runs before those of the page.
_NOTE = """new MutationObserver((changes, self) => {
  if (!document.querySelector("#topology[data-drawn]")) return;
  self.disconnect();
  window.drawn = performance.now();
}).observe(document, { subtree: true, attributes: true, childList: true });"""
_DRAWN = """() => window.drawn - performance.getEntriesByType("resource")
  .find((entry) => entry.name.endsWith("topology.json")).responseEnd"""
#: Pushes the picture to and fro, as a hand does, for so many seconds; times between two frames.
_PAN = """async (seconds) => {
  const graph = document.getElementById("canvas").graph, frames = [];
  graph.zoom({ level: 0.5, renderedPosition: { x: 400, y: 300 } });
  const end = performance.now() + seconds * 1000;
  let before = await new Promise(requestAnimationFrame);
  for (let turn = 0; performance.now() < end; turn += 1) {
    graph.panBy({ x: turn % 240 < 120 ? 6 : -6, y: turn % 120 < 60 ? 3 : -3 });
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - before);
    before = now;
  }
  return frames;
}"""
#: From the last byte of the page until it is read, its scripts have run, and it was painted.
_RENDERED = """() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => {
  const page = performance.getEntriesByType("navigation")[0];
  const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0;
  done(Math.max(page.domContentLoadedEventEnd, paint) - page.responseEnd);
})))"""
#: From a key until what follows from it is on the screen.
_REACTS = """(turn) => new Promise((done) => {
  const field = document.querySelector('#form input[name$=".f0"]');
  const began = performance.now();
  field.value = "hello" + turn;
  field.dispatchEvent(new InputEvent("input", { bubbles: true, data: "x" }));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
})"""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing and the most it may be."""

    name: str
    value: float
    goal: float
    unit: str
    #: Milliseconds of processor time that went into it; None where it is not about time.
    cpu: float | None = None

    def missed(self, by_cpu: bool = False) -> bool:
        """Whether the goal is missed."""
        return (self.cpu if by_cpu and self.cpu is not None else self.value) > self.goal

    def line(self, by_cpu: bool = False) -> str:
        """As the command prints it."""
        cpu = "" if self.cpu is None else f"cpu {self.cpu:7.1f} ms"
        verdict = "  missed" if self.missed(by_cpu) else ""
        return f"{self.name:<46} {self.value:8.1f} {self.unit:3}  {cpu:15}  goal {self.goal:5.0f} {self.unit}{verdict}"


class Main:
    """Processor time of a page's main thread."""

    def __init__(self, page: Any) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._before = self._told()

    def lap(self) -> float:
        """Milliseconds since the last look."""
        now = self._told()
        found, self._before = (now - self._before) * 1000, now
        return found

    def _told(self) -> float:
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))


def measure(browser: Any, running: Any, rounds: int, seconds: float) -> list[Figure]:
    """All figures of a running service (`tests.browser.conftest.Running`)."""
    figures = []
    for name, address in (
        ("login", "/app/login"),
        ("catalog", "/app/catalog/"),
        ("environments", "/app/environments/"),
    ):
        page = _page(browser, running, None if name == "login" else "ann")
        page.goto(address, wait_until="networkidle")
        figures.append(Figure(f"first visit: {name}", page.evaluate(_TRANSFERRED) / 1024, 250, "KiB"))
        page.context.close()
    town, wizard = _large(running), _wizard(running)
    drawn, frames, rendered, reactions = [], list[float](), [], []
    cpu: dict[str, list[float]] = {"drawn": [], "frames": [], "rendered": [], "reactions": []}
    for turn in range(rounds):
        page = _page(browser, running, "ann")
        page.add_init_script(_NOTE)
        main = Main(page)
        page.goto(f"/app/environments/{town}/topology")
        page.locator("#topology[data-drawn]").wait_for(timeout=120_000)
        drawn.append(page.evaluate(_DRAWN))
        cpu["drawn"].append(main.lap())
        if turn == 0:
            frames = page.evaluate(_PAN, seconds)
            cpu["frames"].append(main.lap() / len(frames))
        page.context.close()
        page = _page(browser, running, "ann")
        page.goto("/app/catalog/", wait_until="load")  # forms are reached from another page: what those share is there
        main = Main(page)
        page.goto(wizard, wait_until="load")
        rendered.append(page.evaluate(_RENDERED))
        cpu["rendered"].append(main.lap())
        if page.locator('#form [name$=".f0"], #form [name$=".f299"]').count() < 2:
            raise SystemExit(f"the form has not its {FIELDS} fields: {page.inner_text('main')[:500]}")
        main.lap()
        for each in range(10):
            reactions.append(page.evaluate(_REACTS, each))
            cpu["reactions"].append(main.lap())
        page.context.close()
    times = {name: statistics.median(found) for name, found in cpu.items()}
    return [
        *figures,
        Figure(f"{OBJECTS} objects: picture there, median", statistics.median(drawn), 1000, "ms", times["drawn"]),
        Figure(f"{OBJECTS} objects: frame while panning, p95", _p95(frames), 33, "ms", times["frames"]),
        Figure(f"{FIELDS} fields: page rendered, median", statistics.median(rendered), 150, "ms", times["rendered"]),
        Figure(f"{FIELDS} fields: reaction to a key, p95", _p95(reactions), 50, "ms", times["reactions"]),
    ]


def _p95(times: list[float]) -> float:
    return sorted(times)[max(-(-len(times) * 95 // 100) - 1, 0)]


def _page(browser: Any, running: Any, person: str | None) -> Any:
    context = browser.new_context(base_url=running.url, viewport={"width": 1440, "height": 900})
    if person is not None:
        cookie = {"name": "vetro_session", "value": running.session(person), "url": running.url, "httpOnly": True}
        context.add_cookies([cookie])
    return context.new_page()


def _large(running: Any) -> str:
    """Id of an environment with many objects, put straight into the database."""
    command = [sys.executable, "-m", "benchmarks.service.many", running.project("ann"), running.id("ann"), str(OBJECTS)]
    done = subprocess.run(
        command, env=running.service.environment, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=300
    )
    return done.stdout.split()[-1]


def _wizard(running: Any) -> str:
    """The address of a form of many fields."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("manifest.yaml", _MANIFEST)
        archive.writestr("Classes/App.yaml", _CLASS)
        archive.writestr("UI/ui.yaml", definition())
    running.api("ann", "POST", "/v2/packages", raw=buffer.getvalue())
    package = running.api("ann", "GET", "/v2/packages?fqn=com.example.App")["items"][0]["id"]
    return f"/app/forms/{running.api('ann', 'POST', '/v2/forms', {'package': package})['id']}/1"


def main() -> int:
    """Starts, measures, prints; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long the picture is pushed about")
    parser.add_argument("--cpu", action="store_true", help="judge processor time: the machine does other things, too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        print("Chromium is missing. On Debian, as root: apt-get install chromium", file=sys.stderr)
        return 1
    from django.conf import settings
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import running

    settings.configure()  # uploads are encoded by it
    with (
        tempfile.TemporaryDirectory(prefix="vetro-bench-") as folder,
        sync_playwright() as playwright,
        running(Path(folder), VETRO_CLOUD__DRIVER="record") as service,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            figures = measure(browser, service, options.rounds, options.seconds)
        finally:
            browser.close()
    if options.json:
        print(json.dumps([asdict(figure) for figure in figures], indent=1))
    else:
        print("\n".join(figure.line(options.cpu) for figure in figures))
    return 1 if any(figure.missed(options.cpu) for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
