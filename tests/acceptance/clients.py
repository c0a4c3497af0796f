"""Published clients as people run them: as commands, unmodified."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.acceptance.golden.bodies import contents_of, zipped
from tests.acceptance.golden.people import Site
from tests.acceptance.golden.recording import PACKAGES

#: Nobody answers there: the client looks for required packages at a repository on the web first.
_NOWHERE = "http://127.0.0.1:9"


class Command:
    """A program of the environment that runs the tests, with options that come first."""

    def __init__(self, site: Site, folder: Path, program: str, *options: str) -> None:
        self.site = site
        self.folder = folder
        self.words = [str(Path(sys.executable).with_name(program)), *options]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OS_", "MURANO_", "VETRO_"))}
        self.environment = {**kept, "MURANO_REPO_URL": _NOWHERE, "HOME": str(folder), "COLUMNS": "300"}

    def __call__(self, *words: str, status: int = 0, input: str | None = None) -> str:
        """What it prints; the exit status has to be ``status``."""
        done = subprocess.run(
            [*self.words, *words], env=self.environment, cwd=self.folder, text=True, input=input, capture_output=True,
            timeout=100,
        )  # fmt: skip
        assert done.returncode == status, f"{words}: {done.stdout}\n{done.stderr}"
        # Without a Keystone there is no image service either, which `murano` says in front of what it prints.
        lines = done.stdout.splitlines(keepends=True)
        kept = "".join(line for line in lines if "glance" not in line)
        return kept if status == 0 else kept + done.stderr

    def rows(self, *words: str, input: str | None = None) -> list[list[str]]:
        """The cells of the table that it prints, without the heading."""
        lines = [line for line in self(*words, input=input).splitlines() if line.startswith("|")]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]

    def json(self, *words: str) -> Any:
        """What it prints as JSON, after lines that tell what it does."""
        text = self(*words)
        return json.loads(text[min(place for mark in "[{" if (place := text.find(mark)) >= 0) :])

    def facts(self, *words: str, input: str | None = None) -> dict[str, str]:
        """A table of two columns, as a mapping."""
        return {row[0]: row[1] for row in self.rows(*words, input=input)}


def settled(site: Site, environment: str) -> str:
    """The status of an environment after its task; '' when it is gone."""
    end = time.monotonic() + 60
    while True:
        answer = site.send("demo", "GET", f"/v1/environments/{environment}", {}, None)
        if answer.status == 404:
            return ""
        status = str(answer.json()["status"])
        if status not in ("deploying", "deleting"):
            return status
        assert time.monotonic() < end, f"{environment} is still {status}"
        time.sleep(0.03)


def archive(folder: Path, prefix: str) -> Path:
    """The recorded demonstration application as an archive; its names begin with ``prefix`` instead of com.example."""
    files = contents_of(PACKAGES / "com.example.Demo")
    path = folder / f"{prefix}.zip"
    path.write_bytes(zipped({name: data.replace(b"com.example", prefix.encode()) for name, data in files.items()}))
    return path


def written(folder: Path, data: Any) -> str:
    """A new file with this JSON; its path."""
    path = folder / f"{time.monotonic_ns()}.json"
    path.write_text(json.dumps(data))
    return str(path)
