"""``characters``: alphabets, for instance to draw passwords from (YAQL.md 4.6)."""

from __future__ import annotations

import string as constants

from vetro.yaql.resolve.signature import Param, Type, function

_CLASSES: tuple[tuple[str, str], ...] = (
    ("digits", constants.digits),
    ("hexdigits", constants.hexdigits),
    ("asciiLowercase", constants.ascii_lowercase),
    ("asciiUppercase", constants.ascii_uppercase),
    ("asciiLetters", constants.ascii_letters),
    ("letters", constants.ascii_letters),
    ("octdigits", constants.octdigits),
    ("punctuation", constants.punctuation),
    ("printable", constants.printable),
    ("lowercase", constants.ascii_lowercase),
    ("uppercase", constants.ascii_uppercase),
    ("whitespace", constants.whitespace),
)


@function("characters", params=tuple(Param(name, Type.BOOL, default=False) for name, _ in _CLASSES))
def characters(
    digits: bool = False,
    hexdigits: bool = False,
    ascii_lowercase: bool = False,
    ascii_uppercase: bool = False,
    ascii_letters: bool = False,
    letters: bool = False,
    octdigits: bool = False,
    punctuation: bool = False,
    printable: bool = False,
    lowercase: bool = False,
    uppercase: bool = False,
    whitespace: bool = False,
) -> tuple[str, ...]:
    """The different characters of the chosen classes, in the order of the classes."""
    chosen = (
        digits,
        hexdigits,
        ascii_lowercase,
        ascii_uppercase,
        ascii_letters,
        letters,
        octdigits,
        punctuation,
        printable,
        lowercase,
        uppercase,
        whitespace,
    )
    return tuple(dict.fromkeys("".join(text for wanted, (_, text) in zip(chosen, _CLASSES) if wanted)))
