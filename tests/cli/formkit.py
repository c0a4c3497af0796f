"""What tests of `vetro form` share: a person with prepared lines, form sessions in this process, a package."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.cli.conftest import write_package
from tests.forms.world import describer
from vetro.cli import output
from vetro.forms.objects import Objects
from vetro.forms.queries import answerer
from vetro.forms.sessions import ClassFormSession, DefinitionFormSession

UI = """\
Version: 2.1
Application:
  ?: {type: t.Box}
  name: $.main.name
  size: $.main.size
  text: $.more.text
Forms:
  - main:
      fields:
        - {name: name, type: string, label: Name, description: What people see, regexpValidator: '^[a-z]+$'}
        - {name: size, type: integer, label: Size, initial: 3, minValue: 1, maxValue: 9}
        - {name: loud, type: boolean, label: Loud, required: false}
        - {name: secret, type: password, label: Secret, required: false, enabled: $.main.loud}
  - more:
      fields:
        - name: text
          type: string
          label: concat('Text for ', $.main.name)
          initial: first
        - {name: colour, type: choice, label: Colour, choices: [[r, Red], [g, Green]], initial: g}
"""

BOX = """\
Namespaces: {=: t, std: io.murano, m: io.murano.metadata}
Name: Box
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull()}
  text: {Contract: $.string().notNull(), Default: first}
  size:
    Contract: $.int().notNull().check($ < 8, 'seven is the most')
    Default: 3
Methods:
  copied:
    Usage: Static
    Scope: Public
    Meta: {m:ModelBuilder: {}}
    Arguments:
      - model: {Contract: {}}
      - like: {Contract: $.string().notNull()}
      - times: {Contract: $.int().notNull(), Default: 2}
    Body:
      Return: {name: $like, size: $times, text: $model.get(text, none)}
"""


class Person:
    """Types ``lines``; what was shown is in `shown`. An exception among them is raised in its turn."""

    def __init__(self, *lines: Any) -> None:
        self._lines = iter(lines)
        self.shown: list[str] = []

    def say(self, text: str) -> None:
        self.shown.append(output.plain(text))

    def line(self, prompt: str) -> str:
        self.shown.append(output.plain(prompt))
        found = next(self._lines, EOFError)
        if not isinstance(found, str):
            raise found
        return found

    def secret(self, prompt: str) -> str:
        return self.line(f"(hidden) {prompt}")

    def left(self) -> list[Any]:
        """Lines that nobody asked for."""
        return list(self._lines)

    def prompts(self) -> list[str]:
        """Labels of what was asked, in order."""
        return [line.partition(" *")[0].partition(" [")[0].rstrip(": ") for line in self.shown if line.endswith(": ")]


class _Performance:
    """A task process without a task: definitions that ask for nothing outside."""

    effects = None
    task = None


def definition_form_session(text: str = UI, fqn: str = "t.Box") -> DefinitionFormSession:
    """A form session for a definition, in this process."""
    answer = answerer(_Performance())  # type: ignore[arg-type]
    loaded = answer({"do": "load", "text": text, "origin": "UI/ui.yaml"})
    assert loaded == {}, loaded
    package = {"fqn": fqn, "name": fqn, "version": "1.0.0"}
    return DefinitionFormSession(answer, {"package": package, "quick": True, "referred": False, "region": None})


def class_form_session(
    name: str, classes: Mapping[str, str] | None = None, existing: Sequence[Any] = (), **about: Any
) -> ClassFormSession:
    """A form session for a class of `tests.forms.world`, or of ``classes`` in a package that says ``about`` itself."""
    from tests.forms.world import package

    known = describer(package(classes, **about)) if classes is not None else describer()
    described = known.of(name)
    assert described is not None
    ids = (f"id{number}" for number in itertools.count(1))
    root = {"?": {"type": "io.murano.Environment", "id": "env"}, "applications": list(existing)}
    return ClassFormSession(known, described, Objects(root, known), new_id=lambda: next(ids))


def box(folder: Path, ui: str = UI, **more: Any) -> Path:
    """The package ``t.Box`` with its definition."""
    made = write_package(folder / "box", {"t.Box": BOX}, name="t.Box", **more)
    (made / "UI").mkdir()
    (made / "UI" / "ui.yaml").write_text(ui, encoding="utf-8")
    return made
