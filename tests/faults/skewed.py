"""``python -m tests.faults.skewed SECONDS WORDS…``: the command ``vetro WORDS…`` with a wall clock that is so much off.

Only what the process itself reads is: `time.time` and the present of `datetime`. Leases must not depend on it.
"""

from __future__ import annotations

import datetime
import sys
import time
from typing import Any

_REAL_TIME = time.time
_REAL = datetime.datetime


class _Kind(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _REAL)


def skew(seconds: float) -> None:
    """Puts the clock forward, or back."""
    away = datetime.timedelta(seconds=seconds)

    class Skewed(_REAL, metaclass=_Kind):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return _REAL.now(tz) + away

        @classmethod
        def utcnow(cls) -> Any:
            return _REAL.now(datetime.UTC).replace(tzinfo=None) + away

    time.time = lambda: _REAL_TIME() + seconds
    datetime.datetime = Skewed  # type: ignore[misc]


if __name__ == "__main__":
    skew(float(sys.argv[1]))
    from vetro.cli.main import main

    sys.argv[1:] = sys.argv[2:]
    main(prog_name="vetro")
