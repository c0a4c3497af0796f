"""The filters of the pages."""

from __future__ import annotations

import pytest

from vetro.server.web.templatetags.vetro import linked, server_state


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("The shop answers at http://10.0.1.3:8080.", ["http://10.0.1.3:8080"]),
        ("see (https://a.example/x?y=1&z=2), or http://b", ["https://a.example/x?y=1&amp;z=2", "http://b"]),
        ("javascript://alert ftp://a file:///etc/passwd", []),
        ("nothing to see", []),
        ("'http://q'", ["http://q"]),
    ],
)
def test_addresses_in_texts_are_links(text: str, links: list[str]) -> None:
    found = str(linked(text))
    assert [part.partition('"')[0] for part in found.split('href="')[1:]] == links
    assert str(linked(text, True)) == text, "of what is simulated nothing answers"


@pytest.mark.attack("pages", "markup")
@pytest.mark.parametrize(
    "text",
    ['http://a/"onmouseover=alert(1)', "<script>http://a/</script>", "http://<b>x</b>", "http://a/'><img src=x>"],
)
def test_a_text_brings_no_markup(text: str) -> None:
    found = str(linked(text))
    outside = found.replace("<a href=", "").replace("</a>", "")
    assert "<script" not in found and "<b>" not in found and "<img" not in found
    assert 'onmouseover=alert(1)"' not in outside.replace("&quot;", "")


def test_a_text_full_of_addresses_stays_a_text() -> None:
    assert str(linked("http://a " * 1000)).count("<a ") == 20


def test_states_of_servers_are_words_and_those_of_other_clouds_as_they_are() -> None:
    assert [server_state(status) for status in ("ACTIVE", "SHUTOFF", "BUILD", "RESCUE")] == [
        "Running", "Stopped", "Being made", "RESCUE"
    ]  # fmt: skip
