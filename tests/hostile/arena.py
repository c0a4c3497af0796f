"""Runs attacks where they can do no harm: in a process of its own, with little memory and little time.

An attack is a function that tries to break the engine. It must end in one of the kinds it names (``ok`` for attacks
that have to be harmless), within its seconds and its mebibytes, and afterwards the same process must still work.
`python -m tests.hostile.arena MODULE` runs the attacks of a module and prints one JSON line each.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.support.fuzzing import every

#: Address space of the arena, code included.
ADDRESS_SPACE = 1 << 30
MIB = 1 << 20
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Attack:
    """What is tried, and how it has to end."""

    name: str
    run: Callable[[], Any]
    kinds: tuple[str, ...]
    seconds: float
    mebibytes: int


@dataclass(frozen=True)
class Outcome:
    """How an attack ended."""

    name: str
    kind: str
    error: str
    seconds: float
    mebibytes: int
    healthy: bool


class Attacks(list[Attack]):
    """The attacks of one module; an instance named ``attacks`` is what the arena looks for."""

    def __init__(self, health: Callable[[], bool]) -> None:
        super().__init__()
        self.health = health

    def __call__(
        self, *kinds: str, seconds: float = 3.0, mebibytes: int = 160, name: str | None = None
    ) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
        """Registers the decorated function as an attack."""

        def register(run: Callable[[], Any]) -> Callable[[], Any]:
            self.append(Attack(name or run.__name__, run, kinds, seconds, mebibytes))
            return run

        return register


#: Of the attacks of these modules one in so many is tried by default: they are the same ideas in other places.
_VARIATIONS = {"expressions": 5, "files": 2, "programs": 5, "shapes": 2}


def attacks_of(module: str) -> Attacks:
    """The attacks that a module of this folder registers; by default a part of those that are variations."""
    found: Attacks = importlib.import_module(f"tests.hostile.{module}").attacks
    if module not in _VARIATIONS:
        return found
    part = Attacks(found.health)
    part.extend(every(_VARIATIONS[module], found))
    return part


def _peak() -> int:
    """Greatest resident size since the last `_forget_peak`, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def _forget_peak() -> int:
    if _peak() > 64 * MIB:
        gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass
    return _peak()


def _cpu_limit(seconds: float) -> None:
    """The kernel ends this process after so much more work; the timer of the engine is not touched."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _attempt(attack: Attack, health: Callable[[], bool]) -> Outcome:
    from vetro.yaql.errors import kind_of

    before = _forget_peak()
    # Work, not waiting: other processes of a busy machine are no fault of the attack's.
    started = time.process_time()
    kind, text = "ok", ""
    try:
        attack.run()
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        kind = kind_of(error)
        # The text is what a report would show: making it must be as harmless as the attack itself.
        text = f"{type(error).__name__}: {error}"
        del error
    seconds = time.process_time() - started
    used = max(0, _peak() - before) // MIB
    return Outcome(attack.name, kind, text[:400], round(seconds, 3), used, health() and len(text) < 20_000)


def fight(module: str, skip: frozenset[str] = frozenset(), only: str | None = None) -> None:
    """Runs the attacks of a module in this process and prints what became of them."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    attacks = attacks_of(module)
    attacks.health()
    # What stays is not looked through again by the collections of garbage between attacks.
    gc.collect()
    gc.freeze()
    for attack in attacks:
        if attack.name in skip or (only is not None and attack.name != only):
            continue
        print(json.dumps({"begin": attack.name}), flush=True)
        # A C loop never comes back to Python: then only the kernel ends it, and the parent says which attack it was.
        _cpu_limit(attack.seconds * 2 + 2)
        outcome = _attempt(attack, attacks.health)
        print(json.dumps(asdict(outcome)), flush=True)


def _measured(module: str, outcome: Outcome, environment: dict[str, str]) -> Outcome:
    """What took too long is measured once more, alone: a busy machine only adds to the work of a process."""
    allowed = {attack.name: attack.seconds for attack in attacks_of(module)}[outcome.name]
    if outcome.seconds <= allowed:
        return outcome
    command = [sys.executable, "-m", "tests.hostile.arena", module, "--only", outcome.name]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=550)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return next((Outcome(**row) for row in rows if "begin" not in row), outcome)


def watch(module: str) -> dict[str, Outcome]:
    """Runs the attacks of a module in processes of their own; a process that dies costs only the attack it died of."""
    found: dict[str, Outcome] = {}
    environment = {name: os.environ.get(name, "") for name in ("PATH", "VETRO_TEST_ALL")}
    environment |= {"PYTHONPATH": str(ROOT / "src"), "PYTHONHASHSEED": "0"}
    while True:
        command = [sys.executable, "-m", "tests.hostile.arena", module, *found]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=550)
        current = None
        for line in done.stdout.splitlines():
            row = json.loads(line)
            if "begin" in row:
                current = row["begin"]
            else:
                found[row["name"]] = _measured(module, Outcome(**row), environment)
                current = None
        if current is None:
            if done.returncode != 0:
                raise AssertionError(f"the arena itself failed ({done.returncode}): {done.stderr[-2000:]}")
            return found
        how = f"died with {done.returncode}" if done.returncode >= 0 else f"killed by signal {-done.returncode}"
        found[current] = Outcome(current, "dead", f"{how}: {done.stderr[-600:]}", 0.0, 0, False)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[2] == "--only":
        fight(sys.argv[1], only=sys.argv[3])
    else:
        fight(sys.argv[1], frozenset(sys.argv[2:]))
