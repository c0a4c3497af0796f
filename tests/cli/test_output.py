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


@pytest.mark.attack("terminal", "control characters")
@pytest.mark.parametrize("colours", ["FORCE_COLOR", "NO_COLOR"])
def test_only_our_own_colours_are_colours(monkeypatch: pytest.MonkeyPatch, colours: str) -> None:
    terminal = Terminal()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(colours, "1")
    monkeypatch.setattr("sys.stderr", terminal)
    output.note(output.style("ours \x1b[8mhidden", fg="red") + " theirs \x1b[32mgreen\x1b[0m")
    said = terminal.getvalue()
    assert said.replace("\x1b[31m", "").replace("\x1b[0m", "") == "ours \\x1b[8mhidden theirs \\x1b[32mgreen\\x1b[0m\n"
    assert said.startswith("\x1b[31mours") == (colours == "FORCE_COLOR")


@pytest.mark.attack("terminal", "U+202E")
@pytest.mark.parametrize("err", [False, True])
def test_elsewhere_they_are_visible_too_but_in_data(capsys: pytest.CaptureFixture[str], err: bool) -> None:
    output.echo("a\x07\r\n\tb\u202ec\u200b", err=err)
    output.echo("a\x07\u202e", err=err, raw=True)
    said = capsys.readouterr()
    assert (said.err if err else said.out) == "a\\x07\r\n\tb\\u202ec\\u200b\na\x07\u202e\n"


@pytest.mark.attack("terminal", "errors")
def test_errors_are_drawn_with_our_colours_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.yaql.errors import VetroError

    terminal = Terminal()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sys.stderr", terminal)
    output.print_error(VetroError(f"no {HOSTILE} \x1b[32m"), None)
    said = terminal.getvalue()
    assert "\x1b[1;31merror[VET000]" in said and "\x1b[32m" not in said and "\x1b]" not in said and "\u202e" not in said
