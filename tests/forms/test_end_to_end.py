"""Whatever a client sends: no crash, and what passes the checks is a model that the engine takes."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.forms.world import describer, package
from tests.support.fuzzing import examples
from vetro.engine.models import check_model
from vetro.forms.answers import Merger, SecretNotKept, object_answers
from vetro.forms.check import Checker
from vetro.forms.contracts import problems_of
from vetro.forms.fill import Filler
from vetro.forms.objects import Objects
from vetro.muranopl import Engine

DESCRIBER = describer()
SHOP = DESCRIBER.of("t.Shop")
assert SHOP is not None
ENGINE = Engine([package()], seed=1)
STORED: dict[str, Any] = {
    "?": {"type": "t.Shop/1.2.0@t", "id": "shop"},
    "name": "Shop",
    "host": {"?": {"type": "t.BigHost/1.2.0@t", "id": "big"}, "name": "big", "size": 9, "password": "pw",
             "disks": [{"size": 1}], "peers": ["small"]},
    "hosts": [{"?": {"type": "t.Host/1.2.0@t", "id": "small"}, "name": "small"}],
    "settings": {"a": 1, "c": 2},
    "token": {"user": "u"},
}  # fmt: skip
OTHER = {"?": {"type": "t.Shop/1.2.0@t", "id": "other"}, "name": "Other",
         "host": {"?": {"type": "t.Host/1.2.0@t", "id": "far"}, "name": "far"}}  # fmt: skip

TEXTS = st.sampled_from(["", "a", "Shop", "small", "big", "far", "other", "nobody", "x" * 9, "1", "t.Host"])
LEAVES = st.none() | st.booleans() | st.integers(-2, 12) | st.just(0.5) | TEXTS
OBJECTS = st.builds(
    lambda type_, id, values: {"?": {"type": type_, **({"id": id} if id else {})}, **values},
    st.sampled_from(["t.Host", "t.BigHost/1.2.0@t", "t.Shop", "t.Gone", 5, None]),
    st.sampled_from([None, "new", "small", "far", "big"]),
    st.fixed_dictionaries(
        {}, optional={"name": TEXTS, "size": LEAVES, "password": st.just({"secret": "kept"}) | TEXTS}
    ),
)
JSON = st.recursive(
    LEAVES | OBJECTS | st.sampled_from([{"secret": "kept"}, {"secret": "kept", "at": "/token"}, {"?": 5}, {"?": {}}]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.just("?"), inner, max_size=2),
    max_leaves=5,
)
NAMES = st.sampled_from(["Shop", "a", "b c"])
HOSTS = st.builds(
    lambda type_, id, values: {"?": {"type": type_, **({"id": id} if id else {})}, **values},
    st.sampled_from(["t.Host", "t.BigHost/1.2.0@t"]),
    st.sampled_from([None, None, "new", "big"]),
    st.fixed_dictionaries({"name": TEXTS}, optional={"size": st.integers(1, 12), "peers": st.just(["far"])}),
)
REFERENCES = st.sampled_from(["small", "big", "far"])
#: Answers that are often right, so that much gets through.
LIKELY: dict[str, st.SearchStrategy[Any]] = {
    "name": NAMES,
    "kind": st.sampled_from(["small", "large"]),
    "host": HOSTS | REFERENCES,
    "spare": HOSTS | REFERENCES | st.none(),
    "hosts": st.lists(HOSTS, max_size=2),
    "friend": st.sampled_from(["other", "shop", None]),
    "byName": st.dictionaries(TEXTS, REFERENCES, max_size=2),
    "settings": st.fixed_dictionaries({"a": st.integers()}, optional={"b": TEXTS, "zz": st.integers()}),
    "pair": st.sampled_from([[], ["a"], ["a", 1], ["a", 1, 2]]),
    "tags": st.lists(NAMES, max_size=3),
    "token": st.sampled_from([{"user": "me"}, {}, {"secret": "kept"}]),
    "pattern": st.none() | HOSTS.map(lambda host: {"?": {"type": host["?"]["type"]}, "name": "x"}),
    "free": JSON,
    "label": TEXTS,
    "zone": TEXTS | st.none(),
}
LIKELY_EDIT = st.one_of(*(st.tuples(st.just(name), values) for name, values in LIKELY.items()))
WILD_EDIT = st.tuples(st.sampled_from([*sorted(SHOP.fields), "?", "zzz"]), JSON)
EDITS = st.one_of(
    st.lists(LIKELY_EDIT, max_size=2), st.lists(LIKELY_EDIT, max_size=4), st.lists(LIKELY_EDIT | WILD_EDIT, max_size=3)
)


def environment(shop: Any) -> dict[str, Any]:
    return {"?": {"type": "io.murano.Environment", "id": "env"}, "name": "env", "applications": [shop, OTHER]}


@settings(max_examples=examples(80), deadline=None)
@given(EDITS)
def test_what_passes_the_checks_is_taken_by_the_contracts(edits: list[tuple[str, Any]]) -> None:
    assert SHOP is not None
    objects = Objects(environment(STORED), DESCRIBER)
    answers = object_answers(Filler(DESCRIBER, objects).form(SHOP, STORED), STORED)
    for name, value in edits:
        answers[name] = copy.deepcopy(value)
    problems = Checker(DESCRIBER, objects).problems(SHOP, answers, STORED)
    ids = iter(range(1000))
    try:
        merged = Merger(DESCRIBER, lambda: f"made{next(ids)}").merge(SHOP, STORED, answers)
    except SecretNotKept:
        assert problems
        return
    if not problems:
        errors = check_model(ENGINE.session(), {"Objects": environment(merged)})
        assert errors == [], (answers, merged)
        assert problems_of(errors, answers) == []
    # And the form opens again.
    form = Filler(DESCRIBER, Objects(environment(merged), DESCRIBER)).form(SHOP, merged)
    assert form.as_json()


@settings(max_examples=examples(60), deadline=None)
@given(JSON)
def test_answers_of_any_shape_get_an_answer(answers: Any) -> None:
    assert SHOP is not None
    if isinstance(answers, dict):
        assert Checker(DESCRIBER, Objects({}, DESCRIBER)).problems(SHOP, answers) is not None


def test_bottomless_answers_are_refused() -> None:
    assert SHOP is not None
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    (problem,) = Checker(DESCRIBER, Objects({}, DESCRIBER)).problems(SHOP, {"free": deep})
    assert problem.code == "too_deep"
