"""`AgentWatch`: calls of agents that wait. It ends them when their time is over, or certainly nobody answers, and it
tells those who watch when a server was made and its agent does not come."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Protocol

from vetro.clouds.interface import CloudError
from vetro.data_classes import dataclass
from vetro.engine.host.answer import Request
from vetro.engine.host.script_output import ScriptOutput
from vetro.engine.host.waits import agent_text

log = logging.getLogger(__name__)

#: Seconds between two looks at the servers of agents that do not answer.
GLANCE = 2.0
#: Looks in a row that must find nothing but calls of servers that are not there.
STILL = 3
#: Seconds after which a call tells that it waits for an agent that is not there, and that this takes too long.
WAITS, TOO_LONG = 5.0, 45.0
#: Lines of a console that tell why an agent does not come.
_LINES = 8

#: Told how an effect ended: its answer, or its error.
Done = Callable[[Any, "BaseException | None"], None]


class Servers(Protocol):
    """What is known of the servers that agents run on."""

    def why_silent(self, queue: str) -> str | None:
        """Why nobody can answer on an agent's queue although its server was made; None while somebody may."""
        ...  # pragma: no cover - protocol

    def why_missing(self, queue: str) -> str | None:
        """Why nobody would ever take a plan from this queue if nothing was made any more; None where somebody may."""
        ...  # pragma: no cover - protocol

    def connected(self, queue: str) -> bool | None:
        """Whether an agent takes plans from this queue now; None where nobody can tell."""
        ...  # pragma: no cover - protocol

    def console(self, queue: str, lines: int) -> tuple[str, str] | None:
        """Name and end of the console of the server whose agent has this queue; None where it is not seen."""
        ...  # pragma: no cover - protocol

    def turn(self) -> int | None:
        """None while the task may still make servers, else a number that changes whenever the task does something."""
        ...  # pragma: no cover - protocol


class Unwatched:
    """`Servers` of a cloud that does not see them."""

    def why_silent(self, queue: str) -> str | None:
        """Unknown."""
        return None

    def why_missing(self, queue: str) -> str | None:
        """Unknown."""
        return None

    def connected(self, queue: str) -> bool | None:
        """Unknown."""
        return None

    def console(self, queue: str, lines: int) -> tuple[str, str] | None:
        """Unknown."""
        return None

    def turn(self) -> int | None:
        """Unknown."""
        return None


@dataclass(slots=True, eq=False)
class Call:
    """A call that waits for the answer to a plan."""

    id: str
    request: Request
    queue: str
    listener: str
    timeout: float
    #: On the monotonic clock.
    end: float
    done: Done
    #: What its scripts write meanwhile.
    output: ScriptOutput
    #: On the monotonic clock.
    begun: float = field(default_factory=time.monotonic)
    #: Its server was seen to have ended.
    suspected: bool = False
    over: bool = False


