"""Driver of the depth test: every kind of nested call, with levels that must work and levels that must be refused.

Usage: ``python -m tests.support.deep main|thread|branch``. Prints one JSON object: case -> [result, error].
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from vetro.muranopl import Engine, VirtualClock
from vetro.muranopl.errors import NestingLimit
from vetro.packages.memory import memory_package

#: Python 3.12 lets C functions nest 1,500 times, 3.13 10,000 times: a level of `any` or `orderBy` takes three of these.
ENOUGH = 480 if sys.version_info[:2] == (3, 12) else 500
TOO_MANY = 1_000_000
OBJECTS = 5_000
SMALL_STACK = 512 * 1024

#: Case -> methods (and properties) of class Main; `go(n)` nests n levels and gives n.
CALLS = {
    "method": "$.go($n - 1) + 1",
    "select": "list($n).select($t.go($ - 1)).first() + 1",
    "where": "list($n).where($t.go($ - 1) >= 0).first()",
    "any": "$n * int(list($n).any($t.go($ - 1) >= 0))",
    "orderBy": "list($n, 0).orderBy($t.go($ - 1)).toList().sum()",
    "groupBy": "list($n).groupBy($t.go($ - 1)).first().first() + 1",
    "aggregate": "list($n, 1).aggregate($t.go($1 - 1)) + 1",
    "pselect": "list($n).pselect($t.go($ - 1)).first() + 1",
    "let": "let(x => $n) -> $t.go($x - 1) + 1",
    "call": "call(go, [$n - 1], {}, $this) + 1",
}
METHOD = """
Methods:
  go:
    Arguments: [{n: {Contract: $.int()}}]
    Body:
    - $t: $this
    - If: $n <= 0
      Then: {Return: 0}
    - Return: %s
"""
CLASSES = {
    "default of a property": """
Methods:
  go:
    Arguments: [{n: {Contract: $.int()}}]
    Body:
    - :Chain.left: $n + 1
    - Return: new(Chain).value
""",
    "default of an argument": """
Properties: {left: {Contract: $.int(), Usage: Runtime, Default: 0}}
Methods:
  go: {Arguments: [{n: {Contract: $.int()}}], Body: [{$.left: $n + 1}, {Return: $.one()}]}
  one: {Arguments: [{m: {Contract: $.int(), Default: $.next()}}], Body: {Return: $m}}
  next: {Body: [{$.left: $.left - 1}, {If: $.left <= 0, Then: {Return: 0}}, {Return: $.one() + 1}]}
""",
    "check of an argument": """
Methods:
  go: {Arguments: [{n: {Contract: $.int().check($this.ok($))}}], Body: {Return: $n}}
  ok: {Arguments: [{n: {Contract: $.int()}}], Body: {Return: $n <= 0 or $.go($n - 1) = $n - 1}}
""",
    "check of a property": """
Properties: {value: {Contract: $.int().check($this.ok($)), Usage: Runtime, Default: 0}}
Methods:
  go: {Arguments: [{n: {Contract: $.int()}}], Body: [{$.value: $n}, {Return: $.value}]}
  ok: {Arguments: [{n: {Contract: $.int()}}], Body: [{If: $n > 0, Then: {$.value: $n - 1}}, {Return: true}]}
""",
    "init": """
Properties: {left: {Contract: $.int(), Default: 0}, made: {Contract: $, Usage: Runtime, Default: 0}}
Methods:
  .init:
    Body:
      If: $.left > 0
      Then:
        $.made: new(Main, left => $.left - 1).made + 1
  go:
    Arguments: [{n: {Contract: $.int()}}]
    Body:
      Return: new(Main, left => $n).made
""",
}
CHAIN = """
Properties:
  left: {Contract: $.int(), Usage: Static, Default: 0}
  value: {Contract: $.int(), Default: $.next()}
Methods:
  next:
    Body:
    - :Chain.left: :Chain.left - 1
    - If: :Chain.left <= 0
      Then: {Return: 0}
    - Return: new(Chain).value + 1
"""
NODE = "Properties: {next: {Contract: $.class(Node).owned()}, n: {Contract: $.int()}}\n"
IN_BRANCH = """
  branch:
    Arguments: [{n: {Contract: $.int()}}]
    Body:
    - Parallel:
      - sleep(1)
      - $r: $.go($n)
    - Return: $r
"""


def session(main: str) -> Any:
    """A session over class Main made from ``main``, loaded."""
    texts = {"Main": main, "Chain": CHAIN, "Node": NODE}
    classes = {f"t.{name}": f"Namespaces: {{=: t}}\nName: {name}\n{text}" for name, text in texts.items()}
    package = memory_package({"name": "t", "format": "1.4", "classes": classes})
    made = Engine(packages=[package], clock=VirtualClock()).session()
    made.load({"Objects": {"?": {"type": "t.Main", "id": "main"}}})
    return made


def calls(method: str) -> dict[str, Any]:
    """Every case at both depths."""
    found = {}
    for name, text in {**{k: METHOD % v for k, v in CALLS.items()}, **CLASSES}.items():
        made = session(text + IN_BRANCH)
        result = made.call(method, [ENOUGH], public_only=False)
        try:
            error = str(made.call(method, [TOO_MANY], public_only=False))
        except NestingLimit as refused:
            error = refused.kind
        found[name] = [result, error]
    return found


def objects() -> list[int]:
    """Owned objects nested in each other: loaded, serialised, garbage collected."""
    model: Any = None
    for number in range(OBJECTS):
        model = {"?": {"type": "t.Node", "id": f"n{number}"}, "next": model, "n": number}
    made = session(METHOD % "0")
    made.load({"Objects": model, "ObjectsCopy": model})
    made.cleanup()
    depth, node = 0, made.finalize()["Objects"]
    while node is not None:
        depth, node = depth + 1, node["next"]
    made.load({"Objects": None, "ObjectsCopy": model})
    made.cleanup()
    return [depth]


def everything(where: str) -> None:
    """All cases; the result goes to standard output."""
    found: dict[str, Any] = calls("branch" if where == "branch" else "go")
    found["objects"] = objects()
    print(json.dumps(found))


def main(where: str) -> None:
    """Runs in the main thread, in a thread with a small stack, or inside of branches."""
    if where != "thread":
        everything(where)
        return
    threading.stack_size(SMALL_STACK)
    thread = threading.Thread(target=everything, args=(where,))
    thread.start()
    thread.join()


if __name__ == "__main__":
    main(sys.argv[1])
