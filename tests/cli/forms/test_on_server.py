"""Forms of a server at the terminal: packages of its catalog, lists of its cloud, actions; asked, and by scripts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import write_package
from tests.cli.deploykit import PATIENCE, store_package
from tests.cli.remotekit import Remote

SHOP = """
Namespaces: {=: fair, std: io.murano, res: io.murano.resources, f: io.murano.metadata.forms, v: io.vetro.forms}
Name: Stall
Extends: std:Application
Meta:
  - v:Preset: {name: small, title: Small, values: {seats: 2}}
  - v:Preset: {name: large, title: Large, values: {seats: 80}}
Properties:
  title: {Contract: $.string().notNull()}
  seats: {Contract: $.int().notNull().check($ > 0)}
  size:
    Contract: $.string().notNull()
    Meta: {f:Control: {widget: flavor}}
  word: {Contract: $.string(), Meta: {f:Secret: {}}}
Methods:
  deploy: {Body: []}
  greet:
    Scope: Public
    Arguments:
      - whom: {Contract: $.string().notNull()}
    Body:
      - Return: format('Hello {0} from {1}', $whom, $.title)
"""


@pytest.mark.campaign
def test_a_form_of_a_server_is_filled_in_and_its_actions_ask(remote: Remote, tmp_path: Path) -> None:
    package = write_package(tmp_path / "fair", {"fair.Stall": SHOP}, name="fair", extra="Require: {io.vetro: 1}\n")
    remote.ok("package", "publish", str(package))
    remote.ok("env", "create", "fair")
    script = ("form", "fair.Stall", "--into", "fair", "--no-ask")
    said = remote.refused(*script, "--set", "title=Books", "--set", "seats=0")
    assert "seats: " in said and "1 answer must be mended" in said, "a size is there from the start"
    assert "--into ENV" in remote.refused("form", "fair.Stall")
    assert "no preset 'tiny'" in remote.refused(*script, "--preset", "tiny")
    done = json.loads(remote.ok(*script, "--preset", "large", "--set", "title=Books", "--set", "size=m1.small").stdout)
    assert done["object_id"] and remote.ok("env", "deploy", "fair").exit_code == 0
    # Asked at a terminal: an edit with what was there, and a list of the server's cloud.
    with remote.terminal("form", "--into", "fair", "--edit", done["object_id"]) as child:
        child.expect("Preset")
        child.sendline("")
        child.expect("Adjust what it sets")
        child.sendline("")
        child.expect("Title")
        child.sendline("Maps")
        child.expect("m1.tiny: 1 processor")
        child.expect("Size")
        child.sendline("")
        child.expect(r"\+ makes one up")
        child.sendline("+")
        child.expect("Please check")
        child.expect("Enter: that is right")
        child.sendline("")
        child.expect("changed .* in environment 'fair'")
    remote.ok("env", "deploy", "fair")
    with remote.terminal("action", "fair", "greet") as child:
        child.expect("Whom")
        child.sendline("Ann")
        child.expect("Enter: that is right")
        child.sendline("")
        child.expect("Hello Ann from Maps", timeout=PATIENCE)
    shown: Any = remote.data("env", "show", "fair")
    assert shown["status"] == "ready"


def test_an_action_asks_for_files_by_their_paths(remote: Remote, here: Path) -> None:
    remote.ok("deploy", str(store_package(here / "depot")), "--env", "depot")
    content = os.urandom(70_000)
    for name in ("large.bin", "other.bin"):
        (here / name).write_bytes(content)
    with remote.terminal("action", "depot", "back", "--save", "copy.bin") as child:
        child.expect("Content.*path of a file")
        child.sendline("none.bin")
        child.expect("none.bin cannot be read: No such file")
        child.expect("Content.*path of a file")
        child.sendline("large.bin")
        child.expect("More.*0 so far")
        child.sendline("+")
        child.expect("More / 1.*path of a file")
        child.sendline("other.bin")
        child.expect("More.*1 so far")
        child.sendline("")
        child.expect("Enter: that is right")
        child.sendline("")
        child.expect("copy.bin, 70000 bytes", timeout=PATIENCE)
    assert (here / "copy.bin").read_bytes() == content
