"""Who is killed when: a sequence that a seed determines, and a thread that carries it out."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.faults.campaign.installation import Installation
from tests.faults.campaign.processes import kill, state_of

#: How often each kind of process is chosen.
WEIGHTS = {"worker": 4, "host": 4, "task": 4, "http": 3, "zygote": 2, "forker": 2, "spare": 1, "serve": 1}
#: Of the work, the part over which kills are spread: what is left at the end may all be done within one look.
SPREAD = 0.75
#: A worker is halted for so many leases.
FROZEN = 2.5


@dataclass(frozen=True, slots=True)
class Strike:
    """One kill, of a process of a kind; ``pick`` (0..1) chooses among several, ``pause`` (0.5..1.5) is for `Pace`."""

    kind: str
    pick: float
    pause: float


def sequence(seed: int) -> Iterator[Strike]:
    """Kills without end."""
    chance = random.Random(seed)
    while True:
        (kind,) = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
        yield Strike(kind, chance.random(), chance.uniform(0.5, 1.5))


class Pace:
    """When the next kill is due: ``every`` so many seconds on average, or, with 0, ``most`` spread over the work."""

    def __init__(self, every: float, most: int, progress: Callable[[], float]) -> None:
        self._every = every
        self._most = most
        self._progress = progress
        self._count = 0
        self._last = time.monotonic()

    def due(self, strike: Strike) -> bool:
        """Whether it is time."""
        if self._count >= self._most:
            return False
        if self._every:
            return time.monotonic() >= self._last + strike.pause * self._every
        return self._progress() >= SPREAD * self._count / self._most

    def struck(self) -> None:
        """Somebody was killed."""
        self._count += 1
        self._last = time.monotonic()


class Striker(threading.Thread):
    """Kills until `stop`. ``larger`` blows come once each, when ``progress`` reaches their share."""

    def __init__(
        self,
        installation: Installation,
        strikes: Iterator[Strike],
        larger: Sequence[tuple[float, str, Callable[[], object]]],
        progress: Callable[[], float],
        pace: Pace,
    ) -> None:
        super().__init__(name="striker", daemon=True)
        self._installation = installation
        self._strikes = strikes
        self._larger = sorted(larger, key=lambda one: one[0])
        self._progress = progress
        self._pace = pace
        self._over = threading.Event()
        #: How many of each kind were killed, and what else happened.
        self.done: Counter[str] = Counter()
        self.trouble: list[str] = []

    def run(self) -> None:
        """See the class."""
        try:
            strike = next(self._strikes)
            while not self._over.wait(0.02):
                if self._larger and self._progress() >= self._larger[0][0]:
                    _, name, act = self._larger[0]
                    if act() is False:  # what it hits is not there now: the next look may find it
                        continue
                    self._larger.pop(0)
                    self.done[name] += 1
                elif self._pace.due(strike) and self._kill(strike):
                    self._pace.struck()
                    strike = next(self._strikes)
        except Exception as error:
            self.trouble.append(f"the one who kills failed: {type(error).__name__}: {error}")

    def _kill(self, strike: Strike) -> bool:
        """A process of the kind, or, where there is none now, of the next one."""
        there = self._installation.processes()
        kinds = list(WEIGHTS)
        first = kinds.index(strike.kind)
        for kind in [*kinds[first:], *kinds[:first]]:
            pids = [pid for pid, found in there if found == kind]
            if pids and kill(pids[int(strike.pick * len(pids))]):
                self.done[kind] += 1
                return True
        return False

    def stop(self) -> None:
        """No more of it."""
        self._over.set()
        self.join()
        self.trouble += [f"there was no time for: {name}" for _, name, _ in self._larger]


def freeze(installation: Installation, lease: float, pick: float) -> Callable[[], bool]:
    """Halts a worker at work until another one has its tasks, in a thread of its own; then it goes on.

    False while there is none, because all were just killed.
    """

    def act() -> bool:
        there = installation.processes()
        workers = [pid for pid, kind in there if kind == "worker"]
        if not workers:
            return False
        pid = workers[int(pick * len(workers))]
        try:
            os.kill(pid, signal.SIGSTOP)
        except ProcessLookupError:
            return False

        def thaw() -> None:
            time.sleep(FROZEN * lease)
            if state_of(pid) == "T":
                os.kill(pid, signal.SIGCONT)

        threading.Thread(target=thaw, name="thaw", daemon=True).start()
        return True

    return act


def told(done: Mapping[str, int]) -> str:
    """The kills in one line."""
    return ", ".join(f"{count} {name}" for name, count in sorted(done.items(), key=lambda one: (-one[1], one[0])))
