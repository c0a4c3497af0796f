r"""Splits expression texts into tokens (reference YAQL.md section 1.1).

One regular expression finds the next token; no alternative of it backtracks over more than one token, so reading is
linear in the text however hostile it is. The parser drives the same expression itself (`scanner`, `word_value`,
`number_value`, `quoted_value`) without building `Token` objects; `tokenize` is for tools and tests.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Literal

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.yaql.ast import Scalar
from vetro.yaql.errors import LexicalError
from vetro.yaql.syntax_hints import hint_for

#: Longer texts are refused before anything is read.
MAX_TEXT = 1 << 20
#: Longer whole numbers are refused: converting them takes time quadratic in their length.
MAX_DIGITS = 4300

TokenKind = Literal["variable", "function", "word", "constant", "number", "text", "symbol"]

#: Index of the group of the scanner that matched.
VARIABLE, FUNCTION, WORD, SYMBOL, NUMBER, QUOTED, VERBATIM, END = range(1, 9)

CONSTANTS: dict[str, Scalar] = {"true": True, "false": False, "null": None}

# Possessive quantifiers keep it linear. A word may not begin with two underscores, the name of a call may. A number
# has to end at a word boundary, with its fraction or without it: "1.5x" is 1, a dot and an illegal "5".
_TOKEN = r"""
    [ \t\r\n]*+
    (?: (\$\w*+)
      | ([^\W\d]\w*+)(?=\()
      | ((?!__)[^\W\d]\w*+)
      | ({symbols})
      | (\d++\.\d++\b | \d++\b)
      | ('[^'\\]*+(?:\\.[^'\\]*+)*+' | "[^"\\]*+(?:\\.[^"\\]*+)*+")
      | (`[^`\\]*+(?:\\.[^`\\]*+)*+`)
      | (\Z)
    )
"""
_SYMBOLS = r"[.,()\[\]{}+*/] | -> | - | => | =~ | = | \?\. | != | !~ | <= | < | >= | >"

# As many characters as an escape needs are taken before they are looked at; fewer leave the backslash as it stands.
_ESCAPE = re.compile(r"""\\(?:U.{8}|u.{4}|x..|[0-7]{1,3}|N\{[^}]+\}|[\\'"abfnrtv])""")
_SIMPLE_ESCAPES = {
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


@dataclass(frozen=True, slots=True)
class Token:
    """One token.

    ``value`` is the decoded text of a quoted token, the number of a numeric one, the constant that ``true``,
    ``false`` or ``null`` stands for, the name of a call, and otherwise the token's own ``text``.
    ``[start, end)`` is its place in the expression.
    """

    kind: TokenKind
    value: Scalar
    start: int
    end: int
    text: str


_KINDS: dict[int, TokenKind] = {
    VARIABLE: "variable",
    FUNCTION: "function",
    WORD: "word",
    SYMBOL: "symbol",
    NUMBER: "number",
    QUOTED: "text",
    VERBATIM: "text",
}


@cache
def scanner(colon: bool) -> re.Pattern[str]:
    """The expression whose ``match(text, position)`` finds the next token; ``colon``: whether ``:`` is one.

    Exactly one group is set (`VARIABLE` to `END`); no match means that the next character begins no token
    (see `illegal_character`).
    """
    symbols = _SYMBOLS + " | :" if colon else _SYMBOLS
    return re.compile(_TOKEN.replace("{symbols}", symbols), re.VERBOSE)


def tokenize(text: str, *, colon: bool = False) -> list[Token]:
    """The tokens of ``text``, in order; ``colon`` adds the symbol ``:`` of MuranoPL.

    Raises `LexicalError`, with the offset in ``position``, for a character that begins no token, a malformed
    escape, a number of too many digits and a text of more than `MAX_TEXT` characters (YAQL.md 1.1, 1.3).
    """
    if len(text) > MAX_TEXT:
        raise LexicalError(
            Text("Lexical error: expression is longer than {max_text} characters", max_text=MAX_TEXT),
            position=MAX_TEXT,
            text=text,
        )
    scan = scanner(colon).match
    tokens: list[Token] = []
    position = 0
    while True:
        found = scan(text, position)
        if found is None:
            raise illegal_character(text, position)
        group = found.lastindex or END
        if group == END:
            return tokens
        start, position = found.span(group)
        piece = found[group]
        kind = _KINDS[group]
        value = token_value(text, group, piece, start)
        if group == WORD and piece in CONSTANTS:
            kind = "constant"
        tokens.append(Token(kind, value, start, position, piece))


def token_value(text: str, group: int, piece: str, start: int) -> Scalar:
    """The value of the token ``piece`` that ``group`` of the scanner found at offset ``start`` of ``text``.

    Raises `LexicalError` as `tokenize` does.
    """
    if group == WORD:
        return CONSTANTS.get(piece, piece)
    if group == NUMBER:
        return number_value(text, piece, start)
    if group == QUOTED:
        return quoted_value(text, piece, start)
    if group == VERBATIM:
        return piece[1:-1].replace("\\`", "`")
    return piece


def number_value(text: str, piece: str, start: int) -> int | float:
    """The number written as ``piece``: a float if it has a dot. Raises `LexicalError` beyond `MAX_DIGITS` digits."""
    if "." in piece:
        return float(piece)
    if len(piece) > MAX_DIGITS:
        raise LexicalError(
            Text(
                "Lexical error: number of more than {max_digits} digits at position {start}",
                max_digits=MAX_DIGITS,
                start=start,
            ),
            value=piece,
            position=start,
            text=text,
        )
    return int(piece)


def quoted_value(text: str, piece: str, start: int) -> str:
    """What the quoted token ``piece`` stands for, escapes decoded. Raises `LexicalError` for a malformed escape."""
    body = piece[1:-1]
    if "\\" not in body:
        return body

    def decode(found: re.Match[str]) -> str:
        escape = found[0]
        char = _decode_escape(escape)
        if char is None:
            place = start + 1 + found.start()
            raise LexicalError(
                Text("Lexical error: malformed escape '{escape}' at position {place}", escape=escape, place=place),
                value=escape,
                position=place,
                text=text,
            )
        return char

    return _ESCAPE.sub(decode, body)


def illegal_character(text: str, position: int) -> LexicalError:
    """The error for a text in which no token begins after the blanks at ``position``."""
    while text[position] in " \t\r\n":
        position += 1
    char = text[position]
    message = Text("Lexical error: illegal character '{char}' at position {position}", char=char, position=position)
    error = LexicalError(message, value=char, position=position, text=text)
    error.hint = hint_for(text, position)
    return error


def _decode_escape(escape: str) -> str | None:
    """The character of ``escape`` (which begins with its backslash), None if there is none."""
    kind = escape[1]
    if kind in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[kind]
    if kind == "N":
        try:
            char = unicodedata.lookup(escape[3:-1])
        except KeyError:
            return None
        # Names of sequences of several characters are not names of a character.
        return char if len(char) == 1 else None
    if kind in "01234567":
        return chr(int(escape[1:], 8))
    digits = escape[2:]
    # int() alone would also take blanks, signs, underscores and the digits of other scripts.
    if not _HEX_DIGITS.issuperset(digits):
        return None
    code = int(digits, 16)
    return chr(code) if code <= 0x10FFFF else None
