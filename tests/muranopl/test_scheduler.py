"""Branches of Parallel and pselect: order, locks, failures, ends, leaks (DESIGN Concurrency; SEMANTICS 7.6, 9.6)."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Mapping
from textwrap import dedent
from typing import Any

import pytest
from greenlet import greenlet

from vetro.muranopl import Engine, Limits, VirtualClock
from vetro.muranopl.effects import InProcessEffects
from vetro.muranopl.errors import InvalidOperation, LoopControlOutside, NestingLimit, Thrown
from vetro.muranopl.native import NativeRegistry
from vetro.packages.memory import memory_package
from vetro.yaql.errors import Cancelled, StepsExceeded

HEAD = "Namespaces: {=: t, e: io.murano.metadata.engine}\n"


class Run:
    """A session over class ``t.Main`` (and others) on a virtual clock; `trace` notes what the package says."""

    def __init__(
        self, body: str, others: Mapping[str, str] | None = None, *, limits: Limits | None = None, clock: Any = None
    ) -> None:
        self.trace: list[Any] = []
        self.handlers: dict[str, Any] = {}
        self.effects = InProcessEffects()
        natives = NativeRegistry()
        classes = {"Main": body, **(others or {})}
        texts = {f"t.{n}": f"{HEAD}Name: {n}\n{dedent(text)}" for n, text in classes.items()}
        package = memory_package({"name": "t", "format": "1.4", "classes": texts})
        from vetro.muranopl.api import default_natives

        base = default_natives()
        self.engine = Engine(
            packages=[package],
            natives=base if base is not None else natives,
            functions={"note": self._note, "outside": self._outside, "native": self._native},
            effects=self.effects,
            limits=limits,
            clock=clock or VirtualClock(),
        )
        self.session = self.engine.session()
        self.session.load({"Objects": {"?": {"type": "t.Main", "id": "main"}}})

    def _note(self, value: Any) -> Any:
        self.trace.append(value)
        return value

    def _outside(self, value: Any) -> Any:
        return self.session.perform("test.outside", {"value": value})

    def _native(self, value: Any) -> Any:
        return self.handlers["native"](value)

    def call(self, name: str = "run", **arguments: Any) -> Any:
        return self.session.call(name, kwargs=arguments, public_only=False)

    def rest(self) -> tuple[int, int, int, int]:
        """What a finished run must not leave: groups, suspended branches, timers, effects under way."""
        s = self.session.scheduler
        return len(s._groups), len(s._parked), len(s._timers), len(s._outside)


def method(body: str, name: str = "run", arguments: str = "") -> str:
    text = f"Methods:\n  {name}:\n"
    if arguments:
        text += f"    Arguments: {arguments}\n"
    return text + "    Body:\n" + "\n".join(f"      {line}" for line in dedent(body).strip("\n").split("\n")) + "\n"


# -- order -------------------------------------------------------------------------------------------------------------


def test_branches_that_do_not_wait_run_one_after_the_other() -> None:
    run = Run(
        method("- Parallel: [$.a(), $.b()]\n- note(end)") + "  a: {Body: [note(1), note(2)]}\n  b: {Body: note(3)}\n"
    )
    run.call()
    assert run.trace == [1, 2, 3, "end"]


def test_sleeping_branches_go_on_in_the_order_of_their_clocks() -> None:
    run = Run(
        method("- Parallel:\n  - Do: [sleep(3), note(a)]\n  - Do: [sleep(1), note(b)]\n  - Do: [sleep(2), note(c)]")
    )
    before = time.monotonic()
    run.call()
    assert run.trace == ["b", "c", "a"]
    assert time.monotonic() - before < 1
    assert run.session.rt.task_clock.now() == 1_700_000_003.0


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


# -- results, variables, failures --------------------------------------------------------------------------------------


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


# -- locks -------------------------------------------------------------------------------------------------------------

SLOW = """  slow:
    Arguments: [{n: {Contract: $.int()}}]
    Body: [note('+' + str($n)), sleep(1), note('-' + str($n))]
