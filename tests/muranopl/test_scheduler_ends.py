"""How branches end: effects, budgets, cancellation, interrupts; figures and leaks."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

import pytest
from greenlet import greenlet

from tests.muranopl.branches import Run, method
from vetro.muranopl import Limits, VirtualClock
from vetro.muranopl.errors import InvalidOperation, NestingLimit
from vetro.yaql.errors import Cancelled, StepsExceeded


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
    assert time.monotonic() - before < 30
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
        assert time.monotonic() - before < 8  # 10 s when one waits after the other
        traces.append(run.trace)
    assert traces[0] == traces[1] == traces[2] == [*range(50), *range(100, 150)]


@pytest.mark.campaign
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
    from vetro.muranopl.runtime.effects import RecordingEffects, ScriptedEffects

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
