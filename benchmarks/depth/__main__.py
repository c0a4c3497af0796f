"""`python -m benchmarks.depth KIND N`: one kind of nesting, N levels deep; prints one JSON line."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.worker import peak_mib
from benchmarks.workloads import generate
from benchmarks.workloads.definitions import PACKAGES
from vetro.muranopl import Engine, Session
from vetro.packages import load_path
from vetro.yaql.errors import kind_of

#: Kinds that are methods of `bench.depth.Probe`, with the result that N levels must have.
METHODS: Mapping[str, str] = {
    "call": "a method call",
    "select": "a call in a lambda of select",
    "order": "a call in a key of orderBy",
    "check": "a call in check()",
    "default": "a default that makes an object",
    "init": "an .init that makes an object",
}


def session(folder: Path) -> Session:
    return Engine(packages=load_path(folder)).session()


def probe_method(kind: str, n: int) -> None:
    run = session(Path(__file__).parent / "packages")
    run.load({"Objects": {"?": {"type": "bench.depth.Probe", "id": "root"}}})
    result = run.call(kind, kwargs={"n": n})
    if result != n:
        raise AssertionError(f"{kind} of {n} gave {result!r}")


def probe_owned(n: int) -> None:
    """Loads n objects that own each other, and serialises them."""
    run = session(PACKAGES)
    run.load(generate.nested_model(n))
    tree: Any = run.serialize()["Objects"]
    depth = 0
    while tree is not None:
        depth, tree = depth + 1, tree["inner"]
    if depth != n:
        raise AssertionError(f"{depth} of {n} objects came back")


def main(kind: str, n: int) -> None:
    answer: dict[str, Any] = {"ok": True}
    try:
        if kind == "owned":
            probe_owned(n)
        else:
            probe_method(kind, n)
    except BaseException as error:  # budgets are no Exception
        answer = {"ok": False, "error_kind": kind_of(error), "error": f"{type(error).__name__}: {error}"[:200]}
    answer["rss_mib"] = round(peak_mib(), 1)
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
