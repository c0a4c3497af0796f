"""From objects back to data (SEMANTICS 12): the model, and ``dump()``.

A `Writer` writes one tree without recursion: nested objects are put in as empty mappings at once and filled in later.
An object is written in full where its owner holds it. Elsewhere its id is written; when the first pass is over, the
places of objects that no owner wrote are looked at again (`placement.py`).
"""

from __future__ import annotations

import collections.abc as abc
import gc
from typing import TYPE_CHECKING, Any, NamedTuple

from vetro.muranopl.contracts.runtime import unwrap
from vetro.muranopl.objects.actions import class_actions, object_actions
from vetro.muranopl.objects.header import as_type
from vetro.muranopl.objects.placement import place_unowned
from vetro.muranopl.objects.plain import host_text, plain_key, with_ids
from vetro.muranopl.types.members import SERIALIZED
from vetro.muranopl.types.meta import meta_values
from vetro.muranopl.types.murano_object import DESTROYED, NO_HEADER, MuranoObject
from vetro.muranopl.types.reflection import TypeInfo
from vetro.yaql.values import MISSING, SCALARS, FDict, HostObject

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, Runtime

STYLES = ("Serializable", "Mixed", "Inline")


class OutputPlan(NamedTuple):
    """What is written of the objects of one class."""

    qualified: str
    #: (name, attribute) in property order, base classes first.
    properties: tuple[tuple[str, str], ...]
    actions: tuple[tuple[str, dict[str, Any]], ...]


def output_plan(session: Runtime, type_: LinkedClass) -> OutputPlan:
    """The plan of a class, made once per session."""
    plans: dict[LinkedClass, OutputPlan] = session.store.output_plans
    plan = plans.get(type_)
    if plan is None:
        plan = plans[type_] = OutputPlan(type_.qualified, serialized_properties(type_), class_actions(session, type_))
    return plan


def serialized_properties(type_: LinkedClass) -> tuple[tuple[str, str], ...]:
    """Names and attributes of the properties that the model holds: any declaration of a serialised usage counts."""
    found: dict[str, str] = {}
    for ancestor in reversed(type_.ancestors):
        for name, prop in ancestor.own_properties.items():
            if name not in found and any(p.usage in SERIALIZED for p in type_.property_chain(name)):
                found[name] = prop.attr
    return tuple(found.items())


def serialize_model(session: Runtime, root: MuranoObject | None, copy: bool = False) -> dict[str, Any]:
    """The model as plain data: Objects, Attributes, SystemData, and with ``copy`` ObjectsCopy (12.4)."""
    model: dict[str, Any] = {"Objects": None}
    ids: set[str] = set()
    running = gc.isenabled()
    gc.disable()  # nothing written here is garbage; collecting in between costs more than all the rest
    try:
        if root is not None:
            writer = Writer(session, designer=True)
            model["Objects"] = writer.write(root)
            ids = {obj._id for obj in writer.written}
        model["Attributes"] = session.attributes.rows(ids)
        if copy:
            model["ObjectsCopy"] = None if root is None else Writer(session, designer=False).write(root)
    finally:
        if running:
            gc.enable()
    model["SystemData"] = {"Packages": session.resolver.used()}
    return model


def dump_object(
    session: Runtime, obj: MuranoObject, style: str = "Serializable", shown_as: LinkedClass | None = None
) -> dict[Any, Any]:
    """``dump(o, style)``: the object and what it owns; other objects as ids (12.5). Raises `ValueError`.

    ``shown_as`` limits the object's own properties to those that this class declares or inherits.
    """
    if style not in STYLES:
        raise ValueError(f"there is no dump style '{style}': use {', '.join(STYLES)}")
    excluded = None
    if shown_as is not None and shown_as is not obj._type:
        excluded = {obj: set(obj._type.properties) - set(shown_as.properties)}
    return Dumper(session, style, excluded).write(obj)


def serialize_value(session: Runtime, value: Any) -> Any:
    """The result of a call as plain data: objects in full with what they own, other objects as ids (12.5)."""
    return Dumper(session, "Serializable").write_value(value)


