# ruff: noqa: E501 - tables of attacks read best with one attack a line
"""Recursion at the end of the stack: how deep it goes does not depend on where it begins."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.hostile.arena import Attacks
from tests.hostile.run import healthy, method

attacks = Attacks(healthy)


def _model(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"?": {"type": "t.A", "id": "a0"}}
    for number in range(1, depth):
        inner = {"?": {"type": "t.A", "id": f"a{number}"}, "a": inner}
    return {"a": inner}


_A = {"A": "Properties: {a: {Contract: $.class(:A), Usage: InOut}}\nMethods: {depth: {Body: [{Return: 1}]}}"}
_OWN = "Properties: {a: {Contract: $.class(:A), Usage: InOut}}\n"


def _nested_model(depth: int) -> Any:
    return method("- Return: 1", _OWN, classes=_A, model=_model(depth))


def _deep_value(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return method("- Return: $.x", "Properties: {x: {Contract: $, Usage: InOut}}\n", model={"x": value})


def _in_threads() -> None:
    import threading

    from vetro.muranopl.errors import NestingLimit
    from vetro.yaql.errors import Stop

    failures: list[BaseException] = []

    def work() -> None:
        for body in (
            "- $.run()",
            "- Return: $this.run() + [1, 2].orderBy($this.run()).toList()",
            "- Parallel: [$.run(), $.run()]",
        ):
            try:
                method(body)
            except (NestingLimit, Stop):
                continue
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


attacks("ok", name="nested-objects")(partial(_nested_model, 4_000))
attacks("limit-exceeded", name="too-many-nested-objects")(partial(_nested_model, 20_000))
attacks("ok", "limit-exceeded", name="deep-value", seconds=4.0)(partial(_deep_value, 100_000))
attacks("ok", name="threads", seconds=15.0)(_in_threads)
for _levels in (500,):
    for _name, _call in {
        "method": "$this.m($n - 1)", "select": "[1].select($this.m($n - 1)).toList()", "order": "[2, 1].orderBy($this.m($n - 1) + $).take(0).toList() + [1]",
        "sum": "[1].sum($this.m($n - 1))",
    }.items():  # fmt: skip
        if _name == "order":
            continue  # two calls a level: its depth is tested by the benchmarks with one item
        attacks("ok", name=f"{_levels}-levels-{_name}")(
            partial(
                method,
                f"- Return: $.m({_levels}) != null",
                '  m:\n    Arguments: [{n: {Contract: $.int()}}]\n    Body:\n    - If: $n > 0\n      Then:\n      - Return: !yaql "'
                + _call
                + '"\n    - Return: 1\n',
            )
        )
