"""Upgrades through the command line on real servers: what stays, and what goes.

Needs root and systemd-nspawn; every test ends with no trace of its own on this machine.
"""

from __future__ import annotations

import re
import shutil
import time

import pytest

from tests.acceptance.kit_nspawn import EXAMPLES, TWINS, answer
from tests.acceptance.kit_nspawn import place as place  # a fixture
from tests.cli.conftest import write_package
from tests.cli.deploykit import Place

#: What a newer shop has instead of the property `greeting`.
NEWER = """\
  motto:
    Contract: $.string().notNull()

  welcome:
    Meta: {l:Renamed: {from: greeting, to: 2.0.0}}
"""


@pytest.mark.campaign
def test_a_shop_is_upgraded_by_one_answer_and_keeps_its_visitors(place: Place) -> None:
    """Plan and upgrade take less than a minute; the servers stay, and what they know."""
    command = ["deploy", str(EXAMPLES), "--class", "com.example.vetro.WebShop", "--env", "shop"]
    place.ok(*command, "--driver", "nspawn", "--app", "web", "--set", "greeting=Good morning")
    rows = place.data("env", "show", "shop")["components"]
    address = next(row["addresses"] for row in rows if row["class"].endswith("WebShop"))
    assert "Visitor number <strong>1<" in answer(f"http://{address}:8080/")
    newer = place.folder / "newer"
    shutil.copytree(EXAMPLES / "com.example.vetro.WebShop", newer)
    manifest, shop = newer / "manifest.yaml", newer / "Classes" / "WebShop.yaml"
    text = manifest.read_text("utf-8").replace("Version: 1.0.0", "Version: 2.0.0")
    manifest.write_text(text.replace("Require:\n", "Require:\n  io.vetro: 1\n"), "utf-8")
    text = shop.read_text("utf-8").replace("$.greeting", "$.welcome")
    text = text.replace("  m: io.murano.metadata\n", "  m: io.murano.metadata\n  l: io.vetro.lifecycle\n")
    shop.write_text(text.replace("  greeting:\n", NEWER), "utf-8")
    place.ok("check", str(newer), "--require", str(EXAMPLES))

    asked = place.refused("upgrade", "shop", "--to", str(newer))
    assert asked.count("--set ") == 1 and "--set web.motto=VALUE" in asked and "--drop" not in asked
    began = time.monotonic()
    given = ["upgrade", "shop", "--to", str(newer), "--set", "web.motto=Onward"]
    assert "2.0.0" in place.ok(*given, "--plan").output
    place.ok(*given)
    took = time.monotonic() - began
    page = answer(f"http://{address}:8080/")
    visitors = re.search(r"Visitor number <strong>(\d+)<", page)
    # Whoever watched over the upgrade asked for the page, too: it says 1 again where the data were lost.
    assert "<h1>Good morning</h1>" in page and visitors is not None and int(visitors[1]) > 1
    kinds = [obj["?"]["type"] for obj in place.data("env", "show", "shop", "--model", "-1")["Objects"]["applications"]]
    assert "com.example.vetro.WebShop/2.0.0@com.example.vetro.WebShop" in kinds
    print(f"planned and upgraded in {took:.1f} s")
    assert took <= 60
    place.ok("env", "destroy", "shop", "--yes")


@pytest.mark.campaign
def test_a_server_whose_property_is_gone_is_removed_by_the_upgrade(place: Place) -> None:
    """The new version does not know what owned the server: the code that made it removes it."""
    folders = {}
    for version, text in (
        ("1.0.0", TWINS),
        ("2.0.0", TWINS.replace("  there: {Contract: $.class(res:LinuxMuranoInstance).notNull()}\n", "")
                       .replace("      - $.there.deploy()\n", "").replace("list($.here, $.there)", "list($.here)")),
    ):  # fmt: skip
        folders[version] = write_package(place.folder / version, {"t.Twins": text})
        manifest = folders[version] / "manifest.yaml"
        lines = [line for line in manifest.read_text("utf-8").splitlines() if not line.startswith("Version:")]
        manifest.write_text("\n".join([*lines, f"Version: {version}", ""]), "utf-8")
    place.ok("deploy", str(folders["1.0.0"]), "--env", "e", "--app", "twins", "--driver", "nspawn")
    folder = place.root / "cloud" / "nspawn" / "servers"
    before = {path.name for path in folder.iterdir()}
    assert len(before) == 2
    said = place.refused("upgrade", "e", "--to", str(folders["2.0.0"]))
    assert "--drop twins.there" in said, said
    place.ok("upgrade", "e", "--to", str(folders["2.0.0"]), "--drop", "twins.there")
    (kept,) = {path.name for path in folder.iterdir()}
    assert kept in before, "the other one is gone, and none is new"
    place.ok("env", "destroy", "e", "--yes")
