"""A small package and a session over it, for tests that need live objects."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent
from typing import Any

from vetro.muranopl.api import Engine
from vetro.muranopl.session import Session
from vetro.muranopl.types.murano_object import MuranoObject
from vetro.packages.memory import memory_package
from vetro.yaql.context import Limits

HEAD = "Namespaces: {=: t, sys: io.murano.system, m: io.murano.metadata, e: io.murano.metadata.engine}\n"


class World:
    """A session over package ``t`` with the given classes; ``traces`` collects what ``trace(x)`` was called with."""

    def __init__(
        self, classes: Mapping[str, str], limits: Limits | None = None, version: str = "1.0.0", **options: Any
    ) -> None:
        self.traces: list[Any] = []
        texts = {f"t.{name}": f"{HEAD}Name: {name}\n{dedent(body)}" for name, body in classes.items()}
        package = memory_package({"name": "t", "version": version, "format": "1.4", "classes": texts})
        self.engine = Engine(packages=[package], functions={"trace": self._trace}, limits=limits, **options)
        self.session: Session = self.engine.session()

    def _trace(self, value: Any) -> Any:
        self.traces.append(value)
        return value

    def load(self, objects: Any, copy: Any = None, attributes: Any = ()) -> MuranoObject | None:
        """Loads a model; returns its root."""
        return self.session.load({"Objects": objects, "ObjectsCopy": copy, "Attributes": list(attributes)})

    def root(self, class_name: str = "Main", object_id: str = "root", /, **properties: Any) -> MuranoObject:
        """Loads a model that consists of one definition; returns its object."""
        root = self.load(define(class_name, object_id, **properties))
        assert root is not None
        return root

    def get(self, object_id: str) -> MuranoObject:
        """The object with that id."""
        return self.session.store.require(object_id)

    def objects(self, copy: bool = False) -> Any:
        """The serialised root, without actions and nulls in headers."""
        return bare(self.session.serialize(copy)["Objects"])


def define(class_name: str, object_id: str | None = None, /, **properties: Any) -> dict[str, Any]:
    """An object definition."""
    header = {"type": f"t.{class_name}"}
    if object_id is not None:
        header["id"] = object_id
    return {"?": header, **properties}


def bare(tree: Any) -> Any:
    """A serialised tree with each header cut down to the object's id."""
    if isinstance(tree, dict):
        return {k: v["id"] if k == "?" else bare(v) for k, v in tree.items()}
    if isinstance(tree, list):
        return [bare(v) for v in tree]
    return tree
