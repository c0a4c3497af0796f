"""What docs/operations tells people to type is understood, and settings that it names are there."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest
from click.exceptions import NoArgsIsHelpError

from tests.operations.test_files import DEPLOY, understood
from vetro.server.config.config import Config
from vetro.server.config.table import SETTINGS

PAGES = sorted((DEPLOY.parent / "docs" / "operations").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Sections whose settings have names of their own below.
_FREE = ("engine.settings", "cloud.settings", "cloud.openstack", "engine.broker")


def commands(page: Path) -> Iterator[str]:
    """Lines that run Vetro, without what is before and behind."""
    text = page.read_text(encoding="utf-8")
    blocks = "\n".join(body for language, body in BLOCK.findall(text) if language in ("sh", "text"))
    prose = "\n".join(re.findall(r"`(vetro [a-z][^`]*)`", BLOCK.sub("", text)))
    for line in f"{blocks}\n{prose}".splitlines():
        line = re.sub(r"^\$ ", "", line)
        if found := re.search(r"(?:^|sudo -u vetro |exec worker |&& )vetro ([a-z-].*)$", line):
            yield re.split(r"\s+(?:#|\||&&)\s", found.group(1))[0].strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_understood(page: Path) -> None:
    for command in commands(page):
        # Prose names commands without what they need besides.
        with suppress(click.MissingParameter, NoArgsIsHelpError):
            understood(shlex.split(command))


def test_there_is_something_to_understand() -> None:
    assert {command.split()[0] for page in PAGES for command in commands(page)} >= {"db", "doctor", "worker", "serve"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_are_settings(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for language, body in BLOCK.findall(text):
        if language == "toml":
            tomllib.loads(body)
            (tmp_path / "vetro.toml").write_text(body)
            Config.load(tmp_path, environ={})
    known = {setting.name for setting in SETTINGS}
    sections = {name.split(".")[0] for name in known}
    for name in re.findall(r"`([a-z]+\.[a-z_]+)\b[^`]*`", text):
        if name.split(".")[0] in sections and name.partition(".")[2] not in ("db", "toml", "service", "conf"):
            assert name in known or name.startswith(_FREE), f"{page.name}: there is no setting {name}"
