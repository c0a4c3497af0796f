"""The rules in JavaScript find what they find in Python, on random contracts and values."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import vetro.forms
from tests.forms.test_agreement import PATTERNS, WORDS, World
from tests.forms.world import describer
from vetro.forms.rules import evaluate_form, form_rules

NODE = shutil.which("node")
MODULE = Path(vetro.forms.__file__).with_name("rules.js")
PROGRAM = """
import { evaluateForm } from "./rules.mjs";
import { readFileSync } from "node:fs";
const cases = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(cases.map(([rules, answers]) => evaluateForm(rules, answers))));
"""
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


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_javascript_and_python_find_the_same(tmp_path: Path) -> None:
    rng = random.Random(5)
    cases: list[tuple[Any, Any]] = []
    for contract in CONTRACTS:
        rules = form_rules(World(contract).form)
        cases += [(rules, {"value": made}) for made in [*LEAVES, *(value(rng) for _ in range(60))]]
        cases.append((rules, {}))
    shop = describer().of("t.Shop")
    assert shop is not None
    rules = form_rules(shop.form)
    names = [*shop.fields, "?", "zzz"]
    kept = [{"secret": "kept"}, {"secret": "kept", "at": "/token"}, {"secret": "kept", "x": 1}]
    for _ in range(300):
        answers = {rng.choice(names): rng.choice([value(rng), rng.choice(kept)]) for _ in range(6)}
        cases.append((rules, {**answers, "?": {}}))
    # Beside our package there is no package.json that would say what kind of script it is.
    (tmp_path / "rules.mjs").write_text(MODULE.read_text(encoding="utf-8"), encoding="utf-8")
    program = tmp_path / "run.mjs"
    program.write_text(PROGRAM, encoding="utf-8")
    assert NODE is not None
    done = subprocess.run(
        [NODE, str(program)], input=json.dumps(cases), capture_output=True, text=True, timeout=60, check=True
    )
    found = json.loads(done.stdout)
    for (rules, answers), problems in zip(cases, found, strict=True):
        expected = evaluate_form(rules, answers)
        assert [(p["path"], p["code"]) for p in problems] == [(p.path, p.code) for p in expected], (rules, answers)
        for told, known in zip(problems, expected, strict=True):
            assert told.get("message", known.message) == known.message
    assert sum(1 for problems in found if not problems) > len(found) / 10
