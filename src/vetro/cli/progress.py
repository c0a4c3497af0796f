"""What a run shows while it goes on: reports as lines, and on a terminal a spinner with the current step below them."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from vetro.cli import output as out

_STYLES = {"error": "red", "critical": "red", "warning": "yellow", "debug": "bright_black", "trace": "bright_black"}


class Progress:
    """Context manager around a run. ``quiet`` shows nothing, ``verbose`` adds the log lines of packages."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self._quiet = quiet
        self._verbose = verbose
        self._started = time.monotonic()
        self._status: Any = None

    def __enter__(self) -> Progress:
        if not self._quiet and sys.stderr.isatty() and out.colored(sys.stderr):
            from rich.console import Console

            self._status = Console(stderr=True, highlight=False, soft_wrap=True).status("starting …")
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._status is not None:
            self._status.stop()

    def step(self, text: str) -> None:
        """What is being done now."""
        if self._status is not None:
            from rich.markup import escape

            self._status.update(escape(out.plain(f"{text} …")))

    def report(self, args: dict[str, Any]) -> None:
        """One report of a package (an effect of kind ``report``)."""
        if not self._quiet:
            self._line(str(args.get("level") or "info"), str(args.get("text", "")))

    def log(self, args: dict[str, Any]) -> None:
        """One log line of a package (an effect of kind ``log``)."""
        if self._verbose and not self._quiet:
            self._line(str(args.get("level") or "info").lower(), f"{args.get('logger')}: {args.get('text', '')}")

    def _line(self, level: str, text: str) -> None:
        seconds = time.monotonic() - self._started
        label = out.style(f"{level:<7}", fg=_STYLES.get(level, "green"))
        line = f"{out.style(f'{seconds:8.2f}s', dim=True)} {label} {text}"
        if self._status is None:
            out.note(line)
            return
        from rich.text import Text

        self._status.console.print(Text.from_ansi(out.ansi(line)))
