"""Passwords made by the rules of a field: for people who want none of their own."""

from __future__ import annotations

import secrets
import string
import time
from collections.abc import Iterator
from typing import Final

from vetro.forms.model import Field
from vetro.forms.validation import evaluate
from vetro.forms.vocabulary import checks_of

#: What a password has where the rules leave the choice: about 120 bits.
_LENGTH: Final = 20
#: Lengths that are tried where a pattern wants another one.
_OTHERS: Final = (16, 12, 24, 32, 10, 8, 6, 4, 40, 64)
#: Nothing that shells, addresses, YAML or templates read as more than itself.
_SIGNS: Final = "-_.+,:%@"
#: What a password is made of, the strongest first: of each of these there is at least one character.
_POOLS: Final = (
    (string.ascii_lowercase, string.ascii_uppercase, string.digits, _SIGNS),
    (string.ascii_lowercase, string.ascii_uppercase, string.digits),
    (string.ascii_lowercase, string.digits),
    (string.ascii_uppercase, string.digits),
    ("0123456789abcdef",),
    ("0123456789ABCDEF",),
    (string.ascii_letters,),
    (string.ascii_lowercase,),
    (string.digits,),
)
_TRIES: Final = 3
#: Seconds of processor time until nothing more is tried.
_PATIENCE: Final = 0.5


def can_be_made(field: Field) -> bool:
    """Whether a field holds a password that may be made: a secret text that somebody can type."""
    return field.secret and field.kind == "string" and field.visible and field.enabled and not field.read_only


def candidates(field: Field) -> Iterator[str]:
    """Passwords that the rules of the field accept, as far as they are known here; none where no try meets them."""
    checks = checks_of(field)
    least = int(field.constraints.get("minLength") or 0)
    most = min(int(field.constraints.get("maxLength") or 255), 255)
    lengths = [max(least, min(_LENGTH, most)), *(n for n in _OTHERS if least <= n <= most)]
    end = time.thread_time() + _PATIENCE
    for pool in _POOLS:
        for length in dict.fromkeys(lengths):
            for _ in range(_TRIES):
                if time.thread_time() > end:  # patterns of authors may cost what they are allowed to, each time
                    return
                text = _made(pool, length)
                if len(text) == length and not list(evaluate(checks, text)):
                    yield text


def _made(pool: tuple[str, ...], length: int) -> str:
    """Random characters, at least one of each kind; it begins with a letter where there are any."""
    if length < len(pool):
        return ""
    every = "".join(pool)
    found = [secrets.choice(kind) for kind in pool] + [secrets.choice(every) for _ in range(length - len(pool))]
    secrets.SystemRandom().shuffle(found)
    letter = next((i for i, character in enumerate(found) if character.isalpha()), 0)
    found[0], found[letter] = found[letter], found[0]
    return "".join(found)