"""


@pytest.mark.parametrize("count", [2, 3, 7])
def test_a_method_never_runs_twice_at_once_on_an_object(count: int) -> None:
    calls = ", ".join(f"$.slow({i})" for i in range(count))
    run = Run(method(f"Parallel: [{calls}]") + SLOW)
    run.call()
    assert run.trace == [f"{sign}{i}" for i in range(count) for sign in "+-"]
    assert run.rest() == (0, 0, 0, 0)


def test_other_objects_and_other_methods_are_not_locked() -> None:
    run = Run(
        method("- $a: new(Other)\n- $b: new(Other)\n- Parallel: [$a.slow(1), $b.slow(2), $a.more(3)]"),
        {"Other": "Methods:\n" + SLOW + SLOW.replace("slow", "more")},
    )
    run.call()
    assert run.trace == ["+1", "+2", "+3", "-1", "-2", "-3"]


def test_inherited_methods_lock_the_object() -> None:
    run = Run(
        method("- $a: new(Other)\n- Parallel: [$a.slow(1), $a.slow(2)]"),
        {"Other": "Extends: Base\n", "Base": "Methods:\n" + SLOW},
    )
    run.call()
    assert run.trace == ["+1", "-1", "+2", "-2"]


def test_statics_lock_the_class() -> None:
    run = Run(
        method("Parallel:\n- :Other.slow(1)\n- :Other.slow(2)"),
        {"Other": "Methods:\n" + SLOW.replace("    Arguments", "    Usage: Static\n    Arguments")},
    )
    run.call()
    assert run.trace == ["+1", "-1", "+2", "-2"]


def test_re_entry_in_one_branch_is_free() -> None:
    run = Run(
        method("Parallel: [$.down(3), note(x)]")
        + """  down:
    Arguments: [{n: {Contract: $.int()}}]
    Body: [sleep(1), note($n), {If: $n > 0, Then: $.down($n - 1)}]
"""
    )
    run.call()
    assert run.trace == ["x", 3, 2, 1, 0]


def test_a_lock_of_an_ancestor_does_not_block_but_siblings_do() -> None:
    run = Run(
        method("- $.outer(true)")
        + """  outer:
    Arguments: [{first: {Contract: $.bool()}}]
    Body:
    - note('+')
    - If: $first
      Then: {Parallel: [$.outer(false), $.outer(false)]}
      Else: sleep(1)
    - note('-')
"""
    )
    run.call()
    assert run.trace == ["+", "+", "-", "+", "-", "-"]


def test_waiting_branches_enter_in_the_order_in_which_they_came() -> None:
    run = Run(
        method("""
        Parallel:
        - $.slow(0)
        - Do: [sleep(0.5), $.slow(1)]
        - Do: [sleep(0.1), $.slow(2)]
        - Do: [sleep(0.3), $.slow(3)]
    """)
        + SLOW
    )
    run.call()
    assert run.trace == ["+0", "-0", "+2", "-2", "+3", "-3", "+1", "-1"]


def test_synchronize_takes_the_lock_off() -> None:
    run = Run(
        method("Parallel: [$.slow(1), $.slow(2)]")
        + SLOW.replace("slow:\n", "slow:\n    Meta: [{e:Synchronize: {onThis: false}}]\n")
    )
    run.call()
    assert run.trace == ["+1", "+2", "-1", "-2"]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("$.slow(1), $.slow(2)", ["+1", "+2", "-1", "-2"]),
        ("$.slow(1), $.slow(1)", ["+1", "-1", "+1", "-1"]),
        ("$.slow(1), $.slow('1')", ["+1", "-1", "+1", "-1"]),
    ],
)
@pytest.mark.parametrize("this", ["", "onThis: false, "])
def test_synchronize_on_arguments(calls: str, expected: list[str], this: str) -> None:
    slow = SLOW.replace("slow:\n", f"slow:\n    Meta: [{{e:Synchronize: {{{this}onArgs: [n]}}}}]\n")
    slow = slow.replace("sleep(1), note('-' + str($n))", "$m: $n, $n: 77, sleep(1), note('-' + str($m))")
    run = Run(method(f"Parallel: [{calls}]") + slow)
    run.call()
    assert run.trace == expected


def test_synchronize_on_a_deeply_nested_argument_is_refused() -> None:
    slow = SLOW.replace("slow:\n", "slow:\n    Meta: [{e:Synchronize: {onArgs: [n]}}]\n").replace("$.int()", "$")
    run = Run(
        method("""
        - $x: []
        - Repeat: 100000
          Do: {$x: [$x]}
        - Parallel: [$.slow(1), $.slow($x)]
    """)
        + slow.replace("str($n)", "'n'")
    )
    with pytest.raises(Exception, match="nested deeper"):
        run.call()


DEADLOCK = {
    "A": """Properties: {o: {Contract: $, Usage: Runtime}}
