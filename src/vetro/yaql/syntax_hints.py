"""Says how to mend the usual slips of people who write expressions, most of them habits from other languages."""

from __future__ import annotations

import re

_OPERATOR_WORDS = frozenset({"and", "or", "not", "in", "mod", "is"})
# Looked for where the error is, or ends: the text before it is given to the first, the text from it on to the second.
_SLIPS: tuple[tuple[str, str, str], ...] = (
    (r"=$", r"=", "equality is written with one sign: a = b"),
    (r"<$", r">", "inequality is written a != b"),
    (r"\*$", r"\*", "a power is written pow(a, b)"),
    (r"", r"&", "write `and` between conditions"),
    (r"", r"\|", "write `or` between conditions"),
    (r"", r"!(?![=~])", "negation is written `not a`"),
    (r"", r"%", "the remainder is written `a mod b`"),
    (r"", r"#|//", "expressions have no comments"),
    (r"/$", r"/", "division is written `a / b`; expressions have no comments"),
    (r"", r"['\"`]", "the quote is never closed, or a backslash stands at the end of a line in it"),
    (r"", r"0[xXoObB]", "numbers are decimal: write the number itself, or the text in quotes"),
    (r"", r"\d[\d.]*[eE]", "numbers have no exponent: write all digits"),
    (r"", r"\d[\d.]*_", "numbers have no underscores"),
    (r"", r"\d+[^\W\d]", "a name cannot begin with a digit: write it in quotes"),
    (r"(?<![\w)\]}])$", r"\.\d", "write a digit in front of the dot: 0.5"),
    (r"", r"__", "a bare word cannot begin with two underscores: write it in quotes"),
    (r"", r"\?", "`?` only stands in `a?.b`; a choice is written switch(condition => a, true => b)"),
    (r"", r":", "a pair is written key => value"),
    (r"", r";", "write one expression; values are named with let(name => value) -> ..."),
    (r",[ \t\r\n]*$", r"[)\]}]", "no comma may stand before a closing bracket"),
    (r"\([ \t\r\n]*$", r"\)", "brackets need an expression; an empty list is []"),
    (r"\b[^\W\d]\w*[ \t\r\n]+$", r"\(", "a call has no blank between the name and the bracket"),
    (r"", r"\{", "an index or filter stands in square brackets"),
    (r"", r"=>", "a pair may only stand in the arguments of a call, in [...] or in {...}, and cannot be nested"),
)
_COMPILED = tuple((re.compile(before), re.compile(after), hint) for before, after, hint in _SLIPS)
_WORD = re.compile(r"[^\W\d]\w*")
#: As much of the text before the error as is looked at.
_CONTEXT = 80


def hint_for(text: str, position: int) -> str | None:
    """How to mend ``text``, which went wrong at offset ``position``; None where no usual slip is recognised."""
    before = text[max(0, position - _CONTEXT) : position]
    word = _WORD.match(text, position)
    if word is not None and word[0] in _OPERATOR_WORDS:
        if text[word.end() : word.end() + 1] == "(":
            return f"put a blank between `{word[0]}` and the bracket, or it is the name of a function"
        return f"`{word[0]}` is an operator: as a text it needs quotes"
    for preceding, following, hint in _COMPILED:
        if following.match(text, position) and preceding.search(before):
            return hint
    return None
