"""Driver of the determinism test: runs the same programs with the same answers and prints one digest of all traces.

Usage: ``python -m tests.support.repeatable COUNT``. It is started with different values of PYTHONHASHSEED.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from typing import Any

from vetro.muranopl import Engine, VirtualClock
from vetro.muranopl.runtime.effects import EffectRecord, InProcessEffects, RecordingEffects, ScriptedEffects
from vetro.packages.memory import memory_package

PROGRAM = """
Namespaces: {=: t, e: io.murano.metadata.engine, sys: io.murano.system}
---
Name: Item
Properties:
  tags: {Contract: $, Usage: InOut}
  n: {Contract: $.int().notNull()}
  free: {Contract: $, Usage: Runtime}
Methods:
  .init: {Body: note('item ' + str($.n))}
  slow:
    Arguments: [{by: {Contract: $.string()}}]
    Body: [note($by + ' in ' + str($.n)), sleep(2), note($by + ' out ' + str($.n)), Return: $.n]
  .destroy: {Body: note('gone ' + str($.n))}
---
Name: Main
Properties:
  items: {Contract: [$.class(Item)], Usage: InOut}
  words: {Contract: $, Usage: Out}
Methods:
  work:
    Meta: [{e:Synchronize: {onThis: false}}]
    Arguments: [{n: {Contract: $.int()}}]
    Body:
    - $item: new(Item, $this, n => $n, tags => set(a, b, $n, $n * 2))
    - $answer: outside($n)
    - note($answer)
    - sleep($n mod 3)
    - $.items: $.items + [$item]
    - note(id($item))
    - note($item.tags.select(str($)).orderBy($))
    - note(set(x, y, z, $n).union(set(p, q)).toList())
    - Try: outside(-$n)
      Catch: {As: e, Do: note('caught ' + $e.message)}
    - Return: $answer
  run:
    Body:
    - $first: new(Item, n => 100)
    - $second: new(Item, n => 200)
    - $t: $this
    - Parallel:
      - $a: range(12).pselect($t.work($))
      - Do:
        - $first.slow(left)
        - $second.slow(left)
      - $first.slow(right)
      - Limit: 2
        Parallel: [outside(50), note(outside(51)), $second.slow(deep), note(outside(53))]
      - For: key
        In: {c: 1, a: 2, b: 3}
        Do: [sleep(1), note($key)]
    - $.words: {z: 1, y: $a, x: set(3, 1, 2)}
    - note(randomName())
    - Return: $a
"""


def outside(args: dict[str, Any]) -> Any:
    """The world: the same answers each time, after times that differ."""
    value = args["value"]
    time.sleep(0.0004 * (hash(str(value)) % 5))
    if value < 0:
        raise ValueError(f"no {value}")
    return {"n": value, "square": value * value}


def run(effects: Any) -> str:
    """One run; its trace, its result and the model it leaves as text."""
    trace: list[Any] = []
    session: Any = None
    functions = {
        "note": lambda value: trace.append(str(value)),
        "outside": lambda value: session.perform("test.outside", {"value": value}),
    }
    package = memory_package({"name": "t", "format": "1.4", "classes": {"t.Main": PROGRAM, "t.Item": PROGRAM}})
    session = Engine(packages=[package], functions=functions, effects=effects, clock=VirtualClock(), seed=7).session()
    session.load({"Objects": {"?": {"type": "t.Main", "id": "main"}, "items": []}})
    result = session.call("run", public_only=False)
    model = session.finalize()
    session.close()
    return json.dumps([trace, str(result), model])


def main(count: int) -> None:
    """Runs, records and replays; complains when any two runs differ."""
    recording = RecordingEffects(InProcessEffects({"test.outside": outside}))
    texts = {run(recording)}
    records = [EffectRecord.from_json(json.loads(json.dumps(r.as_json()))) for r in recording.records]
    for index in range(count - 1):
        script = ScriptedEffects(records)
        texts.add(run(script if index % 2 else InProcessEffects({"test.outside": outside})))
        assert not index % 2 or not script.unused
    order = [record.key for record in recording.records]
    assert len(texts) == 1, "the runs of one process differ"
    print(hashlib.sha256(json.dumps([*texts, order]).encode()).hexdigest())


if __name__ == "__main__":
    main(int(sys.argv[1]))
