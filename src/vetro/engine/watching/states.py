"""How a component is: what its servers and its checks say, put together. Nothing here knows of clouds or clocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from vetro.data_classes import dataclass
from vetro.diagnostics import Text


class State(StrEnum):
    """How a server, a component or an environment is."""

    RUNNING = "running"
    STOPPED = "stopped"
    UNKNOWN = "unknown"
    DEGRADED = "degraded"
    DOWN = "down"
    #: Its cloud executes nothing. Such a component can be nothing else.
    SIMULATED = "simulated"


_BADNESS = {State.RUNNING: 0, State.STOPPED: 1, State.UNKNOWN: 2, State.DEGRADED: 3, State.DOWN: 4}


def worse(now: State, before: State) -> bool:
    """Whether something is not as well any more as it was."""
    return _BADNESS.get(now, 0) > _BADNESS.get(before, 0)


@dataclass(frozen=True, slots=True)
class Observation:
    """How something is, and why it is not running."""

    state: State
    text: str = ""


def worst(findings: Iterable[Observation]) -> Observation | None:
    """The first of the worst ones; None where there is none: then nobody can tell anything."""
    found: Observation | None = None
    for item in findings:
        if found is None or _BADNESS[item.state] > _BADNESS[found.state]:
            found = item
    return found


def server_finding(name: str, status: str | None, stopped: str | None) -> Observation:
    """How a server is. ``status``: as its cloud has it, None: it is gone; ``stopped``: who stopped it on purpose.

    What was stopped and runs nevertheless runs.
    """
    if status == "ACTIVE":
        return Observation(State.RUNNING)
    if status is None:
        return Observation(State.DOWN, Text("server '{name}' is gone", name=name))
    if status == "BUILD":
        return Observation(State.DEGRADED, Text("server '{name}' is being made", name=name))
    if stopped is not None:
        return Observation(State.STOPPED, Text("server '{name}' was stopped by {who}", name=name, who=stopped))
    if status == "SHUTOFF":
        return Observation(State.DOWN, Text("server '{name}' has shut down", name=name))
    if status == "ERROR":
        return Observation(State.DOWN, Text("server '{name}' has ended by itself", name=name))
    return Observation(State.UNKNOWN, Text("the cloud does not know how server '{name}' is", name=name))


#: Failures in a row after which something is down, and successes after which it is well again.
FAILURES, SUCCESSES = 3, 2
#: Seconds between probes of what fails; the last one goes on.
PAUSES = (10.0, 10.0, 10.0, 20.0, 40.0)
#: The same for what was never reached and nobody declared.
LONGEST_PAUSE = 600.0
#: Seconds without change after which a probe is made half as often.
SETTLED = 4 * 3600.0


class ProbeState:
    """What the results of one probe mean. ``declared``: the author wrote it; else it is a guess.

    A guess that was never right says nothing: the address may be one that only its own network reaches. Afterwards it
    says Degraded at worst. ``was`` and ``text``: the state that was told before, by whoever watched then, and why.
    """

    __slots__ = ("changed", "declared", "due", "failures", "level", "reached", "successes", "text", "until", "well")

    def __init__(self, declared: bool, was: str = "", reached: bool = False, text: str = "") -> None:
        self.declared = declared
        self.reached = reached
        #: None: nothing was decided yet.
        self.well: bool | None = {State.RUNNING: True, State.DOWN: False, State.DEGRADED: False}.get(was)  # type: ignore[call-overload]
        #: What it is called when it is not well.
        self.level = State.DEGRADED if was == State.DEGRADED or not declared else State.DOWN
        self.failures = FAILURES if self.well is False else 0
        self.successes = 0
        self.text = text if self.well is False else ""
        self.changed = 0.0
        #: When the next probe is due; plans for an earlier time are not valid any more.
        self.due = 0.0
        #: Until when its result says something about now.
        self.until = 0.0

    def forget(self) -> None:
        """There is nothing that could be asked any more."""
        self.well, self.failures, self.successes, self.text = None, 0, 0, ""

    def result(self, text: str | None, now: float, graced: bool, degraded: bool = False) -> None:
        """One result: None is well. ``graced``: it counts already when it fails; ``degraded``: it works, after a
        fashion, says its author, and is believed at once.
        """
        before = self.well
        if text is None:
            self.successes, self.failures = self.successes + 1, 0
            first = not self.reached if not self.declared else self.level is State.DEGRADED
            self.reached = True
            if self.well is not False or self.successes >= SUCCESSES or first:
                self.well = True
                self.text = ""
        elif degraded:
            self.successes, self.failures, self.text = 0, 0, text
            if graced:
                self.well, self.level = False, State.DEGRADED
        else:
            self.successes, self.failures = 0, self.failures + 1
            self.text = text
            if graced and self.failures >= FAILURES:
                self.well = False
                self.level = State.DOWN if self.declared else State.DEGRADED
        if self.well is not before:
            self.changed = now

    def finding(self) -> Observation | None:
        """How what is probed is; None: this probe says nothing, or not yet."""
        if self.well:
            return Observation(State.RUNNING)
        if self.well is None:
            if not self.text or not self.declared:
                return None
            return Observation(State.DEGRADED, Text("not yet: {text}", text=self.text))
        return Observation(self.level, self.text) if self.declared or self.reached else None

    def pause(self, every: float, now: float) -> float:
        """Seconds until the next probe, without jitter."""
        if self.failures or self.well is False:
            if not self.declared and not self.reached and self.failures > len(PAUSES):
                return min(PAUSES[-1] * 2.0 ** (self.failures - len(PAUSES)), LONGEST_PAUSE)
            return min(PAUSES[min(self.failures, len(PAUSES)) - 1], max(every, PAUSES[0]))
        return every * 2 if self.changed and now - self.changed > SETTLED else every


@dataclass(frozen=True, slots=True)
class CheckReport:
    """How one check of a component is; ``reached``: it was well once, ``guessed``: nobody declared it."""

    key: str
    name: str
    finding: Observation | None
    reached: bool = False
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class ComponentReport:
    """How a component is, and what says so."""

    finding: Observation | None
    checks: Sequence[CheckReport] = ()


def component_report(servers: Mapping[str, Observation], checks: Iterable[tuple[CheckReport, str]]) -> ComponentReport:
    """A component with these servers (by id). Each check comes with the id of the server that it asks: of a server that
    does not run nothing else needs to be said.
    """
    said, shown = list(servers.values()), []
    for check, server in checks:
        running = server not in servers or servers[server].state is State.RUNNING
        if running and check.finding is not None:
            said.append(_named(check))
        shown.append(check if running else replace(check, finding=None))
    return ComponentReport(worst(said), shown)


def _named(check: CheckReport) -> Observation:
    assert check.finding is not None
    # The name of what nobody declared is the place, which the text of what is wrong with it names, too.
    place = check.name.partition("://")[2] if check.guessed else ""
    if not check.finding.text or (place and place in check.finding.text):
        return check.finding
    return Observation(check.finding.state, Text("{name}: {text}", name=check.name, text=check.finding.text))
