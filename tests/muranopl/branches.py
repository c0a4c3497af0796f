"""A package whose methods run branches at the same time, and what they did."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent
from typing import Any

from vetro.muranopl import Engine, Limits, VirtualClock
from vetro.muranopl.runtime.effects import InProcessEffects
from vetro.muranopl.types.native import NativeRegistry
from vetro.packages.memory import memory_package

HEAD = "Namespaces: {=: t, e: io.murano.metadata.engine}\n"


class Run:
    """A session over class ``t.Main`` (and others) on a virtual clock; `trace` notes what the package says."""

    def __init__(
        self, body: str, others: Mapping[str, str] | None = None, *, limits: Limits | None = None, clock: Any = None
    ) -> None:
        self.trace: list[Any] = []
        self.handlers: dict[str, Any] = {}
        self.effects = InProcessEffects()
        natives = NativeRegistry()
        classes = {"Main": body, **(others or {})}
        texts = {f"t.{n}": f"{HEAD}Name: {n}\n{dedent(text)}" for n, text in classes.items()}
        package = memory_package({"name": "t", "format": "1.4", "classes": texts})
        from vetro.muranopl.defaults import default_natives

        base = default_natives()
        self.engine = Engine(
            packages=[package],
            natives=base if base is not None else natives,
            functions={"note": self._note, "outside": self._outside, "native": self._native},
            effects=self.effects,
            limits=limits,
            clock=clock or VirtualClock(),
        )
        self.session = self.engine.session()
        self.session.load({"Objects": {"?": {"type": "t.Main", "id": "main"}}})

    def _note(self, value: Any) -> Any:
        self.trace.append(value)
        return value

    def _outside(self, value: Any) -> Any:
        return self.session.perform("test.outside", {"value": value})

    def _native(self, value: Any) -> Any:
        return self.handlers["native"](value)

    def call(self, name: str = "run", **arguments: Any) -> Any:
        return self.session.call(name, kwargs=arguments, public_only=False)

    def rest(self) -> tuple[int, int, int, int]:
        """What a finished run must not leave: groups, suspended branches, timers, effects under way."""
        s = self.session.scheduler
        return len(s._groups), len(s._parked), len(s._timers), len(s._outside)


def method(body: str, name: str = "run", arguments: str = "") -> str:
    text = f"Methods:\n  {name}:\n"
    if arguments:
        text += f"    Arguments: {arguments}\n"
    return text + "    Body:\n" + "\n".join(f"      {line}" for line in dedent(body).strip("\n").split("\n")) + "\n"
