from __future__ import annotations

from typing import Any

import pytest

from tests.forms.dynamic.making import Session, definition, surroundings
from vetro.forms.dynamic import ExpressionFailed, load
from vetro.forms.dynamic.parameters import static_call


@pytest.mark.parametrize(
    ("application", "source", "class_name"),
    [
        ("{'?': {type: a.B}}", "run", "a.B"),
        ("{'?': {type: 'a.B/1.2@p'}}", "run", "a.B"),
        ("{'?': {type: $.x}}", "run", "com.example.App"),
        ("{'?': {name: x}}", "run", "com.example.App"),
        ("{'?': {type: a.B}, v: $.x}", "run", "a.B"),
        ("$t", "run", "com.example.App"),
        ("{'?': {type: a.B}}", "x.Y.run", "x.Y"),
    ],
)
def test_class_of_the_action(application: str, source: str, class_name: str) -> None:
    call = static_call(load(f"Application: {application}\nParametersSource: {source}\n"), surroundings())
    assert call is not None and (call.class_name, call.method_name) == (class_name, "run")


def test_values_keep_their_types_while_the_state_is_json() -> None:
    parameters: dict[str, Any] = {"m": "{1: one, two: 2}", "l": "[1, [2]]", "t": "!yaql 'set(1)'", "n": "null"}
    sections = "Parameters:\n" + "\n".join(f"  {name}: {value}" for name, value in parameters.items())
    session = Session(definition(application="a: $m.get(1)\nb: $l[1]\nc: $t\nd: $n\ne: $m", sections=sections))
    session.send()
    found = session.model()
    assert [found[key] for key in "abcde"] == ["one", [2], [1], None, {"1": "one", "two": 2}]


def test_order_matters() -> None:
    with pytest.raises(ExpressionFailed, match="cannot be evaluated"):
        Session(definition(sections="Parameters: {a: $b + 1, b: 1}"))


def test_endless_parameter() -> None:
    with pytest.raises(ExpressionFailed):
        Session(definition(sections="Parameters: {a: !yaql 'range(0)'}"))