class AgentWatch:
    """Looks at calls from a thread of its own, which runs while there are any.

    ``ended(call, answer, error)`` is called on it, without a lock held.
    """

    def __init__(self, servers: Servers, ended: Callable[[Call, Any, BaseException | None], None]) -> None:
        self._servers = servers
        self._ended = ended
        self._lock = threading.Condition()
        self._calls: dict[Call, None] = {}
        self._thread: threading.Thread | None = None
        self._next = 0.0
        self._closed = False
        #: The task's turn at the last look that found only calls without servers, and how many such looks there were.
        self._still: tuple[int, int] | None = None
        #: Queues whose agents were there, and what was told of the others.
        self._met: set[str] = set()
        self._told: set[tuple[str, str]] = set()
        self._teller: threading.Thread | None = None

    def add(self, call: Call) -> None:
        """Watches a call from now on; its plan was handed over."""
        with self._lock:
            if call.over or self._closed:
                return
            self._calls[call] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="vetro agent clock", daemon=True)
                self._thread.start()
            elif call.end < self._next:
                self._lock.notify_all()

    def remove(self, call: Call) -> None:
        """The call has ended."""
        with self._lock:
            self._calls.pop(call, None)

    def close(self) -> None:
        """Ends the thread; the calls are left as they are."""
        with self._lock:
            self._closed = True
            self._calls.clear()
            self._lock.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(GLANCE)

    def _run(self) -> None:
        glance = time.monotonic() + GLANCE
        while True:
            with self._lock:
                self._next = min(min((call.end for call in self._calls), default=glance), glance)
                pause = self._next - time.monotonic()
                if pause > 0:
                    self._lock.wait(pause)
                if not self._calls:
                    self._thread = None  # the next call starts another
                    return
                now = time.monotonic()
                late = [call for call in self._calls if call.end <= now]
                waiting = [call for call in self._calls if call.end > now]
            for call in late:
                self._ended(call, {"timeout": call.timeout}, None)
            if now >= glance:
                self._glance(waiting)
                glance = time.monotonic() + GLANCE

    def _glance(self, waiting: list[Call]) -> None:
        """Ends calls that nobody will answer. A server has to be seen as ended twice: it may be rebooting."""
        for call in waiting:
            try:
                why = self._servers.why_silent(call.queue)
            except Exception as error:
                self._ended(call, None, error)
                continue
            if why is not None and call.suspected:
                self._ended(call, None, CloudError(f"the agent does not answer: {why}"))
            call.suspected = why is not None
        waiting = [call for call in waiting if not call.over]
        self._tell_of(waiting)
        try:
            self._missing(waiting)
        except Exception as error:
            for call in waiting:
                self._ended(call, None, error)

    def _missing(self, waiting: list[Call]) -> None:
        """Ends calls of servers that nobody has made and nobody will make.

        Plans may be sent before their servers are made. Only when the task does nothing any more but wait for agents of
        servers that are not there, nobody is left who could make them.
        """
        turn = self._servers.turn()
        reasons = [] if turn is None else [self._servers.why_missing(call.queue) for call in waiting]
        if turn is None or not reasons or None in reasons:
            self._still = None
            return
        looks = self._still[1] + 1 if self._still is not None and self._still[0] == turn else 1
        self._still = (turn, looks)
        if looks >= STILL:
            for call, why in zip(waiting, reasons, strict=True):
                self._ended(call, {"timeout": call.timeout, "why": why}, None)

    def _tell_of(self, waiting: list[Call]) -> None:
        """Tells of agents that do not come, on a thread of its own: a cloud or a broker may be slow to answer, and
        other calls shall end in time."""
        if (self._teller is None or not self._teller.is_alive()) and any(map(self._doubtful, waiting)):
            self._teller = threading.Thread(
                target=self._tell_all, args=(waiting,), name="vetro agent news", daemon=True
            )
            self._teller.start()

    def _tell_all(self, waiting: list[Call]) -> None:
        for call in waiting:
            if not call.over:
                self._tell(call)

    def _doubtful(self, call: Call) -> bool:
        """Whether its agent is to be looked for: nobody was told that it is missing, or everybody is."""
        return call.request.waits is not None or self._news(call) is not None

    def _news(self, call: Call) -> tuple[float, str] | None:
        """For how long its agent is waited for, and the level of what is to be told of that; None: nothing."""
        waited = time.monotonic() - call.begun
        level = "warning" if waited >= TOO_LONG else "info"
        new = waited >= WAITS and call.queue not in self._met and (call.queue, level) not in self._told
        return (waited, level) if new else None

    def _tell(self, call: Call) -> None:
        """Tells once of each agent that was never there that it is waited for, and later what its server says."""
        news, queue = self._news(call), call.queue
        if not self._doubtful(call):
            return
        try:
            there = self._servers.connected(queue)
        except Exception as error:
            log.debug("whether the agent of %s is there is not known: %s", queue, error)
            return
        if there is not False:
            if there:
                self._met.add(queue)
                call.request.waits = None
            return
        if news is None:
            return
        waited, level = news
        whose, said = f"the agent with the queue '{queue}'", ""
        try:
            seen = self._servers.console(queue, _LINES)
        except Exception as error:
            said = f"; the console of its server cannot be read: {error}"
        else:
            plan = call.request.args.get("plan")
            title = str(plan.get("Name") or "") if isinstance(plan, Mapping) else ""
            name = seen[0] if seen is not None else queue
            call.request.waits = ("agent", agent_text(name, title, absent=True), queue.rpartition("-h")[2])
            if seen is not None:
                whose = f"the agent of server '{seen[0]}'"
                said = f"; its console ends with:\n{seen[1]}" if seen[1].strip() else ""
        self._told.add((queue, level))
        text = f"waits for {whose}" if level == "info" else f"{whose} has not come for {waited:.0f} s{said}"
        call.request.progress({"report": {"id": queue.rpartition("-h")[2], "level": level, "text": text}})
