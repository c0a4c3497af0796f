"""The progress of a task in the terminal, live: what each component last reported, what it waits for, and since when.

On a terminal a tree that changes in place; elsewhere a line a report, as in a log file.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from vetro.cli import output as out

#: Seconds after which it is said once more, where lines stay, that something is still waited for.
AGAIN = 29.0
#: Lines of scripts that are shown while these run.
_SHOWN = 5
_STYLES = {
    "error": "red",
    "critical": "red",
    "warning": "yellow",
    "debug": "bright_black",
    "trace": "bright_black",
    "output": "cyan",
    "waits": "yellow",
}
#: Effects worth showing while they are under way, and how.
_STEPS = {
    "stack.push": "updating resources",
    "stack.delete": "deleting resources",
    "server.power": "switching servers",
    "snapshot.make": "keeping everything as it is",
    "snapshot.restore": "bringing everything back as it was",
    "snapshot.drop": "removing what was kept",
    "agent.call": "running {name} on {server}",
    "sleep": "waiting",
}


class Watch:
    """Context manager; `event` takes events of a `Worker`. ``names`` labels ids of objects, ``what`` is going on.

    What packages report of a plan (``plan``) has not happened: it is shown with ``verbose``, or where it warns.
    """

    def __init__(
        self,
        names: Mapping[str, str],
        *,
        quiet: bool = False,
        verbose: bool = False,
        what: str = "deploying",
        plan: bool = False,
    ) -> None:
        self._names = dict(names)
        self._plan = plan
        self._what = what
        self._quiet = quiet
        self._verbose = verbose
        self._started = time.monotonic()
        self._open: dict[str, tuple[str, float]] = {}
        self._last: dict[str, tuple[str, str, float]] = {}
        #: The last lines that scripts wrote.
        self._written: list[str] = []
        #: What is waited for: text -> since when (`time.monotonic`), and when that was said last.
        self._waits: dict[str, float] = {}
        self._said: dict[str, float] = {}
        self._lock = threading.Lock()
        self._live: Any = None

    def __enter__(self) -> Watch:
        if not self._quiet and sys.stderr.isatty() and out.colored(sys.stderr):
            from rich.console import Console
            from rich.live import Live

            self._live = Live(
                get_renderable=self._render,
                console=Console(stderr=True, highlight=False),
                refresh_per_second=8,
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def retitle(self, what: str) -> None:
        """Says what is going on now."""
        self._what = what

    def event(self, event: Mapping[str, Any]) -> None:
        """One event of the worker."""
        what = event.get("event")
        if what == "note":
            self._note(str(event.get("kind")), event.get("args") or {})
        elif what == "progress" and event.get("report"):
            self._note("report", event["report"])
        elif what == "progress" and event.get("output"):
            self._output(event["output"])
        elif what == "progress" and "waits" in event:
            self._wait(event["waits"])
        elif what == "begun" and event.get("kind") in _STEPS:
            with self._lock:
                self._open[str(event.get("key"))] = (self._step(event), time.monotonic())
        elif what == "ended":
            with self._lock:
                self._open.pop(str(event.get("key")), None)
                self._written = self._written if self._open else []
        elif what == "restarted":
            self._line("warning", "", f"the {event.get('what')} process died and was started again")

    def _step(self, event: Mapping[str, Any]) -> str:
        args = event.get("args") or event.get("about") or {}
        plan = args.get("plan")
        name = (plan.get("Name") if isinstance(plan, Mapping) else None) or args.get("name") or "a plan"
        queue = str(args.get("queue", ""))
        server = self._names.get(queue.rpartition("-h")[2], "a server")
        return _STEPS[str(event.get("kind"))].format(name=name, server=server)

    def _note(self, kind: str, args: Mapping[str, Any]) -> None:
        level = str(args.get("level") or "info").lower()
        if kind == "report":
            id = str(args.get("id") or "")
            label, text = self._names.get(id, ""), str(args.get("text", ""))
            with self._lock:
                self._last[label] = (level, text, time.monotonic())
            if self._verbose or level != "info" or not self._plan:
                self._line(level, label, text)
        elif kind == "log" and self._verbose:
            self._line(level, str(args.get("logger")), str(args.get("text", "")))

    def _wait(self, waits: Sequence[Mapping[str, Any]]) -> None:
        """What is waited for now: nothing else any more."""
        now = time.monotonic()
        with self._lock:
            before, self._waits = self._waits, {}
            for one in waits:
                seconds = one.get("seconds")
                if "seconds" not in one:  # told by the worker of this process
                    seconds = time.time() - float(one["since"])
                text = str(one["text"])
                self._waits[text] = before.get(text, now - max(float(seconds or 0.0), 0.0))
            self._said = {text: at for text, at in self._said.items() if text in self._waits}
            late = [text for text in self._waits if text not in self._said or now - self._said[text] >= AGAIN]
            self._said.update(dict.fromkeys(late, now))
        for text in late:
            self._line("waits", "", self._waiting(text, now))

    def _waiting(self, text: str, now: float) -> str:
        since = now - self._waits.get(text, now)
        return f"waits for {text}" + (f", for {since:.0f} s already" if since >= 1 else "")

    def _output(self, piece: Mapping[str, Any]) -> None:
        """What a script writes: all of it where that is wanted, else its end while it runs."""
        lines = [line for line in str(piece.get("text", "")).splitlines() if line.strip()]
        with self._lock:
            self._written = [*self._written, *lines][-_SHOWN:]
        for line in lines if self._verbose else ():
            self._line("output", str(piece.get("script") or ""), line)

    def _line(self, level: str, label: str, text: str) -> None:
        if self._quiet:
            return
        seconds = time.monotonic() - self._started
        shown = out.style(f"{level:<7}", fg=_STYLES.get(level, "green"))
        who = out.style(f"{label}: ", bold=True) if label else ""
        line = f"{out.style(f'{seconds:8.2f}s', dim=True)} {shown} {who}{text}"
        if self._live is None:
            out.note(line)
            return
        self._live.console.print(_text().from_ansi(out.ansi(line)))

    def _render(self) -> Any:
        from rich.tree import Tree

        Text = _text()
        now = time.monotonic()
        tree = Tree(Text(f"{out.plain(self._what)}  {now - self._started:.0f} s", style="bold"))
        with self._lock:
            for label, (level, text, since) in self._last.items():
                line = Text(out.plain(f"{label or 'environment'}: "), style="bold")
                line.append(out.plain(text[:100]), style=_STYLES.get(level, "default"))
                line.append(f"  {now - since:.0f} s", style="dim")
                tree.add(line)
            for text in self._waits:
                tree.add(Text(out.plain(f"… {self._waiting(text, now)[:200]}"), style="yellow"))
            for text, since in () if self._waits else self._open.values():
                tree.add(Text(out.plain(f"… {text}  {now - since:.0f} s"), style="cyan"))
            for text in self._written if self._open else ():
                tree.add(Text(out.plain(f"  │ {text[:200]}"), style="dim"))
        return tree


def _text() -> Any:
    """Only who watches at a terminal waits for it."""
    from rich.text import Text

    return Text
