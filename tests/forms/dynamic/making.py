"""Definitions and wizards for tests, in few words."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

from tests.dynamic_ui.fakes import CLOUD, FakeCatalog, FakeCloud
from vetro.forms.dynamic import Outcome, Package, Surroundings, Wizard, load
from vetro.forms.model import Field, Page

PACKAGE = Package("com.example.App", "App", "1.0.0")


def surroundings(cloud: Mapping[str, Any] | None = None, **changes: Any) -> Surroundings:
    """The invented cloud, a fixed random generator and a fixed clock."""
    data = {**CLOUD, **(cloud or {})}
    given: dict[str, Any] = {"rng": random.Random(7), "clock": lambda: 1_700_000_000.0, **changes}
    given.setdefault("cloud", FakeCloud(data))
    given.setdefault("catalog", FakeCatalog(data))
    return Surroundings(PACKAGE, **given)


def definition(
    *fields: str, application: str = "", sections: str = "", validators: str = "", version: str = "2.4"
) -> str:
    """The text of a definition with one form ``main``; each field is a flow mapping without braces."""
    lines = [f"Version: {version}", *sections.splitlines(), "Application:", "  ?: {type: com.example.App}"]
    lines += [f"  {line}" for line in application.splitlines()]
    lines += ["Forms:", "  - main:", "      fields:" + ("" if fields else " []")]
    lines += [f"        - {{{field}}}" for field in fields]
    if validators:
        lines += ["      validators:", *(f"        {line}" for line in validators.splitlines())]
    return "\n".join(lines) + "\n"


class Session:
    """A wizard with its state, which is written as JSON between any two calls."""

    def __init__(self, text: str, **changes: Any) -> None:
        self.wizard = Wizard(load(text, "ui.yaml"), surroundings(**changes))
        self.state = stored(self.wizard.start())

    def page(self, step: int | None = None, **options: Any) -> Page:
        return self.wizard.page(self.state, step, **options)

    def field(self, name: str, step: int | None = None, **options: Any) -> Field:
        return next(field for field in self.page(step, **options).fields() if field.name == name)

    def send(self, step: int | None = None, /, **raw: Any) -> Outcome:
        outcome = self.wizard.submit(self.state, raw, step)
        self.state = stored(outcome.state)
        return outcome

    def model(self, name: str = "app") -> dict[str, Any]:
        """The model after the built-in step was sent."""
        outcome = self.send(application_name=name)
        assert outcome.kind == "done", outcome
        return stored(self.wizard.model(self.state))


def stored(value: Any) -> Any:
    """The same after it was kept as JSON for a while."""
    return json.loads(json.dumps(value))


def cleaned(field: str, value: Any, **changes: Any) -> Any:
    """What becomes of ``value`` in a form with this one field, called ``a``; the texts when it is refused."""
    outcome = Session(definition(f"name: a, {field}"), **changes).send(a=value)
    return list(outcome.errors["a"]) if outcome.kind == "invalid" else outcome.cleaned["a"]