Methods:
  go:
    Arguments: [{again: {Contract: $.bool(), Default: true}}]
    Body: [sleep(1), {If: $again, Then: $.o.go(false)}]
  set:
    Arguments: [{o: {Contract: $}}]
    Body: {$.o: $o}
"""
}


def test_branches_that_wait_for_each_other_are_reported_with_both_stacks() -> None:
    run = Run(
        method("""
        - $a: new(A)
        - $b: new(A)
        - $a.set($b)
        - $b.set($a)
        - Parallel: [$a.go(), $b.go(), note(other)]
    """),
        DEADLOCK,
    )
    with pytest.raises(InvalidOperation, match="wait for each other") as caught:
        run.call()
    text = str(caught.value)
    assert "branch 0.0 waits for t.A::go" in text and "branch 0.1 waits for t.A::go" in text
    notes = caught.value.__notes__
    assert any(n.startswith("branch 0.0: t.A::go in line") for n in notes), notes
    assert any(n.startswith("branch 0.1:") for n in notes)
    assert run.trace == ["other"]
    assert run.rest() == (0, 0, 0, 0)


def test_a_deadlock_is_found_at_once_though_another_branch_could_wait_for_ever() -> None:
    run = Run(
        method("""
        - $a: new(A)
        - $b: new(A)
        - $a.set($b)
        - $b.set($a)
        - Parallel:
          - $.both($a, $b)
          - $.watch()
    """)
        + """  both:
    Arguments: [{a: {Contract: $}}, {b: {Contract: $}}]
    Body:
      Try: {Parallel: [$a.go(), $b.go()]}
      Catch: {As: e, Do: note($e.name)}
  watch:
    Body: [sleep(5), note(watched)]
""",
        DEADLOCK,
    )
    run.call()
    assert run.trace == ["murano.dsl.exceptions.DslInvalidOperationError", "watched"]


def test_a_deadlock_through_a_group_is_found() -> None:
    """0.0 is inside x.m and waits for its own branch 0.0.0, that one for y.m, 0.1 inside y.m waits for x.m."""
    run = Run(
        method("""
        - $x: new(P)
        - $y: new(P)
        - Parallel:
          - $x.m($y, true)
          - $y.m($x, false)
    """),
        {
            "P": """Methods:
  m:
    Arguments: [{o: {Contract: $}}, {group: {Contract: $.bool()}}]
    Body:
    - sleep(1)
    - If: $o = null
      Then: {Return: }
    - If: $group
      Then:
        Parallel:
        - $o.m(null, false)
        - note(second)
      Else:
      - sleep(1)
      - $o.m(null, false)
