"""A small package on disk, task processes over it, and somebody who answers their effects."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from vetro.engine.effect_kinds import Answer, answer_of
from vetro.engine.task.launcher import Launcher, TaskProcess
from vetro.engine.task.task import Budget, Task

HEAD = "Namespaces: {=: t, std: io.murano, sys: io.murano.system, e: io.murano.metadata.engine}\n"
NATIVES = Path(__file__).parent / "natives"
TIMEOUT = 30.0


def write_package(folder: Path, classes: Mapping[str, str], name: str = "t", format: str = "1.4") -> str:
    """A package ``t`` with these classes (short name -> text without header); its path."""
    root = folder / f"{name}.package"
    (root / "Classes").mkdir(parents=True)
    files = "".join(f"  t.{short}: {short}.yaml\n" for short in classes)
    (root / "manifest.yaml").write_text(
        f"Format: MuranoPL/{format}\nType: Library\nFullName: {name}\nName: {name}\nClasses:\n{files}"
    )
    for short, body in classes.items():
        (root / "Classes" / f"{short}.yaml").write_text(f"{HEAD}Name: {short}\n{dedent(body)}")
    return str(root)


def main_class(body: str, rest: str = "", properties: str = "") -> dict[str, str]:
    """Class Main with a public method ``run`` and a ``deploy`` that calls it."""
    indented = "\n".join("      " + line for line in dedent(body).strip("\n").split("\n"))
    text = f"Properties:\n{properties}\n" if properties else ""
    text += f"Methods:\n  deploy: {{Body: $.run()}}\n  run:\n    Scope: Public\n    Body:\n{indented}\n"
    text += indent(dedent(rest), "  ")
    return {"Main": text}


def model(**properties: Any) -> dict[str, Any]:
    """A model whose root is of class t.Main."""
    return {"Objects": {"?": {"type": "t.Main", "id": "root"}, **properties}}


class Play:
    """One task process and what was said: `frames` from it; `play` runs it to its end."""

    def __init__(self, process: TaskProcess, answers: Mapping[str, Any] | None = None) -> None:
        self.process = process
        self.answers = dict(answers or {})
        self.frames: list[dict[str, Any]] = []

    @property
    def effects(self) -> list[tuple[str, str]]:
        """(key, kind) of the effects, in order."""
        return [(f["key"], f["kind"]) for f in self.frames if f["t"] == "effect"]

    def next(self) -> dict[str, Any]:
        """The next frame."""
        frame = self.process.receive(TIMEOUT)
        assert frame is not None, f"no frame came within {TIMEOUT} seconds after {self.frames[-3:]}"
        self.frames.append(frame)
        return frame

    def answer(self, effect: Mapping[str, Any], value: Any = None) -> None:
        """Answers an effect; a mapping with ``error`` as only key is an error."""
        if isinstance(value, dict) and set(value) == {"error"}:
            self.process.send({"t": "answer", "key": effect["key"], **value})
        else:
            self.process.send({"t": "answer", "key": effect["key"], "answer": value})

    def play(self, on_effect: Callable[[dict[str, Any]], bool] = lambda frame: False) -> dict[str, Any]:
        """Answers everything in order until the end; the last frame. ``on_effect`` says whether it answered itself."""
        while True:
            frame = self.next()
            if frame["t"] in ("done", "failed"):
                return frame
            if frame["t"] == "effect" and answer_of(frame["kind"]) is not Answer.NONE and not on_effect(frame):
                found = self.answers.get(frame["kind"])
                self.answer(frame, found(frame["args"]) if callable(found) else found)


def start(launcher: Launcher, task: Task, answers: Mapping[str, Any] | None = None) -> Play:
    """A task process that has got its task."""
    process = launcher.start()
    process.send({"t": "task", "task": task.as_json()})
    return Play(process, answers)


def run(
    launcher: Launcher, path: str, *, kind: Any = "deploy", answers: Mapping[str, Any] | None = None, **task: Any
) -> dict[str, Any]:
    """The last frame of a task over the package at ``path``."""
    task.setdefault("model", model())
    task.setdefault("budget", Budget(cpu_seconds=30.0, memory_mib=512))
    play = start(launcher, Task(id="task", kind=kind, packages=[path], **task), answers)
    with play.process:
        return play.play()


def attack(launcher: Launcher, path: str, method: str, **args: Any) -> dict[str, Any]:
    """The last frame of a static native method of t.Attacker."""
    return run(launcher, path, kind="call", method=method, on_class={"name": "t.Attacker"}, args=args)


def gone(pid: int) -> bool:
    """Whether a process ends soon: it is told by the kernel, not by looking again and again."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(TIMEOUT * 1000))
    finally:
        os.close(handle)


def counting(rest: str = "", body: str = "- $.n: $.n + 1\n- Return: $.n") -> dict[str, str]:
    return main_class(body, rest, "  n: {Contract: $.int().notNull(), Usage: InOut, Default: 0}")
