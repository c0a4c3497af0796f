"""`vetro form`: for scripts, into environments, in a real terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest
import yaml

from tests.cli.conftest import write_package
from tests.cli.deploykit import Place
from tests.cli.formkit import UI, box


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("compiled"))


@pytest.fixture
def place(here: Path, compiled: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("VETRO_CACHE", compiled)
    made = Place.__new__(Place)
    made.folder, made.root = here, here / "workspace"
    made.package = box(here)
    yield made


def form(place: Place, *more: str) -> Any:
    """The object that a form makes."""
    return json.loads(place.ok("form", "box", "--no-ask", *more).stdout)


def test_answers_from_a_file_and_the_command_line(place: Place) -> None:
    (place.folder / "a.yaml").write_text("main: {name: shop, size: 5}\nmore: {text: hello}\n", encoding="utf-8")
    made = form(place, "--answers", "a.yaml", "--set", "main.size=6", "--set", "more.colour=r")
    assert (made["name"], made["size"], made["text"]) == ("shop", 6, "hello")
    assert made["?"]["type"] == "t.Box" and made["?"]["id"]


def test_the_form_of_the_class(place: Place) -> None:
    made = form(place, "--form", "class", "--set", "name=shop", "--set", "size=2")
    assert made == {"?": {"type": "t.Box/1.0.0@t.Box", "id": made["?"]["id"]}, "name": "shop", "size": 2}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--set", "main.name=A", "--set", "main.size=x"), "main.size: Enter a whole number."),
        (("--set", "main.name=shop", "--set", "main.size=9"), "size: Seven is the most."),
        (("--form", "class", "--set", "nmae=shop"), "did you mean 'name'?"),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(place: Place, more: tuple[str, ...], said: str) -> None:
    done = place.run("form", "box", "--no-ask", *more)
    assert (done.exit_code, done.stdout) == (1, "")
    assert said in done.stderr


def test_forms_that_there_are_not(place: Place) -> None:
    assert "did you mean 't.Box'?" in place.refused("form", "box", "t.Bax")
    assert "nowhere" in place.refused("form", "box", "--into", "nowhere")


def test_wrong_command_lines(place: Place) -> None:
    assert place.run("form").exit_code == 2
    assert place.run("form", "--edit", "x").exit_code == 2
    assert place.run("form", "box", "--set", "main.name").exit_code == 2


def test_the_author_learns_where_a_definition_breaks(place: Place) -> None:
    (place.package / "UI" / "ui.yaml").write_text(UI.replace("$.main.name)", "$.main.name + 1)"), encoding="utf-8")
    said = place.refused("form", "box", "--no-ask", "--set", "main.name=shop")
    assert "error[DUI200]" in said
    assert "box/UI/ui.yaml:18:18" in said


def test_into_an_environment_and_changed_there(place: Place) -> None:
    place.ok("env", "create", "e", "--driver", "record")
    done = place.ok("form", "box", "--into", "e", "--no-ask", "--set", "main.name=shop")
    assert done.stdout == ""
    assert "added t.Box in environment 'e'; vetro env deploy e deploys it" in done.stderr
    place.ok("form", "--into", "e", "--edit", "shop", "--no-ask", "--set", "text=changed")
    (app,) = place.data("env", "show", "e", "--model", "-1")["Objects"]["applications"]
    assert (app["name"], app["size"], app["text"]) == ("shop", 3, "changed")
    assert "no application 'shed'" in place.refused("form", "--into", "e", "--edit", "shed", "--no-ask")
    place.ok("env", "deploy", "e", "-q")
    assert place.status() == "ready"


@pytest.mark.campaign
def test_interrupted_in_a_terminal_and_gone_on_with(place: Place) -> None:
    environment = {**os.environ, "VETRO_WORKSPACE": str(place.root), "TERM": "dumb"}
    command = f"{sys.executable} -m vetro form box"
    child = pexpect.spawn(command, cwd=str(place.folder), env=environment, encoding="utf-8", timeout=60)
    try:
        child.expect("Name \\*: ")
        child.sendline("SHOP")
        child.expect("Enter a valid value")
        child.sendline("shop")
        child.expect("Size \\* \\[3\\]: ")
        child.sendline("5")
        child.expect("Loud \\[y/N\\]: ")
        child.sendline("y")
        child.expect("Secret \\[\\+ makes one up\\]: ")
        child.sendline("Str0ng!pass")
        child.expect("Secret, again: ")
        child.sendline("Str0ng!pass")
        child.expect("Text for shop")
        assert "Str0ng" not in child.before
        child.sendintr()
        child.expect("go on with --answers (\\S+)")
        file = place.folder / child.match[1].strip()
        child.expect(pexpect.EOF)
        child.wait()
        assert child.exitstatus == 130
    finally:
        child.close(force=True)
    assert file.stat().st_mode & 0o777 == 0o600
    kept = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert (kept["main"]["name"], kept["main"]["secret"]) == ("shop", "Str0ng!pass")
    assert form(place, "--answers", file.name)["size"] == 5


def test_the_file_of_the_answers_is_the_one_that_is_written(place: Place) -> None:
    (place.folder / "a.yaml").write_text("more: {text: kept}\n", encoding="utf-8")
    done = place.run("form", "box", "--ask", "--answers", "a.yaml", input="shop\n")
    assert done.exit_code == 1
    assert "the input ended before the form was filled in" in done.stderr
    kept = yaml.safe_load((place.folder / "a.yaml").read_text(encoding="utf-8"))
    assert (kept["main"]["name"], kept["more"]) == ("shop", {"text": "kept"})
    assert [p.name for p in place.folder.iterdir() if "answers" in p.name] == []


def test_a_form_starts_from_what_a_model_builder_makes(place: Place) -> None:
    start = ("--form", "class", "--start-from", "copied")
    made = form(place, *start, "--with", "like=old", "--set", "text=new")
    assert (made["name"], made["size"], made["text"]) == ("old", 2, "new")
    assert form(place, *start, "--with", "like=old", "--with", "times=7")["size"] == 7
    for more, said in (
        (start, "like: Enter a value."),
        ((*start, "--with", "lik=old"), "did you mean 'like'?"),
        (("--form", "class", "--start-from", "copy"), "there are: copied"),
        (("--start-from", "copied", "--with", "like=old"), "add '--form class'"),
        (("--with", "like=old"), "--with needs --start-from"),
        ((*start, "--with", "like=old", "--with", "times=9"), "size"),
    ):
        done = place.run("form", "box", "--no-ask", *more)
        assert done.exit_code != 0 and said in done.stderr, (more, done.stderr)


def test_a_class_whose_package_has_a_folder_of_that_name(place: Place) -> None:
    text = "Name: t.Other\nExtends: io.murano.Application\nProperties: {name: {Contract: $.string().notNull()}}\n"
    write_package(place.folder / "t.Other", {"t.Other": text}, name="t.Other")
    made = json.loads(place.ok("form", ".", "t.Other", "--no-ask", "--set", "name=shop").stdout)
    assert made["?"]["type"].startswith("t.Other/")
