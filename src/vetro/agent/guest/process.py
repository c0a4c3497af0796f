"""Runs one program of a plan and takes its output without hanging on what it leaves in the background."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from .output import Teller, teller

#: Bytes kept of each output stream: the beginning and the end of more than that.
MOST_OUTPUT = 2 << 20
#: Seconds for which output is still read after the program has ended while a background process holds it open.
GRACE = 0.5


class _Output:
    """What a program wrote: everything, or beginning and end of very much. ``teller`` tells of it meanwhile."""

    def __init__(self, teller: Teller) -> None:
        self.teller = teller
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def add(self, data: bytes) -> None:
        self.teller.add(data)
        room = MOST_OUTPUT // 2 - len(self._head)
        self._head += data[:room] if room > 0 else b""
        self._tail += data[max(room, 0) :]
        excess = len(self._tail) - MOST_OUTPUT // 2
        if excess > MOST_OUTPUT:  # moved seldom, so that much output costs linear time
            self._cut(excess)

    def _cut(self, excess: int) -> None:
        if excess > 0:
            del self._tail[:excess]
            self._left_out += excess

    def text(self) -> str | None:
        """The text without space around it; None when there is none."""
        self._cut(len(self._tail) - MOST_OUTPUT // 2)
        middle = f"\n... {self._left_out} bytes left out ...\n".encode() if self._left_out else b""
        return bytes(self._head + middle + self._tail).decode("utf-8", "replace").strip() or None


def run_program(
    command: str | Sequence[str],
    folder: str,
    *,
    input: str | bytes | None = None,
    stdout: bool = True,
    stderr: bool = True,
    script: str = "",
) -> tuple[int, str | None, str | None]:
    """Exit code, output and error output of a program; text runs through the shell. Raises OSError.

    It belongs to the process group of the plan, which is killed as a whole. What it writes is told meanwhile as that of
    ``script``.
    """
    data = input.encode("utf-8", "surrogatepass") if isinstance(input, str) else input
    # What is not captured goes where the log of the agent goes.
    process = subprocess.Popen(
        command,
        cwd=folder,
        shell=isinstance(command, str),
        stdin=subprocess.DEVNULL if data is None else subprocess.PIPE,
        stdout=subprocess.PIPE if stdout else None,
        stderr=subprocess.PIPE if stderr else None,
    )
    streams = _Streams(process, data, script)
    try:
        streams.run()
    finally:
        streams.close()
        code = process.wait()
    return code, streams.text(process.stdout), streams.text(process.stderr)


class _Streams:
    """The pipes of one program."""

    def __init__(self, process: subprocess.Popen[bytes], data: bytes | None, script: str) -> None:
        self._process = process
        self._data = memoryview(data or b"")
        self._selector = selectors.DefaultSelector()
        self._outputs: dict[Any, _Output] = {}
        for name, stream in (("stdout", process.stdout), ("stderr", process.stderr)):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._outputs[stream] = _Output(teller(script, name))
                self._selector.register(stream, selectors.EVENT_READ)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            self._selector.register(process.stdin, selectors.EVENT_WRITE)

    def text(self, stream: Any) -> str | None:
        return self._outputs[stream].text() if stream in self._outputs else None

    def run(self) -> None:
        """Returns when the program has ended and its output, too, or has been silent for the grace."""
        ended: float | None = None
        pause = 0.005
        while self._selector.get_map():
            events = self._selector.select(pause if ended is None else GRACE)
            for key, _ in events:
                if key.fileobj is self._process.stdin:
                    self._write()
                else:
                    self._read(key.fileobj)
            for output in self._outputs.values():
                output.teller.flush()
            pause = 0.005 if events else min(pause * 1.5, 0.25)
            if ended is None and self._process.poll() is not None:
                ended = time.monotonic()
            # A chatty daemon that keeps the pipe must not keep the plan.
            if ended is not None and (not events or time.monotonic() - ended > 4 * GRACE):
                return
        self._process.wait()

    def close(self) -> None:
        for output in self._outputs.values():
            output.teller.flush(last=True)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass
        self._selector.close()

    def _read(self, stream: Any) -> None:
        try:
            data = os.read(stream.fileno(), 1 << 16)
        except BlockingIOError:
            return
        if data:
            self._outputs[stream].add(data)
        else:
            self._selector.unregister(stream)

    def _write(self) -> None:
        stream = self._process.stdin
        assert stream is not None
        try:
            self._data = self._data[os.write(stream.fileno(), self._data[: 1 << 16]) :] if self._data else self._data
        except BlockingIOError:
            return
        except OSError:  # it does not read its input
            self._data = memoryview(b"")
        if not self._data:
            self._selector.unregister(stream)
            stream.close()