"""
        },
    )
    with pytest.raises(InvalidOperation, match="wait for each other"):
        run.call()
    assert run.rest() == (0, 0, 0, 0)


# -- effects -----------------------------------------------------------------------------------------------------------


def test_effects_of_branches_overlap_and_are_answered_in_order_on_a_virtual_clock() -> None:
    run = Run(method("Return: range(8).pselect(note(outside($)))"))
    barrier = threading.Barrier(8)

    def handler(args: dict[str, Any]) -> Any:
        barrier.wait(10)
        time.sleep(0.002 * (8 - args["value"]))
        return args["value"] * 10

    run.effects.register("test.outside", handler)
    assert run.call() == tuple(range(0, 80, 10))
    assert run.trace == list(range(0, 80, 10))
    run.session.close()


def test_a_failing_effect_fails_its_branch_only() -> None:
    run = Run(
        method("""
        - Parallel:
          - Try: outside(1)
            Catch: {As: e, Do: note($e.message)}
          - note(outside(2))
    """)
    )

    def handler(args: dict[str, Any]) -> Any:
        if args["value"] == 1:
            raise ValueError("refused")
        return "fine"

    run.effects.register("test.outside", handler)
    run.call()
    assert run.trace == ["refused", "fine"]
    run.session.close()


def test_an_effect_of_the_only_branch_runs_in_the_caller_s_thread() -> None:
    run = Run(method("Return: outside(1)"))
    run.effects.register("test.outside", lambda args: threading.current_thread() is threading.main_thread())
    assert run.call() is True


# -- ends --------------------------------------------------------------------------------------------------------------


def test_an_empty_budget_ends_all_branches_and_runs_their_finally_blocks() -> None:
    run = Run(
        method("""
        - Parallel:
          - Try: sleep(100)
            Finally: note(cleaned)
          - Do:
            - sleep(1)
            - Parallel:
              - Try: sleep(50)
                Finally: note(inner)
              - While: 1 = 1
                Do: $.step()
          - Do: [sleep(1000), note(never)]
        - note(never)
    """)
        + "  step: {Body: []}\n",
        limits=Limits(max_steps=5_000),
    )
    with pytest.raises(StepsExceeded):
        run.call()
    assert run.trace == ["cleaned", "inner"]
    assert run.rest() == (0, 0, 0, 0)


def test_cancelling_from_a_branch_refuses_what_finally_blocks_begin() -> None:
    run = Run(
        method("""
        - Parallel:
          - Try: sleep(100)
            Finally: [note(a), outside(1), note(never)]
          - Do: [sleep(1), native(cancel), note(still), $.step(), note(never)]
          - Try: sleep(100)
            Catch: {Do: note(never)}
    """)
        + "  step: {Body: []}\n"
    )
    run.effects.register("test.outside", lambda args: run.trace.append("performed"))
    run.handlers["native"] = lambda value: run.session.rt.cancel("enough")
    with pytest.raises(Cancelled, match="enough"):
        run.call()
    assert run.trace == ["still", "a"]
    assert run.rest() == (0, 0, 0, 0)


@pytest.mark.parametrize("body", ["sleep(60)", "Parallel: [sleep(60), sleep(70)]"])
def test_cancelling_from_another_thread_ends_a_sleep_on_the_real_clock(body: str) -> None:
    from vetro.muranopl import RealClock

    run = Run(method(f"- {body}"), clock=RealClock())
    timer = threading.Timer(0.1, run.session.cancel)
    timer.start()
    before = time.monotonic()
    with pytest.raises(Cancelled):
        run.call()
    assert time.monotonic() - before < 5
    timer.join()


def test_cancelling_from_another_thread_ends_a_loop() -> None:
    run = Run(method("- While: 1 = 1\n  Do: $.step()") + "  step: {Body: []}\n")
    timer = threading.Timer(0.05, run.session.cancel)
    timer.start()
    with pytest.raises(Cancelled):
        run.call()
    timer.join()


def test_an_interrupt_in_a_branch_ends_the_run() -> None:
    run = Run(
        method("Parallel: [sleep(5), native(1), $.last()]") + "  last: {Body: {Try: sleep(9), Finally: note(f)}}\n"
    )

    def interrupt(value: Any) -> None:
        run.session.scheduler.sleep(1)
        raise KeyboardInterrupt

    run.handlers["native"] = interrupt
    with pytest.raises(KeyboardInterrupt):
        run.call()
    assert run.trace == ["f"]
    assert run.rest() == (0, 0, 0, 0)
    assert Run(method("Return: 1")).call() == 1


def test_an_interrupt_while_everybody_waits_ends_the_run() -> None:
    class Clock(VirtualClock):
        def advance(self, seconds: float) -> None:
            raise KeyboardInterrupt

    run = Run(method("Parallel: [{Try: sleep(5), Finally: note(f)}, sleep(6)]"), clock=Clock())
    with pytest.raises(KeyboardInterrupt):
        run.call()
    assert run.trace == ["f"]
    assert run.rest() == (0, 0, 0, 0)
    run.session.rt.task_clock = VirtualClock()
    run.trace.clear()
    run.call()
    assert run.trace == ["f"]


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("waiting", [False, True])
def test_steps_are_counted_exactly_in_branches(parallel: bool, waiting: bool) -> None:
    nap = "sleep(1)" if waiting else "note(0)"
    body = f"Do: [{nap}, {{For: i, In: range(10), Do: $.step()}}]"
    block = f"Parallel:\n  - {body}\n  - {body}\n  - {body}" if parallel else f"Do:\n  - {body}\n  - {body}\n  - {body}"
    run = Run(method(f"- {block}") + "  step: {Body: []}\n")
    before = run.session.rt.steps_left()
    run.call()
    assert before - run.session.rt.steps_left() == 1 + 3 * 20


@pytest.mark.parametrize("seconds", ["10.0 * 10000000000", "10000000000000000000000000000000000000"])
def test_sleep_refuses_times_without_end(seconds: str) -> None:
    with pytest.raises(InvalidOperation, match="cannot sleep"):
        Run(method(f"- sleep({seconds})")).call()


# -- figures and leaks -------------------------------------------------------------------------------------------------


def test_fifty_branches_wait_at_the_same_time_on_the_real_clock() -> None:
    from vetro.muranopl import RealClock

    body = "- $t: $this\n- Return: range(50).pselect($t.nap($))"
    nap = (
        "  nap:\n    Meta: [{e:Synchronize: {onThis: false}}]\n    Arguments: [{n: {Contract: $.int()}}]\n"
        "    Body: [note($n), sleep(0.2), note($n + 100), Return: $n]\n"
    )
    traces = []
    for _ in range(3):
        run = Run(method(body) + nap, clock=RealClock())
        before = time.monotonic()
        assert run.call() == tuple(range(50))
        assert time.monotonic() - before < 0.4
        traces.append(run.trace)
    assert traces[0] == traces[1] == traces[2] == [*range(50), *range(100, 150)]


def test_ten_thousand_groups_leave_nothing_behind() -> None:
    run = Run(
        method(
            """
        - Repeat: 10000
          Do:
            Try: {Parallel: [$.step(), sleep(1), {Throw: Bad}]}
            Catch: {With: Bad}
    """.replace("{Throw: Bad}", "$.fail()")
        )
        + "  step: {Body: []}\n  fail: {Body: {Throw: Bad}}\n"
    )
    run.call()
    gc.collect()
    before = sum(isinstance(o, greenlet) for o in gc.get_objects())
    run.call()
    gc.collect()
    assert sum(isinstance(o, greenlet) for o in gc.get_objects()) <= before
    assert run.rest() == (0, 0, 0, 0)


def test_groups_may_not_nest_without_end() -> None:
    run = Run(method("Parallel: [$.run()]"))
    with pytest.raises(NestingLimit):
        run.call()
    assert run.rest() == (0, 0, 0, 0)
    run = Run(method("Parallel: [$.down()]", "run") + "  down: {Body: [sleep(1), {Parallel: [$.down()]}]}\n")
    with pytest.raises(NestingLimit):
        run.call()
    assert run.rest() == (0, 0, 0, 0)


def test_a_replay_answers_in_the_recorded_order_of_completion() -> None:
    from vetro.muranopl import RealClock
    from vetro.muranopl.effects import RecordingEffects, ScriptedEffects

    run = Run(method("- Return: range(6).pselect(note(outside(note($)) + outside(10 + $)))"), clock=RealClock())

    def handler(args: dict[str, Any]) -> Any:
        time.sleep(0.01 * ((7 * args["value"]) % 6))
        return args["value"] * 100

    run.effects.register("test.outside", handler)
    recording = RecordingEffects(run.effects)
    run.engine.effects = recording
    texts = []
    for effects in (recording, ScriptedEffects(recording.records)):
        run.engine.effects = effects if effects is recording else ScriptedEffects(recording.records)
        run.session = run.engine.session()
        run.session.load({"Objects": {"?": {"type": "t.Main", "id": "main"}}})
        run.trace.clear()
        result = run.call()
        texts.append((result, list(run.trace)))
        run.session.close()
    assert texts[0] == texts[1]
    finished = [value for value in texts[0][1] if value >= 100]
    assert finished != sorted(finished), "the answers came in the order of asking: nothing was shown"
    assert run.session.host.effects.unused == []


def test_waiting_keeps_nothing_alive_that_methods_let_go_of() -> None:
    run = Run(
        method(
            """
            - Parallel:
              - Do: [$.work(), native(collect), note(collected)]
              - sleep(5)
            """
        )
        + """  work:
    Body:
    - $x: new(Item)
    - $y: $.inner(new(Item))
    - sleep(1)
    - $x: null
    - native(collect)
    - note(between)
  inner: {Arguments: [{i: {Contract: $}}], Body: sleep(1)}
""",
        {"Item": "Methods: {.destroy: {Body: note(gone)}}"},
    )
    run.handlers["native"] = lambda value: run.session.gc.collect()
    run.call()
    assert run.trace == ["gone", "gone", "between", "collected"]
