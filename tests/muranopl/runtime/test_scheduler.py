"""Branches: their order, results, variables and failures (SEMANTICS 9.6)."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.muranopl.branches import Run, method
from vetro.muranopl.errors import InvalidOperation, LoopControlOutside, Thrown
from vetro.muranopl.runtime.effects import InProcessEffects


def test_branches_that_do_not_wait_run_one_after_the_other() -> None:
    run = Run(
        method("- Parallel: [$.a(), $.b()]\n- note(end)") + "  a: {Body: [note(1), note(2)]}\n  b: {Body: note(3)}\n"
    )
    run.call()
    assert run.trace == [1, 2, 3, "end"]


def test_sleeping_branches_go_on_in_the_order_of_their_clocks() -> None:
    run = Run(
        method("- Parallel:\n  - Do: [sleep(90), note(a)]\n  - Do: [sleep(30), note(b)]\n  - Do: [sleep(60), note(c)]")
    )
    before = time.monotonic()
    run.call()
    assert run.trace == ["b", "c", "a"]
    assert time.monotonic() - before < 25
    assert run.session.rt.task_clock.now() == 1_700_000_090.0


def test_equal_times_keep_the_order_of_the_branches() -> None:
    run = Run(
        method("Return: range(20).pselect($.nap($))") + "  nap: {Arguments: [{n: {Contract: $.int()}}], Body: []}\n"
    )
    run = Run(
        method("- $t: $this\n- Return: range(20).pselect($t.nap($))")
        + "  nap:\n    Meta: [{e:Synchronize: {onThis: false}}]\n    Arguments: [{n: {Contract: $.int()}}]\n"
        + "    Body: [sleep(1), note($n), sleep(1), note($n + 100), Return: $n]\n"
    )
    assert run.call() == tuple(range(20))
    assert run.trace == [*range(20), *range(100, 120)]


def test_a_limit_keeps_the_rest_waiting() -> None:
    body = "- Limit: 2\n  Parallel:\n" + "".join(
        f"  - Do: [note('+{i}'), sleep({i + 1}), note('-{i}')]\n" for i in range(4)
    )
    run = Run(method(body))
    run.call()
    assert run.trace == ["+0", "+1", "-0", "+2", "-1", "+3", "-2", "-3"]


@pytest.mark.parametrize("limit", ["0", "-1", "'two'", "true", "1.5"])
def test_a_limit_must_be_a_positive_integer(limit: str) -> None:
    with pytest.raises(InvalidOperation, match="Limit of Parallel"):
        Run(method("- Limit: $.l()\n  Parallel: [note(1)]") + f"  l: {{Body: {{Return: {limit}}}}}\n").call()


def test_nested_groups_and_their_effect_keys() -> None:
    run = Run(
        method(
            """
            - outside(first)
            - Parallel:
              - Do:
                - outside(a)
                - Parallel: [outside(aa), outside(ab)]
                - outside(a2)
              - outside(b)
            - outside(last)
            - list(1, 2).pselect(outside($))
            """
        )
    )
    keys: dict[str, Any] = {}

    class Keys(InProcessEffects):
        def perform(self, key: str, kind: str, args: dict[str, Any]) -> Any:
            assert key not in keys
            keys[key] = args["value"]

    run.session.host.effects = Keys()
    run.call()
    assert keys == {
        "0/1": "first",
        "0.0/1": "a",
        "0.0.0/1": "aa",
        "0.0.1/1": "ab",
        "0.0/2": "a2",
        "0.1/1": "b",
        "0/2": "last",
        "0.2/1": 1,
        "0.3/1": 2,
    }


def test_pselect_inside_parallel_keeps_results_in_order() -> None:
    run = Run(
        method(
            """
            - $t: $this
            - Parallel:
              - $a: list(3, 1, 2).pselect($t.lag($))
              - $b: list(30, 10).pselect($t.lag($))
            - Return: [$a, $b]
            """
        )
        + "  lag:\n    Meta: [{e:Synchronize: {onThis: false}}]\n    Arguments: [{n: {Contract: $.int()}}]\n"
        + "    Body: [sleep($n), note($n), Return: $n * 2]\n"
    )
    assert run.call() == ((6, 2, 4), (60, 20))
    assert run.trace == [1, 2, 3, 10, 30]


def test_variables_are_shared_and_loop_variables_are_not() -> None:
    run = Run(
        method(
            """
            - $n: 1
            - $i: outer
            - Parallel:
              - Do:
                - For: i
                  In: [1, 2]
                  Do: [sleep(2), $n: $n + $i]
              - Do:
                - For: i
                  In: [10, 20]
                  Do: [sleep(1), $n: $n + $i]
            - Return: [$n, $i]
            """
        )
    )
    assert run.call() == (34, "outer")


def test_the_first_failure_in_the_order_of_the_list_is_raised_after_all_ended() -> None:
    run = Run(
        method(
            """
            - Parallel:
              - Do: [sleep(1), note(a)]
              - Do: [sleep(3), Throw: Late]
              - Do: [Throw: Early]
              - Do: [sleep(9), note(z)]
            """
        )
    )
    with pytest.raises(Thrown) as caught:
        run.call()
    assert caught.value.names == ("t.Late",)
    assert run.trace == ["a", "z"]
    assert run.rest() == (0, 0, 0, 0)


def test_a_failure_is_caught_around_the_block() -> None:
    run = Run(
        method(
            """
            - Try:
              - Parallel: [$.fail(), note(other)]
              Catch: {With: Bad, As: e, Do: {Return: $e.message}}
            """
        )
        + "  fail: {Body: [sleep(1), {Throw: Bad, Message: oh}]}\n"
    )
    assert run.call() == "oh"
    assert run.trace == ["other"]


def test_return_in_a_branch_returns_from_the_method_after_all_ended() -> None:
    run = Run(
        method(
            """
            - Parallel:
              - Do: [sleep(5), note(slow)]
              - Do: [sleep(1), Return: null]
              - Return: 3
            - note(never)
            """
        )
    )
    assert run.call() is None
    assert run.trace == ["slow"]


def test_return_in_a_nested_group_leaves_all_groups() -> None:
    run = Run(
        method(
            "- Parallel:\n  - Do:\n    - Parallel: [note(1), Return: 7]\n    - note(never)\n  - note(2)\n- note(never)"
        )
    )
    assert run.call() == 7
    assert run.trace == [1, 2]


@pytest.mark.parametrize("word", ["Break", "Continue"])
def test_a_branch_cannot_leave_the_loop_around_the_block(word: str) -> None:
    run = Run(method(f"- For: i\n  In: [1, 2]\n  Do:\n  - Parallel:\n    - {word}:\n    - note($i)"))
    with pytest.raises(LoopControlOutside):
        run.call()
    assert run.trace == [1]


def test_break_inside_a_branch_leaves_the_branch_s_own_loop() -> None:
    run = Run(
        method("- Parallel:\n  - For: i\n    In: [1, 2, 3]\n    Do: [note($i), If: $i = 2, Then: [Break: ]]\n").replace(
            "[note($i), If: $i = 2, Then: [Break: ]]", "[note($i), {If: $i = 2, Then: [{Break: }]}]"
        )
    )
    run.call()
    assert run.trace == [1, 2]


def test_rethrow_inside_a_branch() -> None:
    run = Run(
        method(
            """
            - Parallel:
              - Try: {Throw: Bad}
                Catch: {As: e, Do: [note($e.name), {Rethrow: }]}
            """
        )
    )
    with pytest.raises(Thrown, match="Bad"):
        run.call()
    assert run.trace == ["t.Bad"]