class Writer:
    """Writes the tree of one object for the model."""

    def __init__(self, session: Runtime, *, designer: bool) -> None:
        self.session = session
        self.designer = designer
        self.written: set[MuranoObject] = set()
        #: Places where an id stands although the object was not written so far: (container, key, object).
        self.pending: list[tuple[Any, Any, MuranoObject]] = []
        self._work: list[tuple[MuranoObject, dict[Any, Any]]] = []

    def write(self, root: MuranoObject) -> dict[Any, Any]:
        """The tree of ``root`` as plain data."""
        tree: dict[Any, Any] = {}
        self.start(root, tree)
        self.drain()
        place_unowned(self, tree)
        return tree

    def start(self, obj: MuranoObject, target: dict[Any, Any]) -> None:
        """Has ``obj`` written into ``target`` by the next `drain`."""
        self.written.add(obj)
        self._work.append((obj, target))

    def properties(self, obj: MuranoObject) -> tuple[tuple[str, str], ...]:
        """Names and attributes to write of an object."""
        return output_plan(self.session, obj._type).properties

    def drain(self) -> None:
        """Writes everything that was started, and what it owns."""
        work = self._work
        pop = work.pop
        written = self.written
        scalars = SCALARS
        only_scalars = SCALARS.issuperset
        plans: dict[Any, OutputPlan] = self.session.store.output_plans
        missing: Any = MISSING
        while work:
            obj, target = pop()
            plan = plans.get(obj._type) or output_plan(self.session, obj._type)
            target = self.open(obj, plan, target)
            for name, attr in self.select(plan, obj):
                value: Any = getattr(obj, attr, missing)
                kind = value.__class__
                if kind in scalars:
                    target[name] = value
                elif kind is tuple:
                    if only_scalars(map(type, value)):
                        target[name] = list(value)
                        continue
                    items: list[Any] = []
                    target[name] = items
                    for item in value:
                        if (
                            item.__class__ is FDict
                            and only_scalars(map(type, item.values()))
                            and only_scalars(map(type, item))
                        ):
                            items.append(dict(item))
                        elif isinstance(item, MuranoObject):
                            if item in written:
                                items.append(item._id)
                            elif item._owner is obj:
                                child: dict[Any, Any] = {}
                                written.add(item)
                                work.append((item, child))
                                items.append(child)
                            else:
                                self.pending.append((items, len(items), item))
                                items.append(item._id)
                        elif item.__class__ in scalars:
                            items.append(item)
                        else:
                            items.append(None)
                            self.convert(item, items, len(items) - 1, obj)
                elif kind is FDict and only_scalars(map(type, value.values())) and only_scalars(map(type, value)):
                    target[name] = dict(value)
                elif value is not missing:
                    self.convert(value, target, name, obj)

    def select(self, plan: OutputPlan, obj: MuranoObject) -> tuple[tuple[str, str], ...]:
        """Which properties are written in full; a dump treats some differently."""
        return plan.properties

    def open(self, obj: MuranoObject, plan: OutputPlan, target: dict[Any, Any]) -> dict[Any, Any]:
        """Writes the header of an object (12.1) and returns the mapping that takes the properties."""
        kept = obj._header
        header: dict[str, Any] = {"type": plan.qualified, "id": obj._id, "name": obj._name, "metadata": None}
        target["?"] = header
        if kept is not NO_HEADER:
            metadata = kept.get("metadata")
            if metadata is not None:
                self.convert(metadata, header, "metadata", obj)
            if self.designer:
                for key, value in kept.items():
                    if key.startswith("_") and key != "_actions":
                        self.convert(value, header, key, obj)
        if self.designer:
            header["_actions"] = object_actions(obj, plan.actions) if plan.actions else {}
        if obj._deps:
            rows = [
                {"subscriber": subscriber, "handler": handler}
                for subscriber, handler in obj._deps
                if self.session.store.is_alive(subscriber)
            ]
            if rows:
                header["dependencies"] = {"onDestruction": rows}
        if obj._state == DESTROYED:
            header["destroyed"] = True
        return target

    def convert(self, value: Any, container: Any, key: Any, holder: Any) -> None:
        """Puts ``value``, held by ``holder``, into ``container[key]`` as plain data."""
        work = [(value, container, key)]
        while work:
            value, container, key = work.pop()
            kind = value.__class__
            if kind in SCALARS:
                container[key] = value
            elif isinstance(value, abc.Mapping):
                places = [(part, self.key(k)) for k, part in value.items()]
                made: dict[Any, Any] = dict.fromkeys(place for _, place in places)
                container[key] = made
                # The first item is taken first: objects are written where they are met first.
                work.extend((part, made, place) for part, place in reversed(places))
            elif isinstance(value, abc.Iterable) and not isinstance(value, (str, bytes, HostObject)):
                parts = list(value)
                items: list[Any] = [None] * len(parts)
                container[key] = items
                work.extend((part, items, index) for index, part in reversed(list(enumerate(parts))))
            else:
                obj = unwrap(value)
                if obj is not None:
                    self.place(obj, container, key, holder)
                else:
                    container[key] = self.other(value)

    def place(self, obj: MuranoObject, container: Any, key: Any, holder: Any) -> None:
        """Puts an object into ``container[key]``: in full when ``holder`` owns it, else as its id."""
        if obj not in self.written:
            if obj._owner is holder and holder is not None:
                child: dict[Any, Any] = {}
                container[key] = child
                self.start(obj, child)
                return
            self.pending.append((container, key, obj))
        container[key] = obj._id

    def key(self, key: Any) -> Any:
        """A mapping key."""
        return plain_key(key)

    def other(self, value: Any) -> Any:
        """Any other value: types and the like."""
        return value if isinstance(value, (str, int, float)) else host_text(value)


