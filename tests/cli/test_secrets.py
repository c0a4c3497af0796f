"""Secrets of an environment of a workspace: commands show none, and only its owner can read the files with them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import write_package
from tests.cli.deploykit import BOX, Place

FIRST, SECOND, WRONG = "first-canary-word", "second-canary-word", "wrong-canary-word"
VAULT = (
    BOX.replace("Namespaces: {", "Namespaces: {f: io.murano.metadata.forms, ")
    .replace(
        "  size:\n",
        "  word: {Contract: $.string(), Usage: InOut, Meta: {f:Secret: {}}}\n"
        "  url: {Contract: $.string(), Usage: InOut}\n"
        "  pin: {Contract: $.int(), Usage: InOut, Meta: {f:Secret: {}}}\n  size:\n",
        1,
    )
    .replace(
        "  deploy:\n    Body:\n",
        "  deploy:\n    Body:\n"
        "      - $.url: concat('root:', $.word, '@db')\n"
        "      - $._environment.reporter.report($this, concat('login with ', $.word))\n",
    )
    + "  lock:\n    Scope: Public\n    Arguments:\n"
    "      - key: {Contract: $.string().notNull(), Meta: {f:Secret: {}}}\n    Body:\n"
    "      - Throw: NoSuchKey\n        Message: concat('no key ', $key, ' beside ', $.word)\n"
)


@pytest.fixture
def place(here: Path) -> Place:
    assert VAULT.count("f:Secret") == 3 and "login with" in VAULT and VAULT.count("concat('root") == 1
    made = Place(here)
    made.package = write_package(here / "vault", {"t.Box": VAULT})
    return made


@pytest.mark.attack("secrets", "M1")
def test_no_command_but_export_shows_one(place: Place) -> None:
    said = [place.deploy("--set", f"word={FIRST}", "--set", "pin=4711").output]
    again = ("deploy", str(place.package), "--env", "e", "--set", f"word={SECOND}")
    said.append(place.ok(*again, "--plan").output)
    said.append(place.ok(*again).output)
    failed = place.run("deploy", str(place.package), "--env", "e", "--set", f"pin={WRONG}")
    assert failed.exit_code == 1 and "t.Box.pin" in failed.output
    called = place.run("env", "action", "e", "box", "lock", "--arg", f"key={WRONG}")
    said += [failed.output, called.output]
    for command in (
        ("env", "log", "e"), ("env", "history", "e"), ("env", "history", "e", "--diff", "1"), ("env", "list"),
        ("env", "show", "e"), ("cloud", "status"), ("plan", "e"),
    ):  # fmt: skip
        for output in ("table", "json"):
            said.append(place.run(*command, "-o", output).output)
    text = "\n".join(said)
    assert "login with ••••••" in text and "root:••••••@db" in text
    assert [line for line in text.splitlines() if "canary" in line or "4711" in line] == []


@pytest.mark.attack("secrets", "M1")
def test_others_cannot_enter_what_holds_them(place: Place) -> None:
    mask = os.umask(0)
    try:
        place.deploy("--set", f"word={FIRST}")
    finally:
        os.umask(mask)
    open_to_others = []
    for folder, folders, names in os.walk(place.root):
        # Whoever cannot enter a folder reaches nothing in it.
        folders[:] = [name for name in folders if os.stat(os.path.join(folder, name)).st_mode & 0o077]
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                if os.stat(path).st_mode & 0o077 and FIRST.encode() in file.read():
                    open_to_others.append(os.path.relpath(path, place.root))
    assert open_to_others == []
