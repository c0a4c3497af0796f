"""The browser's validator finds what the server's finds, at the same places, on random contracts and values."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.forms.browser import browser
from tests.forms.test_agreement import PATTERNS, WORDS, World
from tests.forms.world import describer
from vetro.forms.validation import evaluate_form

CONTRACTS: list[Any] = [
    "$", "$.notNull()", "$.bool()", "$.int().check($ > 1 and $ <= 4)", "$.int().check($ in [1, 2, null])",
    "$.string().notNull().check(len($) > 1, 'longer')", "$.string().check($ in [a, b])", "$.bool().check($ = true)",
    ["$.string()", "$.int()", 1, 3], ["$.int().notNull()", 2], {"a": "$.int().notNull()", "b": ["$.string()"]},
    {"a": "$.bool()", "$.string().check(len($) < 3)": "$.int()"}, {},
    {"a~/b": {"c": "$.int().check($ >= 0).notNull()"}},
    *("$.string().check($.matches('" + pattern.replace("\\", "\\\\") + "'))" for pattern in PATTERNS),
]  # fmt: skip
LEAVES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    2.0,
    2.5,
    -3,
    *WORDS,
    "",
    "12",
    "3.",
    "the end",
    "x\n",
    "Xy",
    "_",
    "😀",
    "😀é",
]


def value(rng: random.Random, depth: int = 2) -> Any:
    kind = rng.random()
    if depth and kind < 0.25:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if depth and kind < 0.5:
        return {rng.choice(["a", "b", "a~/b", "c", "long"]): value(rng, depth - 1) for _ in range(rng.randrange(3))}
    return rng.choice(LEAVES)


def test_browser_and_server_find_the_same(tmp_path: Path) -> None:
    rng = random.Random(5)
    cases: list[tuple[Any, list[Any]]] = []
    for contract in CONTRACTS:
        values = [*LEAVES, *(value(rng) for _ in range(60))]
        cases.append((World(contract).form.schema, [*({"value": made} for made in values), {}]))
    shop = describer().of("t.Shop")
    assert shop is not None
    names = [*shop.fields, "?", "zzz"]
    kept = [{"secret": "kept"}, {"secret": "kept", "at": "/token"}, {"secret": "kept", "x": 1}]
    chosen = [{rng.choice(names): rng.choice([value(rng), rng.choice(kept)]) for _ in range(6)} for _ in range(300)]
    cases.append((shop.form.schema, [{**answers, "?": {}} for answers in chosen]))
    accepted = every = 0
    with browser(tmp_path) as script:
        for schema, answers in cases:
            for one, problems in zip(answers, script.problems(schema, answers), strict=True):
                expected = evaluate_form(schema, one)
                places = [(problem.place, problem.code) for problem in expected]
                assert [(p["path"], p["code"]) for p in problems] == places, (schema, one)
                for told, known in zip(problems, expected, strict=True):
                    assert told.get("message", known.message) == known.message
                accepted, every = accepted + (not problems), every + 1
    assert accepted > every / 10
