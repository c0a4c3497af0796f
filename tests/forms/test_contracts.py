"""What the engine's contracts say stands at the fields."""

from __future__ import annotations

from typing import Any

import pytest

from tests.forms.world import package
from vetro.diagnostics import Diagnostic
from vetro.engine.models import check_model
from vetro.forms.contracts import problems_of, told
from vetro.forms.model import flaw
from vetro.muranopl import Engine

GOOD: dict[str, Any] = {
    "?": {"type": "t.Shop/1.2.0", "id": "s"},
    "name": "Shop",
    "host": {"?": {"type": "t.BigHost/1.2.0", "id": "h"}, "name": "h", "disks": [{"size": 1}]},
    "pair": ["a"],
}


def problems(answers: dict[str, Any]) -> list[Diagnostic]:
    session = Engine([package()]).session()
    return problems_of(check_model(session, {"Objects": answers}), answers)


def test_good_answers() -> None:
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    ("change", "path", "object_id"),
    [
        ({"name": "1"}, "/name", "s"),
        ({"host": {**GOOD["host"], "size": 0}}, "/host/size", "h"),
        ({"host": {**GOOD["host"], "disks": [{"size": 1}, {"size": "x"}]}}, "/host/disks/1/size", "h"),
        ({"settings": {"a": 1, "x/y": "no"}}, "/settings/x~1y", "s"),
        ({"host": None}, "/host", "s"),
        ({"tags": ["ok", "far too long"]}, "/tags/1", "s"),
        ({"hosts": [{"?": {"type": "t.Shop/1.2.0", "id": "n"}, **{k: GOOD[k] for k in ("name", "host")}}]}, None, None),
    ],
)
def test_errors_stand_at_the_fields(change: dict[str, Any], path: str | None, object_id: str | None) -> None:
    found = problems({**GOOD, **change})
    assert found
    if path is not None:
        assert [(p.place, p.subject) for p in found] == [(path, object_id)]


def test_what_is_missing_is_required() -> None:
    answers = {key: value for key, value in GOOD.items() if key != "name"}
    (problem,) = problems(answers)
    assert (problem.place, problem.code, problem.message) == ("/name", "required", "Enter a value.")


def test_an_object_outside_the_form_is_named() -> None:
    error = {"objectId": "elsewhere", "property": "size", "path": [], "message": "[t.Host.size] too small", "code": "X"}
    assert problems_of([error], GOOD) == [flaw("", "elsewhere: size: Too small.", "contract", "elsewhere")]


def test_an_error_without_object_is_about_the_form() -> None:
    assert problems_of([{"objectId": None, "message": "no such class"}], GOOD) == [
        flaw("", "No such class.", "contract", None)
    ]


def test_paths_end_where_the_answers_end() -> None:
    error = {"objectId": "s", "property": "settings", "path": ["a", "b", 0], "message": "no"}
    assert problems_of([error], {**GOOD, "settings": {"a": 1}})[0].place == "/settings/a"
    assert problems_of([error], GOOD)[0].place == "/settings"


def test_a_root_without_header() -> None:
    error = {"objectId": "s", "property": "name", "path": [], "message": "no"}
    assert problems_of([error], {"name": 1}, "s")[0].place == "/name"


def test_messages_lose_their_place() -> None:
    assert told("[t.Shop.byName['a'][0]] [t.Host.size] expected an integer, got 'x'") == "Expected an integer, got 'x'."
    assert told("[only a place]") == "[only a place]."
