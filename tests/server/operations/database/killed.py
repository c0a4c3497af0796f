"""A command that is killed by itself: ``python -m tests.server.operations.database.killed STEP WORDS...`` runs ``vetro
WORDS`` and ends as ``kill -9`` ends it before the step with this number: a statement for the database, a copy of it
that is opened, a program of PostgreSQL that is started, or a file that gets its name. With step 0 it runs to its end
and says on the last line of standard error how many steps there were.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

_EVENTS = frozenset({"os.rename", "os.link", "os.remove", "sqlite3.connect", "subprocess.Popen"})


def main() -> None:
    last, steps = int(sys.argv[1]), 0

    def step() -> None:
        nonlocal steps
        steps += 1
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)

    from django.db.backends.utils import CursorWrapper

    for name in ("execute", "executemany"):
        plain = getattr(CursorWrapper, name)

        def counted(self: Any, *args: Any, plain: Any = plain, **more: Any) -> Any:
            step()
            return plain(self, *args, **more)

        setattr(CursorWrapper, name, counted)
    sys.addaudithook(lambda event, _: step() if event in _EVENTS else None)
    from vetro.cli.main import main as vetro

    status: Any = 0
    try:
        vetro(sys.argv[2:], prog_name="vetro", standalone_mode=False)
    except SystemExit as end:
        status = end.code
    print(steps, file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
