# ruff: noqa: E501 - tables of attacks read best with one attack a line
"""Attacks that are methods: loops without end, recursion by every way in, bodies of any size, Catch and Finally."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from tests.hostile.arena import Attacks
from tests.hostile.run import LIMITS, PATIENT, expression, healthy, method
from vetro.muranopl.runtime.execution import RealClock
from vetro.yaql.errors import TimeExceeded

attacks = Attacks(healthy)
LIMIT = "limit-exceeded"
#: Only the clock ends these.
TIMED = replace(LIMITS, max_steps=10**12, max_seconds=0.2)


def _try(name: str, body: str, rest: str = "", *kinds: str, **more: Any) -> None:
    if kinds and LIMIT not in kinds:
        more.setdefault("limits", PATIENT)
    attacks(*(kinds or (LIMIT,)), name=name)(partial(method, body, rest, **more))


# -- loops ---------------------------------------------------------------------------------------------------------------
_try("while", "- While: 1 = 1\n  Do: []")
_try("while-continue", "- While: 1 = 1\n  Do: [{Continue: }]")
_try("while-call", "- While: 1 = 1\n  Do: [$.m()]", "  m: {Body: [{Return: 1}]}\n")
_try("repeat", "- Repeat: 1000000000000\n  Do: []")
_try("for", "- For: i\n  In: range(1000000000000)\n  Do: []")
_try("nested-for", "- For: i\n  In: range(100000)\n  Do:\n  - For: j\n    In: range(100000)\n    Do: []")
_try("for-endless", "- For: i\n  In: sequence()\n  Do: []")
_try("doubling-text", "- $x: x\n- While: 1 = 1\n  Do: [{$x: $x + $x}]")
_try("doubling-list", "- $x: [1]\n- While: 1 = 1\n  Do: [{$x: $x + $x}]")
_try(
    "growing-property",
    "- While: 1 = 1\n  Do:\n  - $.x: $.x + [1]",
    "Properties:\n  x: {Contract: [$.int()], Usage: Runtime, Default: []}\n",
)
_try("squaring", "- $x: 3\n- While: 1 = 1\n  Do: [{$x: $x * $x}]")
_try("doubling-number", "- $x: 3\n- While: 1 = 1\n  Do: [{$x: $x + $x}]", limits=TIMED)
_try("many-keys", "- $x: {}\n- $i: 0\n- While: 1 = 1\n  Do:\n  - $x[$i]: 1\n  - $i: $i + 1", limits=TIMED)
_try("many-objects", "- While: 1 = 1\n  Do: [new(std:Object)]")
_try("many-branches", "- range(1000000).pselect($)\n- While: 1 = 1\n  Do: []")
_try("timed-while", "- While: 1 = 1\n  Do: []", limits=TIMED)
_try("timed-for", "- For: i\n  In: range(200000)\n  Do:\n  - For: j\n    In: range(200000)\n    Do: []", limits=TIMED)
_try("timed-any", "- Return: range(200000).any(range(200000).any($ = a))", limits=TIMED)
_try("timed-sum", "- Return: range(200000).select(range(200000).select($ + 1).sum()).sum()", limits=TIMED)
_try("timed-order", "- Return: range(200000).orderBy(range(2000).sum()).first()", limits=TIMED)
_try(
    "caught-stop", "- While: 1 = 1\n  Do:\n  - Try:\n    - While: 1 = 1\n      Do: []\n    Catch:\n    - Do: [{$x: 1}]"
)
_try(
    "caught-time",
    "- While: 1 = 1\n  Do:\n  - Try:\n    - While: 1 = 1\n      Do: []\n    Catch:\n    - Do: [{$x: 1}]",
    limits=TIMED,
)
_try("finally-loops", "- Try:\n  - While: 1 = 1\n    Do: []\n  Finally:\n  - While: 1 = 1\n    Do: []")
_try(
    "finally-loops-timed",
    "- Try:\n  - While: 1 = 1\n    Do: []\n  Finally:\n  - While: 1 = 1\n    Do: []",
    limits=TIMED,
)
_try(
    "finally-returns", "- Try:\n  - While: 1 = 1\n    Do: []\n  Finally:\n  - Return: 1", "", LIMIT, "ok", limits=TIMED
)
_try(
    "finally-breaks",
    "- While: 1 = 1\n  Do:\n  - Try:\n    - While: 1 = 1\n      Do: []\n    Finally:\n    - Continue:",
    limits=TIMED,
)
_try(
    "finally-breaks-steps",
    "- While: 1 = 1\n  Do:\n  - Try:\n    - While: 1 = 1\n      Do: []\n    Finally:\n    - Continue:",
)
_try("finally-calls", "- Try:\n  - While: 1 = 1\n    Do: []\n  Finally:\n  - $.run()")
_try("parallel-loops", "- Parallel:\n  - While: 1 = 1\n    Do: []\n  - While: 1 = 1\n    Do: []")
_try(
    "parallel-sleeps",
    "- Parallel:\n  - Do:\n    - Try: [sleep(1000)]\n      Finally: [sleep(1000)]\n  - While: 1 = 1\n    Do: []",
)
_try(
    "parallel-timed",
    "- Parallel:\n  - Do:\n    - Try: [sleep(0)]\n      Finally: [sleep(0)]\n  - While: 1 = 1\n    Do: []",
    limits=TIMED,
)
_try("parallel-nested", "- Parallel:\n  - $.run()\n  - $.run()")
_try("parallel-catch", "- Try:\n  - Parallel:\n    - While: 1 = 1\n      Do: []\n  Catch:\n  - Do: [{Return: 1}]")

# -- recursion -----------------------------------------------------------------------------------------------------------
_try("recursion", "- $.run()")
_try("recursion-caught", "- Try: [$.run()]\n  Catch: [{Do: [$.run()]}]")
_try("recursion-finally", "- Try: [$.run()]\n  Finally: [$.run()]")
_try("recursion-return", "- Return: $.run() + $.run()")
for _name, _call in {
    "select": "[1].select($this.run()).toList()", "order": "[1, 2].orderBy($this.run()).toList()", "any": "[1].any($this.run())",
    "sum": "[1, 2].sum($this.run())", "switch": "switch(true => $this.run())", "let": "let(a => $this.run()) -> $a",
    "dict": "[1].toDict($this.run())", "regex": "regex('x').replaceBy('x', $this.run())", "pselect": "[1, 2].pselect($this.run())",
    "generate": "generate(1, $this.run(), 2).toList()", "aggregate": "[1, 2].aggregate($this.run())", "format": "format('{0}', $this.run())",
    "group": "[1, 2].groupBy($this.run()).toList()", "def": "def(f, $this.run()) -> f()", "call": "call(run, [], {}, $this)",
    "mutual": "[2, 1].orderBy($this.other()).toList()", "distinct": "[1, 2].distinct($this.run()).toList()", "coalesce": "coalesce($this.run())",
    "set": "set([1].select($this.run()))", "join": "[1].join([2], $this.run(), 1).toList()", "merge": "{a => [1]}.mergeWith({a => [1]}, $this.run())",
}.items():  # fmt: skip
    _try(
        f"recursion-{_name}",
        f'- Return: !yaql "{_call}"',
        "  other: {Body: [{Return: $.run()}]}\n",
        LIMIT,
        "unresolved-call",
        "property-error",
        "bad-argument",
    )
    _try(
        f"recursion-caught-{_name}",
        f'- Try:\n  - Return: !yaql "{_call}"\n  Catch:\n  - Do: [{{Return: 1}}]',
        "  other: {Body: [{Return: $.run()}]}\n",
        LIMIT,
        "ok",
    )
_try("recursion-default", "- $.m()", "  m: {Arguments: [{a: {Contract: $, Default: $.m()}}], Body: []}\n")
_try(
    "recursion-check",
    "- $.m(1)",
    "  m: {Arguments: [{a: {Contract: $.check($this.m($))}}], Body: []}\n",
    LIMIT,
    "contract-violation",
)
_try("recursion-init", "- new(:A)", "", classes={"A": "Methods: {.init: {Body: [new(:A)]}}"})
_try(
    "recursion-property-default",
    "- new(:A)",
    "",
    LIMIT,
    classes={"A": "Properties: {a: {Contract: $.class(:A), Default: {':A': {}}}}"},
)
_try(
    "recursion-setter",
    "- $.x: 1",
    "  m: {Body: [{$.x: 1}, {Return: true}]}\nProperties: {x: {Contract: $.check($this.m()), Usage: InOut, Default: 0}}\n",
    LIMIT,
    "contract-violation",
    "uninitialized",
    "property-error",
)
_try(
    "recursion-static", "- :A.m()", "", classes={"A": 'Methods: {m: {Usage: Static, Body: [{Return: !yaql ":A.m()"}]}}'}
)

# -- bodies ------------------------------------------------------------------------------------------------------------


def _nested(levels: int, opening: str, inner: str = "- $x: 1") -> str:
    lines = ["- $x: 0", "- $l: [1]"]
    indent = ""
    for level in range(levels):
        block = opening.replace("N", str(level))
        lines += [indent + line for line in block.split("\n")]
        indent += "    "
    lines.append(indent + inner)
    lines.append("- Return: $x")
    return "\n".join(lines)


for _name, _opening in {
    "if": "- If: true\n  Then:", "for": "- For: iN\n  In: $l\n  Do:", "while": "- While: $x = 0\n  Do:", "repeat": "- Repeat: 1\n  Do:",
    "try": "- Try:", "do": "- Do:", "parallel": "- Parallel:", "match": "- Match:\n   1:\n    - $y: 1\n  Value: 1\n- If: true\n  Then:",
    "switch": "- Switch:\n   true:", "catch": "- Try: [{Throw: X}]\n  Catch:\n   As: eN\n   Do:", "mixed": "- For: iN\n  In: $l\n  Do:\n  - Try:\n    - $x: 0\n    Finally:\n    - $y: 0\n- If: true\n  Then:",
}.items():  # fmt: skip
    if _name == "try":
        for _levels in (15, 30, 150):
            _text = "- Return: 1"
            for _ in range(_levels):
                _text = (
                    "- Try:\n" + "\n".join("    " + line for line in _text.split("\n")) + "\n  Finally:\n    - $x: 1"
                )
            _try(f"nested-try-{_levels}", _text, "", "ok", LIMIT, "syntax")
        continue
    for _levels in (15, 30, 150):
        _try(f"nested-{_name}-{_levels}", _nested(_levels, _opening), "", "ok", LIMIT, "syntax")
_try("ten-thousand-statements", "\n".join(["- $x: 0"] + ["- $x: $x + 1"] * 10_000 + ["- Return: $x"]), "", "ok")
_try("many-variables", "\n".join([f"- $v{i}: {i}" for i in range(3000)] + ["- Return: $v2999"]), "", "ok")
_try("many-cases", "- Match:\n" + "\n".join(f"   {i}: []" for i in range(3000)) + "\n  Value: 2999", "", "ok", LIMIT)
_try("many-switches", "- Switch:\n" + "\n".join(f"   $x = {i}: []" for i in range(3000)), "", "ok")
_try(
    "many-handlers",
    "- Try: [{Throw: Y}]\n  Catch:\n" + "\n".join(f"  - {{With: X{i}, Do: []}}" for i in range(2000)),
    "",
    "thrown",
    LIMIT,
)
_try(
    "many-branches-written",
    "- Parallel:\n" + "\n".join(f"  - $v{i}: {i}" for i in range(1000)) + "\n- Return: $v999",
    "",
    "ok",
)
_try(
    "many-arguments",
    "- $.m()",
    "  m:\n    Arguments:\n"
    + "\n".join(f"    - a{i}: {{Contract: $.int(), Default: {i}}}" for i in range(500))
    + "\n    Body: [{Return: $a499}]\n",
    "ok",
)
_try(
    "pass-many-arguments",
    "- $.m(" + ", ".join(str(i) for i in range(500)) + ")",
    "  m: {Arguments: [{a: {Contract: $, Usage: VarArgs}}], Body: [{Return: $a.len()}]}\n",
    "ok",
)
_try(
    "pass-many-keywords",
    "- $.m(" + ", ".join(f"k{i} => {i}" for i in range(500)) + ")",
    "  m: {Arguments: [{a: {Contract: $, Usage: KwArgs}}], Body: [{Return: $a.len()}]}\n",
    "ok",
)
_try("many-methods", "- $.m1999()", "".join(f"  m{i}: {{Body: [{{Return: {i}}}]}}\n" for i in range(2000)), "ok")
_try(
    "many-properties",
    "- Return: $.p1999",
    "Properties:\n" + "".join(f"  p{i}: {{Contract: $.int(), Default: {i}}}\n" for i in range(2000)),
    "ok",
)
_try(
    "many-classes",
    "- Return: new(:C999).m()",
    "",
    "ok",
    classes={
        f"C{i}": f"Extends: :C{i - 1}\n" if i % 50 else "Methods: {m: {Body: [{Return: 1}]}}" for i in range(1000)
    },
)
_try(
    "deep-hierarchy",
    "- Return: new(:C1499).m()",
    "",
    "ok",
    LIMIT,
    classes={f"C{i}": f"Extends: :C{i - 1}\n" if i else "Methods: {m: {Body: [{Return: 1}]}}" for i in range(1500)},
)
_try(
    "diamonds",
    "- Return: new(:C40b).m()",
    "",
    "ok",
    LIMIT,
    classes={
        f"C{i}{x}": f"Extends: [':C{i - 1}a', ':C{i - 1}b']\n" if i else "Methods: {m: {Body: [{Return: 1}]}}"
        for i in range(41)
        for x in "ab"
    }
    | {"C0b": "Extends: :C0a"},
)
_try(
    "self-parent",
    "- new(:A)",
    "",
    "invalid-inheritance",
    LIMIT,
    "class-not-found",
    classes={"A": "Extends: :B", "B": "Extends: :A"},
)
_try(
    "deep-contract",
    "- $.m([[1]])",
    "  m: {Arguments: [{a: {Contract: " + "[" * 300 + "$.int()" + "]" * 300 + "}}], Body: []}\n",
    "ok",
    "contract-violation",
    LIMIT,
    "syntax",
    "unresolved-call",
)
_try(
    "deep-map-contract",
    "- $.m({})",
    "  m: {Arguments: [{a: {Contract: " + "{a: " * 150 + "$.int()" + "}" * 150 + "}}], Body: []}\n",
    "ok",
    "contract-violation",
    LIMIT,
    "syntax",
)
_try(
    "long-contract",
    "- $.m(1)",
    "  m: {Arguments: [{a: {Contract: $" + ".check($ = 1)" * 1500 + "}}], Body: []}\n",
    "ok",
    LIMIT,
    "contract-syntax",
)
_try(
    "wide-contract",
    "- $.m({})",
    "  m: {Arguments: [{a: {Contract: {" + ", ".join(f"k{i}: $.int()" for i in range(3000)) + "}}}], Body: []}\n",
    "ok",
)
_try(
    "regex-contract",
    "- $.m('" + "a" * 5000 + "!')",
    "  m: {Arguments: [{a: {Contract: \"$.string().check($ =~ '(a+)+$')\"}}], Body: []}\n",
    "contract-violation",
    LIMIT,
)
for _chain in (300, 1500):
    _try(f"chain-{_chain}", "- Return: $" + ".m()" * _chain, "  m: {Body: [{Return: $}]}\n", "ok", LIMIT)
    _try(f"path-{_chain}", "- $x: {}\n- ? $x" + ".a" * _chain + "\n  : 1\n- Return: 1", "", "ok", LIMIT)
_try("long-literal", "- Return: '" + "x" * 3_000_000 + "'", "", "ok")
_try("long-list", "- Return: [" + ", ".join("1" * 20_000) + "]", "", "ok")
_try("deep-list", "- Return: " + "[" * 300 + "]" * 300, "", "ok", LIMIT, "syntax")


# -- the clock -----------------------------------------------------------------------------------------------------------


@attacks("ok", name="clock-leaves-no-timer")
def _no_timer() -> None:
    import signal

    for _ in range(3):
        try:
            method("- While: 1 = 1\n  Do: []", limits=replace(TIMED, max_seconds=0.05))
        except TimeExceeded as error:
            assert "0.05 seconds" in str(error)
        else:
            raise AssertionError("the clock did not stop the loop")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


@attacks("ok", name="clock-beside-another-timer")
def _other_timer() -> None:
    import signal

    signal.setitimer(signal.ITIMER_REAL, 100)
    try:
        _no_timer_thread()
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 50
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _no_timer_thread() -> None:
    for body in ("- While: 1 = 1\n  Do: []", "- Return: range(200000).any(range(200000).any($ = a))"):
        try:
            method(body, limits=replace(TIMED, max_seconds=0.1))
        except TimeExceeded as error:
            assert "0.1 seconds" in str(error)
        else:
            raise AssertionError("the clock did not stop the loop")


@attacks("ok", name="clock-in-a-thread")
def _in_thread() -> None:
    import threading

    failures: list[BaseException] = []

    def work() -> None:
        try:
            _no_timer_thread()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(20)
    assert not thread.is_alive() and not failures, failures


@attacks(LIMIT, name="clock-of-an-expression")
def _expression_clock() -> None:
    expression("range(200000).all(range(200000).all($ != a))")


@attacks("ok", name="same-session-goes-on")
def _same_session() -> None:
    from tests.support.host import Host

    host = Host(limits=replace(TIMED, max_seconds=0.3))
    session = host.load(
        "Methods:\n  loop: {Scope: Public, Body: [{While: 1 = 1, Do: []}]}\n  fine: {Scope: Public, Body: [{Return: 1}]}\n"
    )
    for _ in range(2):
        try:
            session.call("loop")
        except TimeExceeded:
            pass
        else:
            raise AssertionError("the clock did not stop the loop")
        assert session.call("fine") == 1


@attacks(LIMIT, name="real-clock-sleep", seconds=2.0)
def _real_sleep() -> None:
    from tests.support.host import HEAD
    from vetro.muranopl.api import Engine
    from vetro.packages import memory_package

    text = f"{HEAD}Name: Main\nMethods:\n  run: {{Scope: Public, Body: [{{Parallel: [sleep(100), sleep(100)]}}]}}\n"
    package = memory_package({"name": "t", "format": "1.4", "classes": {"t.Main": text}})
    session = Engine([package], clock=RealClock(), limits=TIMED).session()
    session.load({"Objects": {"?": {"type": "t.Main", "id": "root"}}})
    session.call("run")
