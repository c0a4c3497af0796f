"""The process for large requests with an application of a few lines: ``python -m tests.server.large_kit``."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

from vetro.server.config.address import RUN
from vetro.server.http import large_process
from vetro.server.http.large_transfer import SentResponse


def answer(environ: dict[str, Any]) -> SentResponse:
    path = environ["PATH_INFO"]
    if path == "/wait":
        folder = Path(os.environ[RUN])
        folder.joinpath(f"began-{environ['HTTP_NAME']}").touch()
        while not folder.joinpath("go").exists():
            time.sleep(0.01)
    if path == "/eat":
        len(b"x" * (2 << 30))
    if path == "/die":
        os.kill(os.getpid(), 9)
    body = environ["wsgi.input"].read()
    told = {
        "size": len(body), "nice": os.nice(0), "scheduler": os.sched_getscheduler(0), "pid": os.getpid(),
        "length": environ["CONTENT_LENGTH"], "others": sorted(key for key in environ if key.startswith("vetro")),
    }  # fmt: skip
    return SentResponse(
        "201 Created", [("X-Told", json.dumps(told))], [body[: len(body) // 2], b"", body[len(body) // 2 :]], "r"
    )


if __name__ == "__main__":
    with contextlib.closing(large_process.listen(Path(os.environ[RUN]))) as listening:
        large_process.Server(listening, lambda: answer).run()
