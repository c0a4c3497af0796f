"""An update of proot servers that takes itself back, as an ordinary user has it: `python -m tests.support.proot_update
FOLDER`, in which ``images`` are.

Prints what it saw as JSON. A program of its own because tests may run as root, which the kind refuses.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from vetro.clouds.proot.driver import ProotDriver

MANIFEST = """\
Format: 1.4
Type: Application
FullName: test.shop
Version: {version}
Require: {{io.vetro: 1}}
Classes: {{test.Shop: Shop.yaml}}
"""
#: It counts its visitors, and changes many files of its server at each deployment.
SHOP = """\
Name: Shop
Namespaces:
  {{=: test, std: io.murano, res: io.murano.resources, conf: io.murano.configuration, l: io.vetro.lifecycle}}
Extends: std:Application
Meta: [{{l:Update: {{settle: 1}}}}]
Properties:
  title: {{Contract: $.string().notNull()}}
  instance: {{Contract: $.class(res:LinuxMuranoInstance).notNull()}}
Methods:
  deploy:
    Body:
      - $.instance.deploy()
      - $command: format('mkdir -p /srv/shop && echo {{0}} > /srv/shop/title && echo {{0}} >> /srv/shop/count &&
          rm -rf /opt/many && mkdir /opt/many && cd /opt/many && seq 50 | xargs -I@ sh -c "echo {{0}} @ > @"', $.title)
      - conf:Linux.runCommand($.instance.agent, $command, 'Open the shop')
      {more}
"""
#: Version 2 moves files about, and fails then.
BAD = """\
- conf:Linux.runCommand($.instance.agent, 'rm /srv/shop/count && mv /srv/shop /srv/stall', 'Move')
      - Throw: Failed
        Message: the shop does not open"""
#: Names, kinds, modes and contents of the files that do not change by themselves.
SUMS = (
    "cd / && find etc opt root srv usr -xdev ! -path 'etc/resolv.conf' -printf '%p %y %m %l\\n' | sort; "
    "find opt srv etc -xdev -type f | sort | xargs sha256sum"
)
#: Seconds for a command; a busy machine copies a server slowly.
PATIENCE = 900


class World:
    """A workspace below ``folder``, and the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        # What tests share is root's.
        own = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
        places = {"VETRO_IMAGES": str(folder / "images"), "VETRO_WORKSPACE": str(self.workspace)}
        self.environment = {**own, **places}

    def package(self, version: str, more: str = "") -> str:
        """A folder with a version of the shop."""
        place = self.folder / f"shop-{version}"
        (place / "Classes").mkdir(parents=True)
        (place / "manifest.yaml").write_text(MANIFEST.format(version=version))
        (place / "Classes/Shop.yaml").write_text(SHOP.format(more=more or "- $.title"))
        return str(place)

    def run(self, *words: str) -> tuple[int, str]:
        """Exit status of a command, and what it printed and said."""
        done = subprocess.run(
            [sys.executable, "-m", "vetro", *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout

    def data(self, *words: str) -> Any:
        """What a command prints as JSON."""
        status, said = self.run(*words, "-o", "json")
        assert status == 0, said
        return json.loads(said[said.index(said.lstrip()[0]) :])

    def state(self) -> dict[str, Any]:
        """Model, lock, servers with their addresses, and the files of each."""
        rows = self.data("cloud", "status")["servers"]
        servers = {one["name"]: [one["id"], one["status"], one["addresses"]] for one in rows}
        with closing(ProotDriver(self.workspace / "cloud")) as driver:
            files = {name: self._files(driver, str(one[0])) for name, one in servers.items()}
        model = self.run("env", "show", "shop", "--model", "-1")[1]
        return {"servers": servers, "files": files, "model": model, "lock": self.data("env", "lock", "shop")["digest"]}

    @staticmethod
    def _files(driver: ProotDriver, id: str) -> str:
        done = driver.execute(id, ["sh", "-ec", SUMS], timeout=300)
        assert done.code == 0, done.stderr
        return done.stdout.decode()


def main(folder: Path) -> None:
    """Does it all."""
    world, seen = World(folder), dict[str, Any]()
    server = {"image": "debian-12-murano", "flavor": "m1.small", "name": "front"}
    answers = ["title=small", *(f"instance.{name}={value}" for name, value in server.items())]
    given = [word for answer in answers for word in ("--set", answer)]
    try:
        first = world.package("1.0.0")
        seen["deployed"] = world.run("deploy", first, "--env", "shop", "--driver", "proot", *given)
        before = world.state()
        began = time.monotonic()
        bad = world.package("2.0.0", BAD)
        seen["bad"] = world.run("upgrade", "shop", "--to", bad)
        seen["seconds"] = time.monotonic() - began
        after = world.state()
        seen["same"] = {name: before[name] == after[name] for name in before}
        seen["history"] = [one["kind"] for one in world.data("env", "history", "shop")]
        seen["update"] = world.data("env", "show", "shop")["update"]
        # It works as before: the next one goes well, and is kept.
        seen["good"] = world.run("deploy", first, "--env", "shop", "--guard", "--set", "title=large")
        with closing(ProotDriver(world.workspace / "cloud")) as driver:
            (server,) = (one["id"] for one in world.data("cloud", "status")["servers"])
            seen["visitors"] = driver.get_file(server, "/srv/shop/count").decode().split()
    finally:
        print(json.dumps(seen, indent=1), file=sys.stderr, flush=True)
        seen["destroyed"] = world.run("env", "destroy", "shop", "--yes")
        with closing(ProotDriver(world.workspace / "cloud")) as driver:
            seen["swept"] = list(driver.clear())
        shutil.rmtree(world.workspace, ignore_errors=True)
    print(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
