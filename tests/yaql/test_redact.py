"""Secrets are found in whatever was made of them, and nothing else is masked."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import shlex
import urllib.parse
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.yaql.brief import brief
from vetro.yaql.errors import LONGEST_MESSAGE, VetroError
from vetro.yaql.redact import MASK, MOST, TOO_MANY, Secrets, current, running
from vetro.yaql.values import FDict

WORD = 'tr0ub4dor & "3"\\/+=é<\'>'


@pytest.mark.attack("secrets", "M1")
@pytest.mark.parametrize(
    "spelled",
    [
        str,
        repr,
        json.dumps,
        lambda text: json.dumps(text, ensure_ascii=False),
        urllib.parse.quote,
        urllib.parse.quote_plus,
        lambda text: f"postgres://user:{text}@host",
        lambda text: urllib.parse.quote(text, safe="").lower(),
        html.escape,
        lambda text: html.escape(text, quote=False),
        lambda text: html.escape(text).replace("&#x27;", "&apos;"),
        lambda text: html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
        shlex.quote,
        lambda text: "'" + text.replace("'", "'\\''") + "'",
    ],
)
def test_texts_are_found_however_they_are_spelled(spelled: Any) -> None:
    said = Secrets([WORD]).text(f"before {spelled(WORD)} after")
    assert said.startswith("before ") and said.endswith(" after") and MASK in said
    assert "tr0ub4dor" not in said


@pytest.mark.attack("secrets", "M1")
@given(st.binary(max_size=9), st.text(st.characters(codec="utf-8"), min_size=8, max_size=40), st.binary(max_size=9))
def test_of_base64_nothing_is_left_that_gives_the_text_back(before: bytes, text: str, after: bytes) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(before + text.encode() + after).decode()
        assert MASK in Secrets([text]).text(f"user_data: {whole}")


@given(st.text(max_size=80), st.text(min_size=6, max_size=20))
def test_what_holds_no_secret_stays(text: str, secret: str) -> None:
    known = Secrets([secret])
    said = known.text(text)
    assert said == text or MASK in said
    assert secret not in said


def test_short_texts_are_masked_as_words_of_their_own_and_shorter_ones_never() -> None:
    known = Secrets(["test", "4711", "ab"])
    assert known.text("got 'test', pin 4711.") == f"got '{MASK}', pin {MASK}."
    assert known.text("com.example.test.Main at test.yaml:3, tests, 47110, ab") == (
        "com.example.test.Main at test.yaml:3, tests, 47110, ab"
    )


def test_everything_in_a_value_is_secret_but_what_objects_say_themselves() -> None:
    known = Secrets()
    known.add(
        ({"a": "first-secret", "b": ["second-secret"]}, 123456, True, {"?": {"id": "no-secret"}}, b"third-secret")
    )
    said = known.text("first-secret second-secret third-secret 123456 no-secret True a b")
    assert said == f"{MASK} {MASK} {MASK} {MASK} no-secret True a b"


def test_a_line_of_a_key_is_found_by_itself() -> None:
    lines = [hashlib.sha256(bytes([n])).hexdigest() for n in range(9)]
    key = "\n".join(["-----BEGIN KEY-----", *lines, ""])
    assert Secrets([key]).text(f"ssh: {lines[3]}: bad") == f"ssh: {MASK}: bad"


@pytest.mark.attack("secrets", "M1")
def test_of_a_long_one_neither_the_beginning_nor_the_end_is_left() -> None:
    long = hashlib.sha256(b"long").hexdigest()
    known = Secrets([long])
    assert known.text(f"got {long[:30]}... and …{long[-20:]}, {long}") == f"got {MASK}... and …{MASK}, {MASK}"
    assert known.text(f"{long[:12]}{long[:40]}") == MASK * 2


@pytest.mark.attack("secrets", "M1")
def test_values_in_messages_are_masked_before_they_are_cut() -> None:
    long = "key-" + "0123456789" * 20
    with running(Secrets([long, "x", "77"])):
        assert brief(long) == brief("x") == brief(77) == MASK
        assert brief("y") == "'y'" and brief(True) == "True"
        assert brief("the key is " + long) == f"'the key is {MASK}'"
        assert "0123456789" not in str(VetroError("x" * (LONGEST_MESSAGE - 20) + long))
    assert not current()
    assert brief("x") == "'x'"


@pytest.mark.attack("secrets", "M1")
def test_errors_and_those_behind_them_lose_their_secrets() -> None:
    secret = "a-canary-word"
    inner = KeyError(secret)
    error = VetroError(f"no {secret}")
    error.__cause__, error.hint = inner, f"try {secret}"
    error.add_note(f"seen in {secret}")
    error.extra = FDict({secret: (secret, 1), "stdout": f"echo {secret}"})  # type: ignore[attr-defined]
    kept = error.kept = FDict({"a": ("b",)})  # type: ignore[attr-defined]
    Secrets([secret]).error(error)
    assert secret not in repr((error.args, error.hint, inner.args, vars(error)))
    assert isinstance(error.extra, FDict) and error.extra["stdout"] == f"echo {MASK}"  # type: ignore[attr-defined]
    assert error.kept is kept  # type: ignore[attr-defined]


@pytest.mark.attack("secrets", "M1")
def test_what_an_error_keeps_in_slots_loses_its_secrets() -> None:
    class Slim(VetroError):
        __slots__ = ("never_set", "value")

    class Slimmer(Slim):
        __slots__ = "more"

    error = Slimmer("failed")
    error.value, error.more = {"said": "a-canary-word"}, "a-canary-word"
    Secrets(["a-canary-word"]).error(error)
    assert (error.value, error.more) == ({"said": MASK}, MASK)


@pytest.mark.attack("secrets", "M1")
def test_a_run_with_endless_secrets_says_nothing_rather_than_one_of_them() -> None:
    known = Secrets(f"secret-number-{n}" for n in range(MOST + 1))
    assert known.text(f"it was secret-number-{MOST}") == TOO_MANY
    assert known.data({"a": 1}) == {"a": 1}


def test_html_is_escaped_by_pages_after_secrets_are_gone() -> None:
    assert html.escape(Secrets(["a<b>c&d"]).text("<a<b>c&d>")) == f"&lt;{MASK}&gt;"
