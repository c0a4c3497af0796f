#!/usr/bin/python3
"""Signals a wait handle from inside a server: ``vetro-signal HANDLE --data-binary '{"status": "SUCCESS"}'``.

Takes the options of curl that scripts append to `curl_cli` and ignores those that say nothing. Signals are kept in the
server, a file each; the host reads them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

FOLDER = os.environ.get("VETRO_SIGNALS", "/var/lib/vetro/signals")


def main(argv: list[str]) -> int:
    """Writes one signal; gives the exit status."""
    if len(argv) < 2 or not argv[-1 if argv[1] == "--list" else 1].replace("-", "").isalnum():
        print("usage: vetro-signal HANDLE [--data-binary JSON]", file=sys.stderr)
        return 2
    if argv[1] == "--list":
        return show(argv[2])
    data = ""
    words = iter(argv[2:])
    for word in words:
        name, given, value = word.partition("=")
        if name in ("-d", "--data", "--data-binary", "--data-raw"):
            data = value if given else next(words, "")
            if data.startswith("@"):
                with open(data[1:], encoding="utf-8") as file:
                    data = file.read()
    signal: dict[str, Any] = {"status": "SUCCESS", "id": "", "data": None, "reason": ""}
    if data.strip():
        try:
            content = json.loads(data)
        except ValueError:
            print(f"vetro-signal: the data is no JSON: {data[:200]}", file=sys.stderr)
            return 1
        if isinstance(content, dict):
            signal.update({key.lower(): value for key, value in content.items()})
    folder = os.path.join(FOLDER, argv[1])
    os.makedirs(folder, exist_ok=True)
    name = f"{time.time_ns():020d}-{os.getpid()}"
    with open(os.path.join(folder, ".new-" + name), "w", encoding="utf-8") as file:
        json.dump(signal, file)
    os.rename(os.path.join(folder, ".new-" + name), os.path.join(folder, name + ".json"))
    return 0


def show(handle: str) -> int:
    """Prints all signals of a handle, a line of JSON each."""
    folder = os.path.join(FOLDER, handle)
    for name in sorted(os.listdir(folder))[:10000] if os.path.isdir(folder) else ():
        if name.endswith(".json"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                print(json.dumps(json.load(file)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
