"""Documentation pages as programs: what their code blocks say is done, in page order, in an empty folder.

* ```` ```yaml path/file.yaml ````, also ``text``, ``json``, ``python``: the file is written.
* ```` ```console ````: each ``$ vetro …`` runs in this process, each ``$ python …`` in another; the output is compared.
* ```` ```python ```` without a name: a doctest; all of a page share their variables.
* ```` ```yaml ```` without a name: MuranoPL without a finding: instructions, parts of a class, or whole files.
* ```` ```yaql ````: lines ``expression  # value``.
* Anything else (``sh``, plain) is for the reader only.

``VETRO_UPDATE_GOLDEN=1`` writes the outputs of ``console`` blocks anew.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from vetro.cli.main import main
from vetro.muranopl.reader.files import read_file
from vetro.yaql import evaluate

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: What differs from run to run, and what stands for it on a page.
CHANGING = (
    (re.compile(r"\d+\.\d+ ms"), "1.0 ms"),
    (re.compile(r"^ *\d+\.\d\ds ", re.MULTILINE), "    0.01s "),
    (re.compile(r"(\d+ function calls).* in \d+\.\d+ seconds"), "… function calls in 0.010 seconds"),
    (re.compile(r"(?<=deployed in )\d+\.\d s\b", re.MULTILINE), "1.0 s"),
    (re.compile(r"(?<=is empty in )\d+\.\d s$", re.MULTILINE), "1.0 s"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b"), "2026-01-01 12:00:00"),
    # Which of its networks an environment gets follows from its random id.
    (re.compile(r"\b10\.0\.\d+\.(?=\d+\b)"), "10.0.1."),
    # Environments keep packages by checksum.
    (re.compile(r"\b[0-9a-f]{64}(?=\.zip\b)"), "0123456789abcdef"),
    # What `vetro deploy` adds, or a form makes, gets random ids.
    (
        re.compile(r"(?:(?<= = )|(?<=\"id\": \")|(?<=[a-z]_))[0-9a-f]{32}\b", re.MULTILINE),
        "0123456789abcdef0123456789abcdef",
    ),
)


def settled(text: str, folder: Path) -> str:
    """Output of a command as it stands on a page: without what differs from run to run, nor the folder of the run."""
    text = text.replace(str(folder) + os.sep, "").replace(str(folder), ".")
    for pattern, replacement in CHANGING:
        text = pattern.sub(replacement, text)
    return text


def prepare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes ``folder`` the place where a page is tried: the examples are there, and the user's own things are not."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("VETRO_WORKSPACE", str(folder / "workspace"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    monkeypatch.delenv("VETRO_CONTEXT", raising=False)
    monkeypatch.setenv("VETRO_IMAGES", str(folder / "images"))
    (folder / "examples").symlink_to(ROOT / "examples")


class Page:
    """One page, and the folder in which it is tried."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        self.folder = folder
        self.variables: dict[str, Any] = {"__name__": "__docs__"}
        self.outputs: list[tuple[re.Match[str], str]] = []

    def run(self) -> None:
        """Does everything; raises AssertionError where the page is wrong."""
        text = self.path.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            language, name, body = match.groups()
            line = text.count("\n", 0, match.start()) + 2
            if name is not None:
                target = self.folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(body, encoding="utf-8")
            elif language == "console":
                self.outputs.append((match, self._transcript(body)))
            elif language == "python":
                self._doctest(body, line)
            elif language == "yaml":
                check_fragment(body, f"{self.path.name}:{line}")
            elif language == "yaql":
                check_expressions(body, f"{self.path.name}:{line}")
        if os.environ.get("VETRO_UPDATE_GOLDEN"):
            for match, output in reversed(self.outputs):
                text = f"{text[: match.start()]}```console\n{output}```{text[match.end() :]}"
            self.path.write_text(text, encoding="utf-8")
            return
        for match, output in self.outputs:
            assert output == match.group(3)

    def _transcript(self, body: str) -> str:
        commands = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
        return "\n".join(f"$ {command}\n{self._command(command)}" for command in commands)

    def _command(self, command: str) -> str:
        program, *arguments = shlex.split(command)
        if program == "vetro":
            result = CliRunner().invoke(main, arguments, prog_name="vetro", terminal_width=100)
            output, status = result.output, result.exit_code
            assert status != 3, output  # a defect is nothing to write down
        else:
            assert program == "python", f"{self.path.name}: no page runs {program}"
            environment = {k: v for k, v in os.environ.items() if not k.startswith(("COV_", "COVERAGE_"))}
            environment |= {"COLUMNS": "100", "PYTHONPATH": str(ROOT / "src")}
            done = subprocess.run(
                [sys.executable, *arguments],
                cwd=self.folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            output, status = done.stdout + done.stderr, done.returncode
        output = settled(output, self.folder)
        return output + (f"[exit status {status}]\n" if status else "")

    def _doctest(self, body: str, line: int) -> None:
        test = doctest.DocTestParser().get_doctest(body, self.variables, self.path.name, str(self.path), line - 1)
        said: list[str] = []
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        doctest.DocTestRunner(verbose=False, optionflags=flags).run(test, out=said.append, clear_globs=False)
        self.variables.update(test.globs)
        assert test.examples, f"{self.path.name}:{line}: a python block without '>>>' is never tried"
        assert not said, "".join(said)


def check_fragment(body: str, where: str) -> None:
    """Refuses a piece of MuranoPL in which the reader finds something."""
    if body.lstrip().startswith(("- ", "#")) and not re.search(r"^[A-Z]\w*:", body, re.MULTILINE):
        indented = "".join(f"      {line}" for line in body.splitlines(keepends=True))
        body = f"Methods:\n  run:\n    Body:\n{indented}"
    data = yaml.compose(body) if "\n---" not in body else None
    keys = [key.value for key, _ in data.value] if isinstance(data, yaml.MappingNode) else []
    if "Format" in keys or "Objects" in keys or "?" in keys:
        return  # a manifest or a model; pages that matter use them in a command
    head = "Namespaces: {=: doc, std: io.murano, sys: io.murano.system, m: io.murano.metadata}\n"
    problems: list[Any] = []
    read_file((head if "Namespaces" not in keys and data is not None else "") + body, where, format_version=(1, 4),
              default_name="doc.Sample", problems=problems)  # fmt: skip
    assert not problems, "\n".join(f"{p.place}: {p.message}" for p in problems)


def check_expressions(body: str, where: str) -> None:
    """Refuses lines whose expression has another value than its comment says."""
    for line in filter(None, body.splitlines()):
        expression, _, value = line.partition("  # ")
        got = evaluate(expression.strip())
        assert got == yaml.safe_load(value), f"{where}: {expression.strip()} is {got!r}, not {value}"
