"""Complete answers against what was there; markers of secrets in odd places."""

from __future__ import annotations

from typing import Any

from vetro.forms.sessions.merge import readable, restored

STORED: dict[str, Any] = {
    "?": {"type": "t.Shop", "id": "s"},
    "list": ["a", "b"],
    "host": {"?": {"type": "t.Host", "id": "h"}, "key": "k"},
}
KEPT = {"secret": "kept"}


def read(answers: dict[str, Any], before: Any = STORED) -> dict[str, Any]:
    return readable(answers, before, {"type": "t.Shop", "id": "s"})


def test_headers_keep_what_makes_sense_of_them() -> None:
    found = read({"?": {"type": "t.Evil", "id": "x", "name": "mine"}, "host": {"?": {"type": 5, "id": "h", "z": 1}}})
    assert found == {"?": {"type": "t.Shop", "id": "s", "name": "mine"}, "host": {"?": {"id": "h"}}}
    long = read({"host": {"?": {"type": "t" * 600, "id": ""}}})
    assert long["host"] == {"?": {}}
    assert "?" not in read({"host": {"?": 5, "key": 1}})["host"]


def test_marks_of_secrets_that_there_are_not_are_no_answers() -> None:
    assert read({"host": {"?": {"id": "h"}, "key": KEPT}})["host"]["key"] == KEPT
    assert "key" not in read({"host": {"?": {"id": "new"}, "key": KEPT}})["host"]
    assert read({"list": [KEPT, {"secret": "kept", "at": "/list/9"}]})["list"] == [KEPT, None]
    assert read({"other": KEPT}) == {"?": {"type": "t.Shop", "id": "s"}}
    assert read({"list": {"secret": "kept", "at": 5}}, None).keys() == {"?"}


def test_secrets_are_put_back() -> None:
    answers = {"list": [{"secret": "kept", "at": "/list/1"}], "map": {"a": KEPT, "b": 1}, "gone": KEPT}
    assert restored(answers, {"list": ["a", "b"], "map": {"a": "x"}}) == {"list": ["b"], "map": {"a": "x", "b": 1}}
