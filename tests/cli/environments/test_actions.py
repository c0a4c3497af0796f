"""Actions on the command line: which one is meant, values and files in, results out; here and on a server."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.cli.conftest import write_package
from tests.cli.deploykit import PATIENCE, Place, store_package
from tests.cli.remotekit import Remote
from vetro.cli.client.find import NotFound
from vetro.cli.environments.actions import chosen_action

NAMES = {"e1": "shop", "f1": "WebFarm", "b1": "box"}


def offered(object_id: str, name: str, kind: str) -> dict[str, Any]:
    return {"id": f"{object_id}_{name}", "name": name, "object_id": object_id, "class": kind, "enabled": True}


KNOWN = [
    offered("e1", "deploy", "io.murano.Environment"),
    offered("f1", "grow", "com.example.WebFarm"),
    offered("b1", "grow", "com.example.Box"),
]


@pytest.mark.parametrize("app", ["f1", "WebFarm", "com.example.WebFarm"])
def test_an_application_goes_by_id_name_or_class(app: str) -> None:
    assert chosen_action(KNOWN, NAMES, "grow", app, "shop")["id"] == "f1_grow"


def test_what_is_called_otherwise_is_listed_by_name() -> None:
    with pytest.raises(NotFound) as caught:
        chosen_action(KNOWN, NAMES, "grow", "Farm", "shop")
    assert caught.value.hint == "there are WebFarm, box, shop"
    with pytest.raises(NotFound) as caught:
        chosen_action(KNOWN, NAMES, "grow", None, "shop")
    assert caught.value.hint == "say which with --app: WebFarm (f1), box (b1)"


#: Takes a file, a secret and a text; gives a file, or what it was given.
SAFE = """
Namespaces: {=: t, std: io.murano, f: io.murano.metadata.forms}
Name: Safe
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull()}
  word: {Contract: $.string(), Default: null, Meta: {f:Secret: {}}}
Methods:
  deploy: {Body: []}
  pack:
    Scope: Public
    Arguments:
      - content: {Contract: $.class(std:File).notNull()}
    Body:
      - Return: {filename: $content.filename, base64Content: $content.base64Content, mimeType: $content.mimeType}
  tell:
    Scope: Public
    Arguments:
      - text: {Contract: $.string().notNull()}
      - times: {Contract: $.int().notNull(), Default: 1}
      - word: {Contract: $.string(), Default: null, Meta: {f:Secret: {}}}
    Body:
      - If: $word != null and $word != $.word
        Then: {Throw: WrongWord, Message: wrong word}
      - Return: $text * $times
  list:
    Scope: Public
    Body:
      - Return: {known: $.word != null, names: [a, b]}