class Dumper(Writer):
    """Writes a dump: only what the root owns, no designer keys and actions, properties by their Serialize meta."""

    def __init__(self, session: Runtime, style: str, excluded: dict[MuranoObject, set[str]] | None = None) -> None:
        super().__init__(session, designer=False)
        self.style = style
        self.excluded = excluded

    def write(self, root: MuranoObject) -> dict[Any, Any]:
        tree: dict[Any, Any] = {}
        self.start(root, tree)
        self.drain()
        return tree

    def write_value(self, value: Any) -> Any:
        """Any value; each object in it is the root of its own tree, the second time an id."""
        box: list[Any] = [None]
        self.convert(value, box, 0, _Anyone)
        self.drain()
        return box[0]

    def place(self, obj: MuranoObject, container: Any, key: Any, holder: Any) -> None:
        if holder is _Anyone and obj not in self.written:
            child: dict[Any, Any] = {}
            container[key] = child
            self.start(obj, child)
        else:
            super().place(obj, container, key, holder)

    def select(self, plan: OutputPlan, obj: MuranoObject) -> tuple[tuple[str, str], ...]:
        references = reference_properties(self.session, obj._type)
        hidden = self.excluded.get(obj, ()) if self.excluded else ()
        if not references and not hidden:
            return plan.properties
        return tuple(p for p in plan.properties if p[0] not in references and p[0] not in hidden)

    def open(self, obj: MuranoObject, plan: OutputPlan, target: dict[Any, Any]) -> dict[Any, Any]:
        metadata = obj._header.get("metadata")
        rest = {"id": obj._id, "name": obj._name, "metadata": metadata}
        if self.style == "Inline":
            body: dict[Any, Any] = {}
            target[TypeInfo(obj._type)] = body
            target.update(rest)
        else:
            body = target
            kind = plan.qualified if self.style == "Serializable" else TypeInfo(obj._type)
            target["?"] = {"type": kind, **rest}
        hidden = self.excluded.get(obj, ()) if self.excluded else ()
        for name in reference_properties(self.session, obj._type):
            if name not in hidden:
                self._references(obj, name, body)
        return body

    def _references(self, obj: MuranoObject, name: str, body: dict[Any, Any]) -> None:
        value = getattr(obj, "p_" + name, MISSING)
        if value is not MISSING:
            body[name] = with_ids(value)

    def key(self, key: Any) -> Any:
        return key if self.style != "Serializable" and as_type(key) is not None else plain_key(key)

    def other(self, value: Any) -> Any:
        if self.style != "Serializable" and as_type(value) is not None:
            return value
        return super().other(value)


class _Anyone:
    """Stands for the holder of a call's result: everything directly in it is written in full."""


def reference_properties(session: Runtime, type_: LinkedClass) -> frozenset[str]:
    """Properties whose meta ``io.murano.metadata.engine.Serialize`` asks for ids (12.5)."""
    known: dict[Any, frozenset[str]] = session.store.reference_plans
    found = known.get(type_)
    if found is None:
        names = set()
        for name, prop in type_.properties.items():
            for class_name, values in meta_values(session, prop):
                if class_name == "io.murano.metadata.engine.Serialize" and values.get("as") == "reference":
                    names.add(name)
        found = known[type_] = frozenset(names)
    return found
