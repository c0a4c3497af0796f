"""Drawing errors: ranges, wide characters, long lines, notes, causes, colour. Full renderings are golden files."""

from __future__ import annotations

import pytest

from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.errors import ContractViolation, DslSyntaxError, MuranoError
from vetro.muranopl.tools.render import MAX_WIDTH, render
from vetro.yaql.errors import GrammarError


def error(line: int, column: int, end_line: int = 0, end_column: int = 0, text: str = "wrong") -> MuranoError:
    return DslSyntaxError(text, position=Position("f.yaml", line, column, end_line, end_column), hint="mend it")


def marked(rendered: str) -> str:
    """What stands above the carets."""
    lines = rendered.split("\n")
    caret = next(line for line in lines if "^" in line)
    source = lines[lines.index(caret) - 1]
    return source[caret.index("^") : caret.rindex("^") + 1]


def test_without_source_only_the_place_is_named() -> None:
    assert render(error(3, 5)) == "error[MPL100]: wrong\n --> f.yaml:3:5\n  = hint: mend it"


def test_without_position() -> None:
    assert render(ContractViolation("bad value")) == "error[MPL200]: bad value"
    assert render(KeyError("x")) == "error[key-error]: there is no key 'x'"
    assert render(ValueError()) == "error[value-error]: ValueError"


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ((1, 5, 1, 9), "four"),
        ((1, 5), "f"),
        ((1, 5, 2, 3), "four five"),
        ((2, 1, 2, 99), "last"),
        ((2, 50), ""),
    ],
)
def test_marked_range(position: tuple[int, ...], expected: str) -> None:
    assert marked(render(error(*position), "one four five  \nlast")).strip() == expected


def test_a_line_that_does_not_exist_is_not_drawn() -> None:
    assert "^" not in render(error(9, 1), "one\n")


def test_tabs_and_wide_characters_keep_the_marks_in_place() -> None:
    lines = render(error(1, 4, 1, 5), "\t字éx").split("\n")
    assert lines[-3] == "1 |     字éx"
    assert lines[-2].index("^") == len("1 |     ") + 2 + 1  # two columns for the ideograph, one for é


def test_long_lines_are_cut_around_the_spot() -> None:
    text = "a" * 500 + "HERE" + "b" * 500
    rendered = render(error(1, 501, 1, 505), text)
    assert marked(rendered) == "HERE"
    assert max(map(len, rendered.split("\n"))) < MAX_WIDTH + 20
    assert marked(render(error(1, 1, 1, 900), text)).startswith("aaa")


def test_line_ends_of_every_kind() -> None:
    assert marked(render(error(3, 1, 3, 4), "a\r\nb\nend\r\n")) == "end"


def test_control_characters_cannot_steer_the_terminal() -> None:
    rendered = render(error(1, 1, text="\x1b[2J\u202e"), "\x1b]0;x\x07")
    assert "\x1b" not in rendered and "\x07" not in rendered and "\u202e" not in rendered


def test_notes_and_causes() -> None:
    problem = error(1, 1)
    problem.add_note("first\nsecond")
    problem.__cause__ = GrammarError("unexpected 'x'")
    problem.__cause__.__cause__ = error(7, 8, text="deeper")
    assert render(problem).split("\n")[2:] == [
        "  = hint: mend it",
        "  = note: first",
        "          second",
        "  = cause: [YAQ102] unexpected 'x'",
        "  = cause: [MPL100] deeper (f.yaml:7:8)",
    ]


def test_circular_causes_end() -> None:
    first, second = error(1, 1), error(2, 2)
    first.__cause__, second.__cause__ = second, first
    assert render(first).count("= cause") == 1


def test_expressions_that_do_not_parse_are_drawn_themselves() -> None:
    rendered = render(GrammarError("unexpected ')'", position=4, text="1 +\n)"))
    assert rendered.split("\n")[1:] == ["  |", "2 | )", "  | ^"]


def test_colour_changes_nothing_but_colour() -> None:
    import re

    plain, coloured = render(error(1, 1), "text"), render(error(1, 1), "text", color=True)
    assert plain != coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_warnings_are_called_so() -> None:
    problem = error(1, 1)
    problem.severity = "warning"
    assert render(problem).startswith("warning[MPL100]")
