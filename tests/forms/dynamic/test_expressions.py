from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.forms.dynamic.making import Session, definition, surroundings
from vetro.forms.dynamic import DynamicFormError, ExpressionFailed, TemplateLoop
from vetro.forms.dynamic.evaluation import Evaluation
from vetro.forms.dynamic.expressions import evaluate, expressions_in
from vetro.forms.dynamic.snippets import Reader
from vetro.yaql.values import freeze


def value(text: str, data: Any = None, **parameters: Any) -> Any:
    reader = Reader(text, "ui.yaml")
    evaluation = Evaluation(surroundings(), freeze(parameters))
    return evaluate(reader.snippet(reader.root()), evaluation.env(freeze(data)))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$.a + 1", 3),
        ("[1, $.a, [$.a]]", (1, 2, (2,))),
        ("{$.k: $.a, b: plain}", {"key": 2, "b": "plain"}),
        ("range(0, 3).select($ * 2)", (0, 2, 4)),
        ("$.a.switch($ > 5 => many, true => few)", "few"),
        ("switch($.missing, $ = null => list(), true => 1)", ()),
        ("dict(x => $.a)", {"x": 2}),
        ("$p + $q", 7),
        ("$.k.bool()", True),
        ("coalesce($nobody, 'x')", "x"),
        ("name()", None),
    ],
)
def test_values(text: str, found: Any) -> None:
    assert value(text, {"a": 2, "k": "key"}, p=3, q=4) == found


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("foo-bar", "'foo-bar' cannot be evaluated: No function", "quote it if it is text"),
        ("$.x.y", '".y" is read of null', "what is left of the dot is null"),
        ("getDict($)", 'Unknown function "getDict"', None),
        ("1 / 0", "zero", "quote"),
        ("{[1]: 2}", "cannot be a key", None),
        ("{$: 1}", "gives a list or mapping as a key", None),
        ("!yaql let(1)", "which no form can hold", None),
        ("!yaql 'range(0)'", "exceeds 10000", "forms may use 10,000 items"),
        ("!yaql 'range(0).len()'", "used up its", "a second or two"),
        ("!yaql \"'x' * 10000000\"", "the limit is 1000000", "forms may use"),
        ("!yaql 'def(f, f($)) -> f(1)'", "nested too deep", None),
    ],
)
def test_failures_name_the_expression_its_place_and_the_fix(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(DynamicFormError) as caught:
        value(text, {"a": 1})
    assert message in caught.value.message
    assert caught.value.position.line == 1
    if hint is not None:
        assert hint in str(caught.value.hint)


def test_expressions_in_document_order() -> None:
    reader = Reader("{a: $.x, $.k: [$.y, {z: $.z}]}", "ui.yaml")
    assert [e.text for e in expressions_in(reader.snippet(reader.root()))] == ["$.x", "$.k", "$.y", "$.z"]


def test_budget_is_shared_by_a_whole_model() -> None:
    lines = "\n".join(f"v{i}: !yaql 'range(0, 9900).select($ + 1).sum()'" for i in range(300))
    session = Session(definition(application=lines))
    session.send()
    with pytest.raises(ExpressionFailed, match="used up its"):
        session.model()


@pytest.mark.parametrize(
    "templates",
    [
        "{t: {x: $t}}",
        "{t: [$u], u: [$t]}",
        "{t: {a: [$u, $u]}, u: [$t, $t]}",
        "{t: {'?': {type: a.L}, peer: ref(u)}, u: {'?': {type: a.R}, peer: ref(t)}}",
    ],
)
def test_templates_that_contain_each_other(templates: str) -> None:
    session = Session(definition(application="v: $t", sections=f"Templates: {templates}"))
    session.send()
    with pytest.raises(TemplateLoop) as caught:
        session.model()
    assert caught.value.position.line == 2


def test_recursion_that_ends_is_no_loop() -> None:
    text = definition(application="v: repeat($t, 3)", sections="Templates: {t: {n: $index, below: 'x'}}")
    text = text.replace("below: 'x'", "below: 'repeat($t, $index - 1)'").replace("'repeat(", '!yaql "repeat(')
    text = text.replace("$index - 1)'", '$index - 1)"')
    session = Session(text)
    session.send()
    found = session.model()["v"]
    assert found[2] == {
        "n": 3,
        "below": [{"n": 1, "below": []}, {"n": 2, "below": [{"n": 1, "below": []}]}],
    }


def test_exponential_templates_end_soon() -> None:
    letters = "abcdefghijkl"
    sections = "Templates:\n" + "\n".join(
        f"  {one}: [{', '.join([f'${other}'] * 10)}]" for one, other in pairwise(letters)
    )
    session = Session(definition(application="v: $a", sections=sections + "\n  l: 1"))
    session.send()
    with pytest.raises(ExpressionFailed, match="used up its"):
        session.model()
