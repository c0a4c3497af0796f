"""What answers at the pipe of a walled process in tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


def echo(installation: Any) -> Callable[[int], None]:
    """Gives back what it gets, and the bytes of a file that is named so."""

    def answer(fd: int) -> None:
        while data := os.read(fd, 1 << 16):
            if data.startswith(b"/"):
                try:
                    with open(data, "rb") as file:
                        data = file.read()
                except OSError as error:
                    data = type(error).__name__.encode()
            elif data == b"memory":
                bytearray(1 << 30)
            elif data == b"fail":
                raise RuntimeError
            os.write(fd, data)

    return answer