"""
SECRET = "canary-word with space"
BINARY = bytes(range(256))


@pytest.fixture
def safe(here: Path) -> Place:
    """An environment of this machine with a safe whose word is `SECRET`."""
    place = Place(here)
    place.package = write_package(here / "safe", {"t.Safe": SAFE})
    (here / "word").write_text(f"{SECRET}\n", encoding="utf-8")
    place.deploy("--set", "word=@word")
    return place


def tell(*more: str) -> list[str]:
    return ["action", "e", "tell", "--arg", "text=fine", *more]


def test_without_a_method_the_actions_are_listed(safe: Place) -> None:
    lines = [line.split() for line in safe.ok("action", "e").stdout.splitlines()]
    assert lines[0] == ["application", "action", "title"]
    assert ["safe", "tell"] in [line[:2] for line in lines] and "deploy" not in [line[1] for line in lines]
    assert {row["name"] for row in safe.data("action", "e")} >= {"tell"}
    assert "has no actions" in safe.ok("action", "e", "--app", "nothing").stderr


def test_texts_come_from_files_and_standard_input(safe: Place) -> None:
    (safe.folder / "letter").write_text("Dear all: [x,\n\nyours\n", encoding="utf-8")
    (safe.folder / "raw").write_bytes(BINARY)
    assert safe.data("action", "e", "tell", "--arg", "text=@letter") == "Dear all: [x,\n\nyours"
    told = safe.ok("action", "e", "tell", "--arg", "text=@-", "--arg", "times=2", "-o", "json", input="5\n")
    assert told.stdout == '"55"\n'
    assert safe.data("action", "e", "tell", "--arg", "text=@@home") == "@home"
    (safe.folder / "all.yaml").write_text("{text: no, times: 3}", encoding="utf-8")
    assert safe.data("action", "e", "tell", "--answers", "all.yaml", "--arg", "text=a") == "aaa"
    for given, said in (
        ("--arg=text=@raw", "no UTF-8 text"), ("--arg=text=@none", "written @@none"), ("--arg=text=@-", "is empty"),
        ("--answers=letter", "letter:4:1"), ("--answers=word", "holds no arguments"),
    ):  # fmt: skip
        assert said in safe.refused("action", "e", "tell", given)
    assert "NAME=PATH" in safe.run("action", "e", "pack", "--file", "raw").output
    assert "given twice" in safe.run("action", "e", "tell", "--arg", "word=x", "--secret", "word").output


def test_files_go_in_and_come_out(safe: Place) -> None:
    (safe.folder / "logo.png").write_bytes(BINARY)
    (safe.folder / "kept").mkdir()
    pack = ("action", "e", "pack", "--file", "content=logo.png")
    assert safe.ok(*pack, "--save", "kept").stdout == ""
    saved = safe.folder / "kept" / "logo.png"
    assert saved.read_bytes() == BINARY and stat.S_IMODE(saved.stat().st_mode) == 0o600
    safe.ok(*pack, "--save", "copy.bin")
    assert (safe.folder / "copy.bin").read_bytes() == BINARY
    shown = safe.ok(*pack)
    assert "'logo.png' of 256 bytes: --save PATH keeps it" in shown.stderr and "image/png" in shown.stdout
    safe.ok("action", "e", "list", "--save", "kept")
    assert (saved.parent / "result.json").read_text() == '{\n  "known": true,\n  "names": [\n    "a",\n    "b"\n  ]\n}'
    safe.ok("action", "e", "tell", "--arg", "text=hé", "--save", "kept")
    assert (saved.parent / "result.txt").read_text("utf-8") == "hé"
    tasks = safe.data("env", "show", "e")["tasks"]
    assert "no folder nowhere" in safe.refused(*pack, "--save", "nowhere/x")
    assert safe.data("env", "show", "e")["tasks"] == tasks  # the action did not run for nothing
    safe.ok(*pack, "--save", "new/")  # as docs and help have it
    assert os.listdir(safe.folder / "new") == ["logo.png"]


def test_files_of_any_size_go_in_parts_and_come_back(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vetro.server.servers.files.LARGEST_PART", 1000)
    place = Place(here)
    place.package = store_package(here / "store")
    place.deploy()
    content = os.urandom(2500)
    (here / "large.bin").write_bytes(content)
    back = ("action", "e", "back", "--upload", "content=large.bin")
    place.ok(*back, "--save", "copy.bin")
    assert (here / "copy.bin").read_bytes() == content
    assert stat.S_IMODE((here / "copy.bin").stat().st_mode) == 0o600
    assert "'large.bin' of 2500 bytes: --save PATH keeps it" in place.ok(*back).stderr
    kept = sorted(path for path in (place.root / "files").glob("*/*/*"))
    assert [path.stat().st_size for path in kept] == [2500, 2500]
    # Nothing of it is in what the task wrote down, and what is damaged is not saved.
    assert content[:32] not in b"".join(path.read_bytes() for path in place.root.glob("vetro.db*"))
    monkeypatch.setattr("vetro.cli.client.local.LocalClient.parts", lambda self, path: nullcontext([b"other"]))
    assert "not the file that the server had" in place.refused(*back, "--save", "wrong.bin")
    assert not list(here.glob("*wrong*"))
    assert "cannot be read" in place.refused("action", "e", "back", "--upload", "content=none.bin")
    assert "it is a device" in place.refused("action", "e", "back", "--upload", "content=/dev/zero")
    assert "NAME=PATH" in place.run("action", "e", "back", "--upload", "raw").output


@pytest.mark.campaign
def test_no_secret_is_seen_in_the_list_of_processes(safe: Place) -> None:
    """Neither the command nor what it starts has it in its arguments."""
    command = [sys.executable, "-m", "vetro.cli.main", *tell("--secret", "word")]
    environment = {**os.environ, "VETRO_WORKSPACE": str(safe.root), "COLUMNS": "200"}
    for word, status in ((SECRET, 0), ("another word", 1)):
        with subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as child:
            assert child.stdin is not None
            child.stdin.write(f"{word}\n")
            child.stdin.close()
            seen = set()
            while child.poll() is None:
                for path in Path("/proc").glob("[0-9]*/cmdline"):
                    try:
                        seen.add(path.read_bytes())
                    except OSError:  # it has ended
                        continue
            assert child.stdout is not None and child.stderr is not None
            said = child.stdout.read() + child.stderr.read()
        assert child.returncode == status, said
        assert any(b"--secret" in line for line in seen) and not any(word.encode() in line for line in seen)
        assert word not in said


def test_a_secret_is_asked_for_without_showing_it(safe: Place) -> None:
    environment = {**os.environ, "VETRO_WORKSPACE": str(safe.root)}
    words = ["-m", "vetro.cli.main", *tell("--secret", "word", "--arg", "times=2")]
    with pexpect.spawn(sys.executable, words, env=environment, timeout=PATIENCE, encoding="utf-8") as child:
        child.expect("word: ")
        child.sendline(SECRET)
        child.expect("finefine")
        assert "canary" not in str(child.before)
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 0


@pytest.mark.campaign
def test_a_server_gets_and_gives_the_same(remote: Remote, tmp_path: Path) -> None:
    package = write_package(tmp_path / "safe", {"safe.Safe": SAFE.replace("=: t,", "=: safe,")}, name="safe")
    (tmp_path / "logo.png").write_bytes(BINARY)
    remote.ok("deploy", str(package), "--env", "safe", "--secret", "word", input=f"{SECRET}\n")
    pack = ("action", "safe", "pack", "--file", f"content={tmp_path}/logo.png", "--save", f"{tmp_path}/back")
    remote.ok(*pack)
    assert (tmp_path / "back").read_bytes() == BINARY
    right = remote.ok("action", "safe", "tell", "--arg", "text=fine", "--secret", "word", "-o", "json", input=SECRET)
    assert right.stdout == '"fine"\n' and "canary" not in right.output
    said = remote.refused("action", "safe", "tell", "--arg", "text=fine", "--secret", "word", input="other")
    assert "wrong word" in said and "the action 'tell' failed" in said and "again" not in said
    assert remote.data("env", "show", "safe")["status"] == "ready"
