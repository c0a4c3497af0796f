"""Guides for people name commands that there are, with their options, and words that stand on the pages."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from tests.docs.pages import ROOT
from vetro.cli.main import main

GUIDES = [ROOT / "docs" / f"{name}.md" for name in (
    "tutorial", "consumer", "first-form", "first-server-application", "real-servers", "troubleshooting",
)]  # fmt: skip
CODE = re.compile(r"`(vetro [^`]+)`|^(?:sudo -u \w+ |/opt/vetro/bin/)?(vetro .+)$", re.MULTILINE)
#: Words in italics; the asterisks of bold text are two.
SHOWN = re.compile(r"(?<!\*)\*([A-Z][^*\n]+)\*(?!\*)")
#: Where words of pages come from: templates and views, and forms and names of the examples.
SOURCES = [
    *(ROOT / "src" / "vetro" / "server" / "web").rglob("*.html"),
    *(ROOT / "src" / "vetro" / "server").rglob("*.py"),
    *(ROOT / "examples").rglob("*.yaml"),
]


def unknown(line: str) -> str:
    """What of a command line there is not; empty where all is well."""
    words = shlex.split(line.partition("   #")[0].rstrip("\\"))[1:]
    words = words[: next((i for i, word in enumerate(words) if word in ("--", ">", ">>", "|", "&&")), len(words))]
    command: click.Command = main
    context = click.Context(main, info_name="vetro")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            return f"{context.command_path} has no {words[0]}"
        context = click.Context(found, info_name=words.pop(0), parent=context)
        command = found
    options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help"}
    given = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return next((f"{context.command_path} has no {name}" for name in given if name not in options), "")


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_commands_of_guides_are_there(path: Path) -> None:
    lines = [one or two for one, two in CODE.findall(path.read_text("utf-8"))]
    assert lines or path.stem == "consumer", "the guide names commands"
    assert [f"{line}: {wrong}" for line in lines if (wrong := unknown(line))] == []


def test_words_that_are_not_there_are_found() -> None:
    assert unknown("vetro env destory shop") and unknown("vetro serve --build")
    assert not unknown("vetro env list -o json")


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_words_in_italics_stand_on_the_pages(path: Path) -> None:
    shown = "\n".join(source.read_text("utf-8") for source in SOURCES)
    words = {" ".join(word.split()) for word in SHOWN.findall(path.read_text("utf-8"))}
    assert words or path.stem.startswith("first")
    assert sorted(word for word in words if word not in shown) == []
