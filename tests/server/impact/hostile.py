"""What answers for environments in a process in which strangers have left the language, and does what it can.

An environment is theirs when a text of its model is one of `MODES`; the others are answered as ever.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any

from vetro.engine.planning import batch
from vetro.engine.task.perform import Performance

MODES = ("forks", "sleeps", "dies", "spins", "hoards", "floods", "lies", "talks")


def answering(performance: Performance) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """See `vetro.engine.planning.batch.answering`."""
    real = batch.answering(performance)

    def answer(question: Mapping[str, Any]) -> dict[str, Any]:
        text = json.dumps(question["task"].get("model"))
        for mode in MODES:
            if f'"{mode}"' in text:
                return _hostile(mode)
        return real(question)

    return answer


def _hostile(mode: str) -> dict[str, Any]:
    if mode == "forks":
        while True:
            os.fork()  # refused: the first one ends this
    elif mode == "sleeps":
        time.sleep(3600)
    elif mode == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    elif mode == "spins":
        while True:
            pass
    elif mode == "hoards":
        kept = [b""]
        while True:
            kept.append(bytes(64 << 20))
    elif mode == "floods":
        return {"plan": "x" * (8 << 20), "error": None}
    elif mode == "lies":
        return {"report": {"asked": 7}, "gone": None, "error": {"code": 3, "message": {"text": []}}}
    os.write(1, b"to nowhere")
    return {"error": {"code": "ENG341", "message": "canary of a neighbour", "names": []}}
