"""`MethodSpans`: when methods of classes ran, for those who trace a deployment (OpenTelemetry).

Python's profiler calls us whenever a function is entered or left; methods of MuranoPL are recognised by their globals.
Nothing in compiled code or in the engine knows of it: without it a task costs what it always costs. With it, code that
computes is several times slower, so it runs only where somebody wants spans.

Only what lasted is kept, names and times, never values.
"""

from __future__ import annotations

import sys
import time
from types import FrameType
from typing import Any

import greenlet

from vetro.muranopl.runtime.branches import Branch

#: Seconds; what was quicker tells nobody anything.
SHORTEST = 0.001
#: Methods of one task process.
MOST = 1000

_Open = tuple[FrameType, int, float]


class MethodSpans:
    """`start`, run methods in this thread, `stop`. `found` is sent: ``[[id, id of the caller, name, begin, end], …]``.

    The caller is 0 for what no other method called; begin and end are seconds since 1970.
    """

    def __init__(self) -> None:
        self.found: list[list[Any]] = []
        self._count = 0
        #: What runs, innermost last, for each branch: each has a stack of its own.
        self._open: dict[Branch | None, list[_Open]] = {}
        self._scheduler: Any = None

    def watch(self, scheduler: Any) -> None:
        """There is a session with branches."""
        self._scheduler = scheduler

    def start(self) -> None:
        """From now on."""
        greenlet.settrace(self._switched)
        sys.setprofile(self._called)

    def stop(self) -> list[list[Any]]:
        """Ends it; what was found."""
        sys.setprofile(None)
        greenlet.settrace(None)
        return self.found

    def _switched(self, event: str, _: Any) -> None:
        sys.setprofile(self._called)  # a branch begins without

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" and event != "return":
            return
        space = frame.f_globals
        owner = space.get("__murano__")
        if owner is None or space.get("__code__") is not frame.f_code:
            return
        branch: Branch | None = None if self._scheduler is None else self._scheduler.current
        stack = self._open.setdefault(branch, [])
        if event == "call":
            self._count += 1
            stack.append((frame, self._count, time.time()))
            return
        if stack and stack[-1][0] is frame:  # what was entered before we began is not there
            _, number, begun = stack.pop()
            ended = time.time()
            if ended - begun >= SHORTEST and len(self.found) < MOST:
                self.found.append([number, self._caller(branch), f"{owner.name}.{frame.f_code.co_name}", begun, ended])
        if not stack:
            del self._open[branch]

    def _caller(self, branch: Branch | None) -> int:
        """The innermost method of the branch, or of the next one that waits for it."""
        for one in (None,) if branch is None else branch.family():
            stack = self._open.get(one)
            if stack:
                return stack[-1][1]
        return 0
