"""Says how to mend the usual slips of people who write expressions, most of them habits from other languages."""

from __future__ import annotations

import re

from vetro.diagnostics import Text

_OPERATOR_WORDS = frozenset({"and", "or", "not", "in", "mod", "is"})
# Looked for where the error is, or ends: the text before it is given to the first, the text from it on to the second.
_SLIPS: tuple[tuple[str, str, str], ...] = (
    (r"=$", r"=", Text("equality is written with one sign: a = b")),
    (r"<$", r">", Text("inequality is written a != b")),
    (r"\*$", r"\*", Text("a power is written pow(a, b)")),
    (r"", r"&", Text("write `and` between conditions")),
    (r"", r"\|", Text("write `or` between conditions")),
    (r"", r"!(?![=~])", Text("negation is written `not a`")),
    (r"", r"%", Text("the remainder is written `a mod b`")),
    (r"", r"#|//", Text("expressions have no comments")),
    (r"/$", r"/", Text("division is written `a / b`; expressions have no comments")),
    (r"", r"['\"`]", Text("the quote is never closed, or a backslash stands at the end of a line in it")),
    (r"", r"0[xXoObB]", Text("numbers are decimal: write the number itself, or the text in quotes")),
    (r"", r"\d[\d.]*[eE]", Text("numbers have no exponent: write all digits")),
    (r"", r"\d[\d.]*_", Text("numbers have no underscores")),
    (r"", r"\d+[^\W\d]", Text("a name cannot begin with a digit: write it in quotes")),
    (r"(?<![\w)\]}])$", r"\.\d", Text("write a digit in front of the dot: 0.5")),
    (r"", r"__", Text("a bare word cannot begin with two underscores: write it in quotes")),
    (r"", r"\?", Text("`?` only stands in `a?.b`; a choice is written switch(condition => a, true => b)")),
    (r"", r":", Text("a pair is written key => value")),
    (r"", r";", Text("write one expression; values are named with let(name => value) -> ...")),
    (r",[ \t\r\n]*$", r"[)\]}]", Text("no comma may stand before a closing bracket")),
    (r"\([ \t\r\n]*$", r"\)", Text("brackets need an expression; an empty list is []")),
    (r"\b[^\W\d]\w*[ \t\r\n]+$", r"\(", Text("a call has no blank between the name and the bracket")),
    (r"", r"\{", Text("an index or filter stands in square brackets")),
    (
        r"",
        r"=>",
        Text("a pair may only stand in the arguments of a call, in [...] or in {{...}}, and cannot be nested"),
    ),
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
            return Text("put a blank between `{word}` and the bracket, or it is the name of a function", word=word[0])
        return Text("`{word}` is an operator: as a text it needs quotes", word=word[0])
    for preceding, following, hint in _COMPILED:
        if following.match(text, position) and preceding.search(before):
            return hint
    return None
