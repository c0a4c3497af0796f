"""One method at a time on an object: locks, Synchronize, deadlocks (SEMANTICS 7.6)."""

from __future__ import annotations

import pytest

from tests.muranopl.branches import Run, method
from vetro.muranopl.errors import InvalidOperation

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
