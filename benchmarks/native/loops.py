"""Loops, exceptions and loops over what the engine runs in branches."""

from __future__ import annotations

from typing import Any

from benchmarks.native.base import Native, Violation, nothing


def while_loop(n: int, state: Any) -> int:
    i = acc = 0
    while i < n:
        if i % 3 == 0:
            acc = acc + i * 2
        else:
            acc = acc - 1
        i = i + 1
    return acc


def for_loop(n: int, state: Any) -> dict[str, int]:
    acc = odd = 0
    for x in range(n):
        if x % 7 == 3 and x > 10:
            continue
        if x % 2 == 1:
            odd += 1
        acc = (acc + x * x) % 1000003
    return {"acc": acc, "odd": odd}


def fan_out(n: int, state: Any) -> dict[str, int]:
    done = [0]

    def work(x: Any) -> int:
        if x.__class__ is not int:
            raise Violation("x")
        done[0] += 1
        return int(x * x)

    return {"sum": sum([work(x) for x in range(n)]), "done": done[0]}


def steps(n: int, state: Any) -> int:
    done = [0]

    def step(x: Any) -> None:
        if x.__class__ is not int:
            raise Violation("x")
        done[0] += x

    for i in range(n):
        step(i)
    return done[0]


class EvenError(Exception):
    pass


def guarded(n: int, state: Any) -> list[int]:
    def risky(i: Any) -> Any:
        if i.__class__ is not int:
            raise Violation("i")
        if i % 2 == 0:
            raise EvenError("even")
        return i

    i = caught = passed = ended = 0
    while i < n:
        try:
            risky(i)
        except EvenError:
            caught += 1
        else:
            passed += 1
        finally:
            ended += 1
        i += 1
    return [caught, passed, ended]


NATIVE = {
    "a1_while": Native(nothing, while_loop),
    "a2_for": Native(nothing, for_loop),
    "k1_pselect": Native(nothing, fan_out),
    "k2_parallel": Native(nothing, steps),
    "l1_trycatch": Native(nothing, guarded),
}
