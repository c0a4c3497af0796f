"""Linked classes for tests of what works on declarations: just enough of `types.MuranoType`, without a session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from vetro.muranopl.declarations.tree import ClassDecl, Literal, MetaDecl, MethodDecl, PropertyDecl
from vetro.muranopl.declarations.version import Version
from vetro.muranopl.errors import ClassNotFound
from vetro.muranopl.reader.files import read_file
from vetro.muranopl.schema import Argument
from vetro.muranopl.schema_hints import Hint
from vetro.yaql import ast

CORE = """
Name: io.murano.Object
---
Name: io.murano.Application
"""


@dataclass
class FakePackage:
    name: str
    version: Any
    requirements: dict[str, Any]


@dataclass
class FakeMember:
    decl: Any
    declaring: Any


@dataclass(eq=False)
class FakeType:
    decl: ClassDecl
    package: FakePackage
    world: FakeWorld
    parents: list[FakeType] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.decl.name

    @property
    def ancestors(self) -> list[FakeType]:
        found = [self]
        for current in found:
            found.extend(parent for parent in current.parents if parent not in found)
        return found

    @property
    def properties(self) -> dict[str, FakeMember]:
        return {n: FakeMember(d, a) for a in reversed(self.ancestors) for n, d in a.decl.properties.items()}

    @property
    def methods(self) -> dict[str, FakeMember]:
        return {n: FakeMember(d, a) for a in reversed(self.ancestors) for n, d in a.decl.methods.items()}

    def resolve_class(self, name: str, version_spec: str | None = None) -> FakeType:
        return self.world.find(self.decl.namespaces.resolve(name))


class FakeWorld:
    """Classes read from the packages of a conformance case; the newest version of a class wins."""

    def __init__(self, packages: list[dict[str, Any]]) -> None:
        self.types: dict[str, FakeType] = {}
        self._add({"name": "io.murano", "classes": {"io.murano.Object": CORE}})
        for package in packages:
            self._add(package)

    def _add(self, source: dict[str, Any]) -> None:
        version = Version.coerce(str(source.get("version", "0")))
        package = FakePackage(source["name"], version, source.get("require") or {})
        for name, text in source["classes"].items():
            for full, decl in read_file(text, name, format_version=(1, 4), default_name=name).classes.items():
                self.types[full] = FakeType(decl, package, self)

    def find(self, name: str) -> FakeType:
        found = self.types.get(name)
        if found is None:
            raise ClassNotFound(name)
        if not found.parents and name != "io.murano.Object":
            found.parents = [found.resolve_class(n) for n in found.decl.extends] or [self.types["io.murano.Object"]]
        return found

    def hints(self, thing: Any) -> list[Hint]:
        """Own meta, then what ancestors hand down; of several of one class (Section apart) the nearest."""
        if isinstance(thing, Argument):
            return _hints(thing.decl.meta, thing.method.declaring)
        if isinstance(thing, FakeType):
            layers = [(a.decl.meta, a) for a in thing.ancestors]
        else:
            decls = [(_member(a, thing.decl), a) for a in thing.declaring.ancestors]
            layers = [(d.meta, a) for d, a in decls if d is not None]
        result: list[Hint] = []
        for meta, declaring in layers:
            known = {hint.name for hint in result}
            result += [h for h in _hints(meta, declaring) if h.name not in known or h.name.endswith(".Section")]
        return result

    def evaluate(self, node: ast.Node, owner: FakeType) -> Any:
        """Only what the cases need: arithmetic on literals, and a static method that returns a literal."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Binary) and node.op in "+*":
            left, right = self.evaluate(node.left, owner), self.evaluate(node.right, owner)
            return left + right if node.op == "+" else left * right
        if isinstance(node, ast.ListDisplay):
            return tuple(self.evaluate(item, owner) for item in node.args)
        if isinstance(node, ast.MethodCall):
            body = owner.methods[node.name].decl.body
            return body[0].value.value
        raise ValueError(f"no fake value for {node}")


def _member(type_: FakeType, decl: PropertyDecl | MethodDecl) -> Any:
    table: Any = type_.decl.properties if isinstance(decl, PropertyDecl) else type_.decl.methods
    return table.get(decl.name)


def _hints(meta: tuple[MetaDecl, ...], declaring: FakeType) -> list[Hint]:
    result = []
    for decl in meta:
        values = {n: v.value for n, v in decl.properties.items() if isinstance(v, Literal)}
        result.append(Hint(declaring.decl.namespaces.resolve(decl.name), values, declaring))
    return result


def main_class(text: str) -> str:
    """``text`` as a class of namespace t named Main."""
    return "Namespaces: {=: t, std: io.murano}\nName: Main\n" + text
