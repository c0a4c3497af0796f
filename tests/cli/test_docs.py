"""docs/cli.md says what the commands really print. ``VETRO_UPDATE_GOLDEN=1`` writes the outputs anew."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.docs.pages import prepare, settled
from vetro.cli.main import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def transcript(commands: list[str], vetro: Callable[..., Result], here: Path) -> str:
    parts = []
    for command in commands:
        result = vetro(*shlex.split(command)[1:], terminal_width=100)
        assert "a defect in Vetro:" not in result.output, result.output
        status = f"[exit status {result.exit_code}]\n" if result.exit_code else ""
        parts.append(f"$ {command}\n{settled(result.output, here)}{status}")
    return "\n".join(parts)


def test_documented_outputs_are_real(here: Path, vetro: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(here, monkeypatch)
    page = PAGE.read_text(encoding="utf-8")
    made = []
    for match in BLOCK.finditer(page):
        language, name, body = match.groups()
        if name is not None:
            (here / name).parent.mkdir(exist_ok=True, parents=True)
            (here / name).write_text(body, encoding="utf-8")
        elif language == "console":
            commands = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
            made.append((match, transcript(commands, vetro, here)))
    assert len(made) > 8
    if os.environ.get("VETRO_UPDATE_GOLDEN"):
        for match, output in reversed(made):
            page = f"{page[: match.start()]}```console\n{output}```{page[match.end() :]}"
        PAGE.write_text(page, encoding="utf-8")
        return
    for match, output in made:
        assert match.group(3) == output


def test_every_command_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"vetro {name}" not in page] == []
