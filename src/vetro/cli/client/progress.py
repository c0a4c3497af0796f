"""`importing`: what a server says about an import while it goes on, shown below the cursor of a terminal."""

from __future__ import annotations

import json
import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vetro.cli import output as out
from vetro.cli.client.requests import Client
from vetro.cli.progress import Progress

#: Stages of an import as the server names them, in words.
_STAGES = {"reading": "reading {what}, {done} are read", "checking": "checking {what}", "storing": "storing {what}"}
#: Seconds that listening may take to begin: the import waits for it no longer.
_BEGIN = 2.0


@contextmanager
def importing(client: Client, count: int, size: int) -> Iterator[dict[str, str]]:
    """Shows the progress of an upload of ``count`` packages, ``size`` bytes, that is sent with the fields it gives.

    Without a terminal nothing is shown or asked, and there are no fields. That an import is followed never fails it.
    """
    if not at_terminal():
        yield {}
        return
    with Progress() as progress:
        progress.step(f"sending {out.plural(count, 'package')}, {max(size // 1024, 1):,} KiB")
        name, listening = secrets.token_hex(8), threading.Event()
        listener = threading.Thread(target=_listen, args=(client, name, progress, listening), daemon=True)
        listener.start()
        listening.wait(_BEGIN)
        yield {"progress": name}


def at_terminal() -> bool:
    """Whether somebody watches who wants lines that change."""
    return sys.stderr.isatty() and out.colored(sys.stderr)


def _listen(client: Client, name: str, progress: Progress, listening: threading.Event) -> None:
    """Follows the events of import ``name`` until its last stage. A thread of its own, which ends with the process."""
    import httpx

    try:
        with Client(client.context, again=False) as own, own.http.stream("GET", "/v2/events", timeout=None) as stream:
            event = ""
            for line in stream.iter_lines():
                field, _, value = line.partition(": ")
                if field == "event":
                    event = value
                    listening.set()
                elif field == "data" and event == "import" and _shown(json.loads(value), name, progress):
                    return
    except (httpx.HTTPError, OSError, ValueError):
        pass  # a server that sends no events imports all the same
    finally:
        listening.set()


def _shown(told: dict[str, Any], name: str, progress: Progress) -> bool:
    """Shows one event, if it is about the import ``name``; whether it was the last one."""
    stage = _STAGES.get(str(told.get("stage")))
    if told.get("name") != name or stage is None:
        return False
    progress.step(stage.format(done=told.get("done"), what=out.plural(int(told.get("of") or 0), "package")))
    return bool(told["stage"] == "storing")
