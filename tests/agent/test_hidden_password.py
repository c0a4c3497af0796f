"""Passwords that packages put into user data without knowing them."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.agent.hidden_password import PLACEHOLDER, SERVER_PLACEHOLDER, PasswordFilter, password_of, server_password_of
from vetro.library.broker_names import server_mark

PASSWORD = password_of(bytes(range(24)))


def server(mark: str) -> str:
    return server_password_of(mark, mark.encode())


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@given(st.text(), st.text(), st.text(), st.text(), st.integers(0, 2))
def test_what_packages_encode_is_filled_and_hidden(before: str, after: str, front: str, back: str, levels: int) -> None:
    def made(word: str) -> str:
        text = before + word + after
        for _ in range(levels):
            text = front + encode(text) + back
        return text

    password_filter = PasswordFilter(lambda: PASSWORD, server)
    template = {"resources": [{"user_data": made(PLACEHOLDER), "n": 1, "none": None}]}
    filled = password_filter.fill(template)
    assert filled == {"resources": [{"user_data": made(PASSWORD), "n": 1, "none": None}]}
    assert password_filter.hide(filled) == template

    marks = [server_mark(queue) for queue in ("eenv-ha", "eenv-hb")]
    template = {mark: [made(SERVER_PLACEHOLDER.format(server=mark)), made(PLACEHOLDER)] for mark in marks}
    filled = password_filter.fill(template)
    assert filled == {mark: [made(server(mark)), made(PASSWORD)] for mark in marks}
    assert password_filter.hide(filled) == template


def test_what_has_nothing_to_fill_is_left_alone() -> None:
    asked: list[int] = []
    password_filter = PasswordFilter(lambda: PASSWORD, server, lambda: asked.append(1))
    value = {"a": ["b", {"c": encode("d")}]}
    assert password_filter.fill(value) is value
    assert password_filter.hide(value) is value
    assert asked == []
    password_filter.fill(PLACEHOLDER)
    assert asked == [1]


def test_who_cannot_make_the_account_gives_no_password() -> None:
    def fails() -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        PasswordFilter(lambda: PASSWORD, server, fails).fill([PLACEHOLDER])


def test_passwords_of_others_are_not_made_nor_hidden() -> None:
    """Only what this environment's key gives is replaced; what looks like a password stays what it is."""
    password_filter = PasswordFilter(lambda: PASSWORD, server)
    for word in (server("0" * 24)[:-6] + "fvetro", SERVER_PLACEHOLDER.format(server="x" * 24), SERVER_PLACEHOLDER):
        for text in (word, encode(word), encode(encode(word))):
            assert password_filter.hide([text]) == [text]
            assert password_filter.fill([text]) == [text]


def test_passwords_have_one_length() -> None:
    assert len(server("0" * 24)) == len(SERVER_PLACEHOLDER.format(server="0" * 24))
    with pytest.raises(ValueError, match="24 bytes"):
        server_password_of("0" * 24, b"short")
    assert len(PASSWORD) == len(PLACEHOLDER)
    with pytest.raises(ValueError, match="24 bytes"):
        password_of(b"short")
