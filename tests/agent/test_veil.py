"""Passwords that packages put into user data without knowing them."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.agent.veil import PLACEHOLDER, Veil, password_of

PASSWORD = password_of(bytes(range(24)))


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@given(st.text(), st.text(), st.text(), st.text(), st.integers(0, 2))
def test_what_packages_encode_is_filled_and_hidden(before: str, after: str, front: str, back: str, levels: int) -> None:
    def made(word: str) -> str:
        text = before + word + after
        for _ in range(levels):
            text = front + encode(text) + back
        return text

    veil = Veil(lambda: PASSWORD)
    template = {"resources": [{"user_data": made(PLACEHOLDER), "n": 1, "none": None}]}
    filled = veil.fill(template)
    assert filled == {"resources": [{"user_data": made(PASSWORD), "n": 1, "none": None}]}
    assert veil.hide(filled) == template


def test_what_has_nothing_to_fill_is_left_alone() -> None:
    asked: list[int] = []
    veil = Veil(lambda: PASSWORD, lambda: asked.append(1))
    value = {"a": ["b", {"c": encode("d")}]}
    assert veil.fill(value) is value
    assert veil.hide(value) is value
    assert asked == []
    veil.fill(PLACEHOLDER)
    assert asked == [1]


def test_who_cannot_make_the_account_gives_no_password() -> None:
    def fails() -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        Veil(lambda: PASSWORD, fails).fill([PLACEHOLDER])


def test_passwords_have_one_length() -> None:
    assert len(PASSWORD) == len(PLACEHOLDER)
    with pytest.raises(ValueError, match="24 bytes"):
        password_of(b"short")
