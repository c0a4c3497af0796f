"""``--watch``: a command that looks at something goes on doing so."""

from __future__ import annotations

import functools
import io
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

#: Seconds between two looks.
EVERY = 2.0
#: Back to the upper left corner, and nothing below it.
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"


class _Page(io.StringIO):
    """What one look prints. It is a terminal, or none, as the stream is to which it goes."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override] # of the stream behind it
        """That of the stream."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        """Whether it ends at a terminal."""
        return bool(self._stream.isatty())


def watch_option(function: F) -> F:
    """``--watch``: the command is repeated until Ctrl-C, and what it prints shown whenever that changed: on a terminal
    in place of what was there, otherwise below it."""

    @functools.wraps(function)
    def repeated(*args: Any, watch: bool, **options: Any) -> Any:
        if not watch:
            return function(*args, **options)
        stream, before = sys.stdout, None
        while True:
            page = _Page(stream)
            with redirect_stdout(page):
                function(*args, **options)
            text = page.getvalue()
            if text != before:
                stream.write(f"{_CLEAR}{text}" if stream.isatty() else text)
                stream.flush()
                before = text
            time.sleep(EVERY)

    option = click.option("-w", "--watch", is_flag=True, help="Look again every 2 seconds, until Ctrl-C.")
    return option(repeated)  # type: ignore[return-value] # of the same kind
