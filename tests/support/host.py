"""`Host`: packages around a few lines of MuranoPL, run by a real engine with recorded effects and a virtual clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.compiled_library import compiled_library
from vetro.muranopl.api import Engine
from vetro.muranopl.runtime.effects import InProcessEffects, RecordingEffects
from vetro.muranopl.runtime.execution import VirtualClock
from vetro.muranopl.session import Session
from vetro.packages import memory_package
from vetro.yaql.values import thaw

HEAD = """
Namespaces:
  =: t
  std: io.murano
  res: io.murano.resources
  sys: io.murano.system
  test: io.murano.test
  m: io.murano.metadata
  forms: io.murano.metadata.forms
"""


class Host:
    """Each `load` makes a new session; `session` is the latest one."""

    def __init__(self, **engine: Any) -> None:
        self.inner = InProcessEffects()
        self.effects = RecordingEffects(self.inner)
        self.clock = VirtualClock()
        self.options = engine
        self.session: Session
        self.packages: list[Any] = []

    def engine(self) -> Engine:
        """Another engine over the packages of the latest `load`."""
        options = {"code_cache": compiled_library(), **self.options}
        return Engine(self.packages, effects=self.effects, clock=self.clock, **options)

    def load(
        self,
        body: str,
        *,
        classes: Mapping[str, str] | None = None,
        model: Mapping[str, Any] | None = None,
        format: str = "1.4",
        packages: tuple[Any, ...] = (),
        **package: Any,
    ) -> Session:
        """Loads a model whose root, id ``root``, is of class t.Main, declared by ``body``.

        ``classes`` are further classes of the package (short name -> text without header), ``package`` further keys
        of `memory_package`.
        """
        texts = {f"t.{name}": f"{HEAD}Name: {name}\n{text}" for name, text in (classes or {}).items()}
        texts["t.Main"] = f"{HEAD}Name: Main\n{body}"
        made = memory_package({"name": "t", "format": format, "classes": texts, **package})
        self.packages = [made, *packages]
        self.session = self.engine().session()
        self.session.load({"Objects": {"?": {"type": "t.Main", "id": "root"}, **(model or {})}})
        return self.session

    def run(self, body: str, *, rest: str = "", **more: Any) -> Any:
        """The plain result of a public method with these instructions; ``rest`` is more of class t.Main."""
        indented = "\n".join("        " + line for line in body.strip("\n").split("\n"))
        methods = f"Methods:\n  run:\n    Scope: Public\n    Body:\n{indented}\n"
        self.load(methods + rest, **more)
        return self.call("run")

    def evaluate(self, expression: str, **more: Any) -> Any:
        """The plain value of an expression in a method of t.Main."""
        return self.run(f"- Return: !yaql {_quoted(expression)}", **more)

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """The plain result of a public method of the root."""
        return thaw(self.session.call(method, args, kwargs))

    def performed(self, kind: str) -> list[dict[str, Any]]:
        """Arguments of the effects of one kind, in order."""
        return [record.args for record in self.effects.records if record.kind == kind]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
