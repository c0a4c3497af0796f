"""`run`: load made by wrk, one thread, connections that stay open. Murano's figures were made the same way."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SCRIPT = Path(__file__).with_name("wrk.lua")


def there() -> bool:
    """Whether this machine has wrk."""
    return shutil.which("wrk") is not None


def run(
    port: int, method: str, path: str, headers: Mapping[str, str], body: str, clients: int, seconds: float
) -> dict[str, Any]:
    """``rate`` (requests a second), ``p50_ms``, ``p99_ms``, and ``wrong`` when answers were errors or did not come.

    ``%d`` in ``body`` becomes a number that rises with each request. Whole seconds, one at least.
    """
    command = ["wrk", "-t1", f"-c{clients}", f"-d{max(1, round(seconds))}s", "-s", str(_SCRIPT)]
    for name, value in headers.items():
        command += ["-H", f"{name}: {value}"]
    command += [f"http://127.0.0.1:{port}{path}", "--", method, body]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    row = {
        "rate": round(told["requests"] * 1e6 / told["microseconds"], 1),
        "p50_ms": round(told["p50"] / 1000, 2),
        "p99_ms": round(told["p99"] / 1000, 2),
    }
    if told["refused"] or told["broken"] or not told["requests"]:
        row["wrong"] = f"{told['refused']} of {told['requests']} answers were errors, {told['broken']} did not come"
    return row
