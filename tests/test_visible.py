"""What a terminal is shown of words of others."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vetro.visible import visible


@pytest.mark.attack("terminal", "U+202E")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("invoice\u202efdp.exe", "invoice\\u202efdp.exe"),
        ("\x1b]8;;http://evil\x1b\\\\link", "\\x1b]8;;http://evil\\x1b\\\\link"),
        ("a\rb\r\nc", "a\\rb\r\nc"),
        ("a\u200bb\ufeff\u2060\xad", "a\\u200bb\\ufeff\\u2060\\xad"),
        ("pay\u200dpal \u200c", "pay\\u200dpal \\u200c"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("two\u2028lines", "two\\u2028lines"),
        # Words of people stay as they are.
        ("Käse, 日本語, שלום, \t tab\n", "Käse, 日本語, שלום, \t tab\n"),
        ("\u0645\u06cc\u200c\u062e \U0001f469\u200d\U0001f4bb", "\u0645\u06cc\u200c\u062e \U0001f469\u200d\U0001f4bb"),
    ],
)
def test_characters_that_command_or_hide_are_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.attack("terminal", "control characters")
@given(st.text())
def test_nothing_is_left_that_commands_a_terminal(text: str) -> None:
    left = visible(text).replace("\r\n", "").replace("\n", "").replace("\t", "")
    assert not [c for c in left if unicodedata.category(c) == "Cc"]
    assert not [
        c
        for c in left
        if unicodedata.bidirectional(c) in ("RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI")
    ]
    assert visible(visible(text)) == visible(text)
