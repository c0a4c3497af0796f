#!/usr/bin/env python3
"""What forms of UI definitions cost: describing, checking, evaluating.

    .venv/bin/python -m benchmarks.forms [--json FILE] [--runs N]

CPU time of this process; of so many runs the median. Exit status 1: a result is not what it has to be.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.workloads.generate import ui_data, ui_expressions
from vetro.forms.dynamic import Package, Surroundings, Wizard, load
from vetro.forms.dynamic.evaluation import Evaluation
from vetro.forms.dynamic.expressions import Expression, forget, parsed
from vetro.muranopl.declarations.tree import Position
from vetro.yaql.values import freeze

FIELDS = 300
COMPUTED = 50
EXPRESSIONS = 5_000


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing: seconds, and the most it may take."""

    name: str
    seconds: float
    goal: float

    def line(self) -> str:
        """As the command prints it."""
        verdict = "" if self.seconds <= self.goal else "  missed"
        return f"{self.name:<58} {self.seconds * 1000:9.2f} ms   goal {self.goal * 1000:6.0f} ms{verdict}"


class _Nothing:
    """A cloud and a catalog in which there is nothing."""

    def __getattr__(self, name: str) -> Callable[..., Sequence[Any]]:
        return lambda *arguments: ()


def definition(fields: int = FIELDS, computed: int = COMPUTED) -> str:
    """A definition of one form with so many fields, of which so many have a computed attribute."""
    kinds = (
        "type: string, initial: hello, regexpValidator: '^[a-z]+$', maxLength: 20",
        "type: integer, initial: 5, minValue: 1, maxValue: 10",
        "type: boolean, initial: true",
        "type: choice, choices: [[a, A], [b, B], [c, C]]",
    )
    lines = ["Version: 2.4", "Parameters: {word: Label}", "Application:", "  ?: {type: com.example.App}"]
    lines += ["  all: $.main", "Forms:", "  - main:", "      fields:"]
    for number in range(fields):
        attributes = f"name: f{number}, {kinds[number % 4]}, helpText: Help, description: Some words about it."
        if number % (fields // computed) == 0:
            attributes += f", label: $word + ' ' + str({number})"
        lines.append(f"        - {{{attributes}}}")
    return "\n".join(lines) + "\n"


def answers(fields: int = FIELDS) -> Mapping[str, str]:
    """What a person sends for it."""
    return {f"f{number}": ("hello", "7", "on", "b")[number % 4] for number in range(fields)}


def median(work: Callable[[], Any], runs: int) -> float:
    """CPU seconds of one run."""
    times = []
    for _ in range(runs):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return statistics.median(times)


def new_expressions(texts: Sequence[str], data: Mapping[str, Any]) -> list[Any]:
    """Expressions that nobody saw before: parsed, built, evaluated."""
    forget()
    frozen = freeze(data)
    env = Evaluation(_surroundings(), frozen).env(frozen)
    place = Position("ui.yaml", 1, 1)
    return [Expression(text, parsed(text), place).evaluate(env) for text in texts]


def _surroundings() -> Surroundings:
    nothing: Any = _Nothing()
    return Surroundings(Package("com.example.App", "App"), nothing, nothing)


def measure(runs: int, fields: int = FIELDS, expressions: int = EXPRESSIONS) -> list[Figure]:
    """All figures. Raises AssertionError where a result is wrong."""
    text = definition(fields, max(1, fields * COMPUTED // FIELDS))
    began = time.process_time()
    wizard = Wizard(load(text), _surroundings())
    loading = time.process_time() - began
    state = wizard.start()
    page = wizard.page(state)
    assert sum(1 for _ in page.fields()) == fields
    outcome = wizard.submit(state, answers(fields))
    assert outcome.kind == "next" and outcome.cleaned["f1"] == 7, outcome.errors
    texts, data = ui_expressions(expressions), ui_data()
    assert new_expressions(texts[:1], data) == ["wordpress"]
    what = f"{fields} fields"
    return [
        Figure(f"{what}: loaded", loading, 0.1),
        Figure(f"{what}: described, warm", median(lambda: wizard.page(state), runs), 0.02),
        Figure(f"{what}: described as JSON, warm", median(lambda: wizard.form(state).as_json(), runs), 0.02),
        Figure(f"{what}: answered, described", median(lambda: wizard.page(outcome.state, 0), runs), 0.02),
        Figure(f"{what}: step checked", median(lambda: wizard.submit(state, answers(fields)), runs), 0.005),
        Figure(f"{expressions} new expressions", median(lambda: new_expressions(texts, data), max(3, runs // 5)), 0.25),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write the figures there, in seconds")
    parser.add_argument("--runs", type=int, default=25, metavar="N")
    options = parser.parse_args(arguments)
    try:
        figures = measure(options.runs)
    except AssertionError as error:
        print(f"wrong result: {error}", file=sys.stderr)
        return 1
    for figure in figures:
        print(figure.line())
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({f.name: {"seconds": f.seconds, "goal": f.goal} for f in figures}, file, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
