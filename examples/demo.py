"""Deploys a web shop with its database on two servers of this machine, uses it, changes it, and removes it.

`script/demo` runs it. It is what a person would type: every step shows the command and its output. Where the machine
cannot run servers (no root, no systemd-nspawn) they are only recorded, and the demo says so. All it makes is in a
temporary workspace, which is removed at the end, also after a failure or Ctrl-C.

--record    do not start servers, even where that is possible
--language  show the language instead, without servers: examples/language.py
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from vetro.clouds import kinds
from vetro.clouds.images.store import ImageStore
from vetro.clouds.kind_protocols import Place
from vetro.clouds.nspawn.kind import KIND as NSPAWN
from vetro.clouds.nspawn.links import cloud_id

HERE = Path(__file__).resolve().parent
SHOP = "com.example.vetro.WebShop"
IMAGE = "debian-12"
console = Console(highlight=False, soft_wrap=True)

#: What recorded servers answer, so that the action has something to show.
ANSWERS = """\
plans:
- plan: Figures of the shop
  body: {greeting: recorded, visits: 0}
"""


class DemoFailed(Exception):
    """Something is not as it should be; the text says what."""


class Shop:
    """The commands of the demo in a workspace of their own."""

    def __init__(self, driver: str) -> None:
        self.driver = driver
        self.folder = Path(tempfile.mkdtemp(prefix="vetro-demo-"))
        self.root = self.folder / "workspace"
        self.environment = {**os.environ, "VETRO_WORKSPACE": str(self.root)}

    def vetro(self, *words: str, show: bool = True) -> str:
        """Runs a command and gives its standard output, which is shown, too. Raises `DemoFailed`."""
        if show:
            shown = shlex.join(word.removeprefix(f"{HERE.parent}/") for word in words)
            console.print(f"[bold]$ vetro {escape(shown)}[/]")
        done = subprocess.run(
            [sys.executable, "-m", "vetro", *words], env=self.environment, stdout=subprocess.PIPE, text=True
        )
        if show and done.stdout.strip():
            console.print(escape(done.stdout.rstrip()))
        if done.returncode:
            raise DemoFailed(f"'vetro {words[0]}' ended with status {done.returncode}")
        return done.stdout

    def address(self) -> str:
        """Where the shop answers."""
        shown = json.loads(self.vetro("env", "show", "shop", "--model", "-1", "-o", "json", show=False))
        apps = shown["Objects"]["applications"]
        return str(next(app["address"] for app in apps if app["?"]["type"].startswith(SHOP)))

    def visit(self, url: str, expected: str) -> None:
        """Fetches the page and looks for the greeting. Raises `DemoFailed`."""
        if self.driver == "record":
            console.print(f"  [yellow]not asked, nothing runs there:[/] {escape(url)}")
            return
        began = time.monotonic()
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                page = answer.read().decode()
        except OSError as error:
            raise DemoFailed(f"{url} does not answer: {error}") from None
        if f"<h1>{expected}</h1>" not in page:
            raise DemoFailed(f"{url} does not say '{expected}': {page}")
        took = (time.monotonic() - began) * 1000
        console.print(f"  [green]✓[/] GET {escape(url)} → 200 in {took:.0f} ms: [bold]{escape(expected)}[/]")

    def left(self) -> dict[str, int]:
        """What there is on this machine of the workspace's servers: mounts, bridges and links, groups, processes."""
        cloud = cloud_id(self.root / "cloud" / "nspawn")
        groups = [path for pattern in ("*", "*/*") for path in Path("/sys/fs/cgroup").glob(f"{pattern}/vetro-{cloud}")]
        groups += Path("/sys/fs/cgroup").glob(f"vetro-{cloud}")
        links = os.listdir("/sys/class/net") if os.path.isdir("/sys/class/net") else []
        return {
            "mounts": Path("/proc/self/mounts").read_text().count(str(self.folder)),
            "bridges and links": sum(name.startswith((f"vt{cloud}", f"vx{cloud}")) for name in links),
            "control groups": len(groups),
            "processes": sum(self._ours(path, f"vetro-{cloud}") for path in Path("/proc").iterdir()),
        }

    def _ours(self, path: Path, group: str) -> bool:
        if not path.name.isdigit() or int(path.name) == os.getpid():
            return False
        try:
            line = (path / "cmdline").read_bytes()
            return str(self.folder).encode() in line or group in (path / "cgroup").read_text()
        except OSError:
            return False

    def nothing_left(self) -> None:
        """Shows that nothing is left. Raises `DemoFailed`."""
        end = time.monotonic() + 10
        while any((left := self.left()).values()) and time.monotonic() < end:
            time.sleep(0.1)  # a process of a server that was removed may end a moment later
        status = json.loads(self.vetro("cloud", "status", "-o", "json", show=False))
        left |= {kind: len(status[kind]) for kind in ("servers", "networks", "stacks")}
        if any(left.values()):
            raise DemoFailed("something is left: " + ", ".join(f"{n} {kind}" for kind, n in left.items() if n))
        console.print(f"  [green]✓[/] left on this machine: 0 {', 0 '.join(left)}")

    def close(self) -> None:
        """Removes everything, whatever state it is in. Ctrl-C waits meanwhile."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            if (self.root / "cloud").exists():
                subprocess.run(
                    [sys.executable, "-m", "vetro", "cloud", "clean", "--yes"],
                    env=self.environment,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    check=False,
                )
            shutil.rmtree(self.folder, ignore_errors=True)
        finally:
            signal.signal(signal.SIGINT, before)


def choose(record: bool) -> str:
    """The driver; builds the image first where it is missing. Says why there are no servers where there are none."""
    lack = "--record was given" if record else NSPAWN.missing()
    if lack is None:
        store = ImageStore()
        if kinds.choose(Place(directory=Path(), images=store)).name != "nspawn":
            console.print(f"[bold]$ vetro image build {IMAGE}[/]  [dim]once; it takes about a minute[/]")
            built = subprocess.run([sys.executable, "-m", "vetro", "image", "build", IMAGE], check=False)
            if built.returncode:
                lack = f"the image {IMAGE} could not be built"
        if lack is None:
            lack = (
                None if kinds.choose(Place(directory=Path(), images=store)).name == "nspawn" else NSPAWN.missing(store)
            )
    if lack is None:
        console.print("Servers: [bold]systemd-nspawn[/], real ones in containers of this machine.")
        return "nspawn"
    console.print(f"Servers: [bold yellow]recorded only[/], for {escape(lack)}.")
    console.print("Nothing is executed; what would be is written down.")
    return "record"


def step(number: int, title: str) -> None:
    """A heading."""
    console.print(f"\n[bold cyan]{number}. {title}[/]")


def story(shop: Shop) -> None:
    """The whole story. Raises `DemoFailed`."""
    more: list[str] = ["--driver", shop.driver]
    if shop.driver == "record":
        answers = shop.folder / "answers.yaml"
        answers.write_text(ANSWERS, encoding="utf-8")
        more += ["--script", str(answers)]
    packages = str(HERE / "deploy")

    step(1, "Deploy a shop with a database, each on a server of its own")
    names = ("--set", "name=Corner Shop", "--set", "database.name=Goods")
    shop.vetro("deploy", packages, "--class", SHOP, "--env", "shop", *more, *names, "--set", "greeting=Good morning")
    url = shop.address()
    shop.visit(url, "Good morning")

    step(2, "Change a property and deploy again: only what differs is done")
    shop.vetro("deploy", packages, "--class", SHOP, "--env", "shop", "--set", "greeting=Good night")
    shop.visit(url, "Good night")

    step(3, "Run an action; a script on the shop's server gives the result")
    shop.vetro("env", "action", "shop", "report", "--app", SHOP)

    step(4, "What the environment has")
    shop.vetro("env", "show", "shop")

    step(5, "Destroy it")
    shop.vetro("env", "destroy", "shop", "--yes")
    shop.nothing_left()


def main(arguments: list[str]) -> int:
    """Exit status: 0, or 1 when something went wrong, 130 after Ctrl-C."""
    unknown = set(arguments) - {"--record", "--language"}
    if unknown & {"--help", "-h"}:
        console.print(escape(__doc__ or ""))
        return 0
    if unknown:
        console.print(f"demo: unknown argument {escape(sorted(unknown)[0])}\n\n{escape(__doc__ or '')}")
        return 2
    if "--language" in arguments:
        return subprocess.run([sys.executable, str(HERE / "language.py")], check=False).returncode
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    started = time.monotonic()
    shop = None
    try:
        driver = choose("--record" in arguments)
        shop = Shop(driver)
        story(shop)
    except DemoFailed as error:
        console.print(f"\n[bold red]failed:[/] {escape(str(error))}")
        return 1
    except KeyboardInterrupt:
        console.print("\n[bold red]interrupted:[/] removing what was made")
        return 130
    finally:
        if shop is not None:
            shop.close()
    console.print(f"\n[bold]Done[/] in {time.monotonic() - started:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
