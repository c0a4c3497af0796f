"""The terminal as `vetro form` uses it: lines out, lines in. Standard output stays free for the result."""

from __future__ import annotations

import readline
import sys
from collections.abc import Sequence
from getpass import getpass
from typing import Protocol

from vetro.cli import output as out

#: What a person types instead of an answer.
BACK, HELP, NOTHING, LITERAL = "<", "?", "!", "\\"
COMMANDS = "Enter takes what stands in [brackets]; < goes back, ? explains, ! leaves empty, Ctrl-C keeps the answers"


class TerminalIO(Protocol):
    """Whoever answers."""

    def say(self, text: str) -> None:
        """Shows a line."""

    def line(self, prompt: str) -> str:
        """What is typed. Raises `EOFError` when nothing more comes."""

    def secret(self, prompt: str) -> str:
        """What is typed without being shown."""


class Terminal:
    """The person at standard input; prompts go to standard error."""

    def __init__(self) -> None:
        if sys.stdin.isatty():
            readline.set_auto_history(False)  # answers are no history

    def say(self, text: str) -> None:
        """See `TerminalIO`."""
        out.note(text)

    def line(self, prompt: str) -> str:
        """See `TerminalIO`."""
        if sys.stdin.isatty() and sys.stderr.isatty() and sys.stdout.isatty():
            return input(out.plain(prompt))  # with the keys of readline
        out.echo(prompt, err=True, nl=False)
        sys.stderr.flush()
        found = sys.stdin.readline()
        if not found:
            raise EOFError
        return found.rstrip("\r\n")

    def secret(self, prompt: str) -> str:
        """See `TerminalIO`."""
        if sys.stdin.isatty():
            return getpass(out.plain(prompt), stream=sys.stderr)
        return self.line(prompt)


class GoBack(Exception):
    """The person wants to change the answer before."""


def entered(io: TerminalIO, prompt: str, explanation: Sequence[str]) -> str | None:
    """What was typed at a prompt: text, '' for Enter, None for "leave empty". Raises `GoBack`.

    ``explanation`` is shown when it is asked for.
    """
    while True:
        text = io.line(prompt)
        stripped = text.strip()
        if stripped == BACK:
            raise GoBack
        if stripped == HELP:
            for line in explanation:
                io.say("  " + line)
            io.say("  " + COMMANDS)
            continue
        if stripped == NOTHING:
            return None
        if stripped.startswith(LITERAL) and stripped[1:] in (BACK, HELP, NOTHING):
            return stripped[1:]
        return text
