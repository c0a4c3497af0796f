"""What is printed at a terminal does not command it."""

from __future__ import annotations

import io

import pytest

from vetro.cli import output

HOSTILE = "a\x1b]0;title\x07b\x1b[2Jc\x9b31mde\x1b]52;c;aGk=\x07\u202ef"
SHOWN = "a\\x1b]0;title\\x07b\\x1b[2Jc\\x9b31mde\\x1b]52;c;aGk=\\x07\\u202ef"


class Terminal(io.StringIO):
    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


@pytest.mark.attack("terminal", "control characters")
@pytest.mark.parametrize("colours", ["FORCE_COLOR", "NO_COLOR"])
def test_words_of_others_do_not_command_a_terminal(monkeypatch: pytest.MonkeyPatch, colours: str) -> None:
    terminal = Terminal()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(colours, "1")
    monkeypatch.setattr("sys.stdout", terminal)
    output.print_table(["name"], [[HOSTILE]])
    head, row = terminal.getvalue().splitlines()
    assert ("\x1b[1m" in head) == (colours == "FORCE_COLOR")
    assert row == SHOWN


def test_what_goes_elsewhere_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    output.echo("a\x07\r\nb\u202e")
    assert capsys.readouterr().out == "a\x07\r\nb\u202e\n"
