"""Names of queues: what a job is about, so that only those workers hear of it that may claim its task.

A queue is ``long`` or ``short`` (somebody waits for such tasks), then ``/label`` of a task that only workers with this
label may run, then ``@version`` of one that this version of the engine began. Names are short enough to be part of a
channel of PostgreSQL.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from vetro.server.tasks.claim import SHORT

#: Characters of a label or version: with the prefix that procrastinate gives channels, a name has at most 63.
_MOST = 16
_PLAIN = re.compile(rf"[A-Za-z0-9_.=+-]{{1,{_MOST}}}")


def queue(kind: str, label: str = "", engine: str = "") -> str:
    """The queue of a task; ``engine``: the version that began it and has to go on, empty for any."""
    name = "short" if kind in SHORT else "long"
    return name + (f"/{_word(label)}" if label else "") + (f"@{_word(engine)}" if engine else "")


def served(engine: str, labels: Sequence[str] = (), *, short: bool = False) -> list[str]:
    """The queues of a worker of this version with these labels; ``short``: of its places for short tasks."""
    parts = ["short"] if short else ["short", "long"]
    words = ["", *(f"/{_word(label)}" for label in labels)]
    versions = ["", f"@{_word(engine)}"]
    return [part + word + version for part in parts for word in words for version in versions]


def fits(name: str, engine: str, *, short: bool = False) -> bool:
    """Whether a worker of this version that serves every label takes from this queue."""
    name, _, version = name.partition("@")
    return version in ("", _word(engine)) and (not short or name.partition("/")[0] == "short")


def _word(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    digest = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
    return re.sub(r"[^A-Za-z0-9_.=+-]", "_", text)[: _MOST - 9] + "-" + digest
