"""What a resource type is: its properties, its attributes, how its resources are made, changed, replaced and removed.

Handlers are convergent: a process may be killed between a handler's work and the note that it was done, so doing it
again with the same id must lead to the same state.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, ClassVar, Literal, Protocol

from vetro.clouds.drivers.needs import Needs
from vetro.clouds.drivers.values import LONGEST_NAME, ValueInvalid, short
from vetro.clouds.interface import CloudError, NotFound, Owner, TemplateInvalid
from vetro.clouds.stacks.services import Services
from vetro.clouds.stacks.state.inventory import Inventory, Kind
from vetro.clouds.stacks.templates.functions import ReferenceInvalid, walk
from vetro.clouds.stacks.templates.hints import meant
from vetro.clouds.waits import Say, Told, resource_text
from vetro.data_classes import dataclass

#: Stands for a part of a value that is not known before other resources are made.
PENDING: Any = object()

PropertyKind = Literal["string", "integer", "number", "boolean", "list", "map", "any"]

#: A number as text: no digits of other scripts, no underscores or blanks, as many as are of use.
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")

#: Names of custom constraints and the kind of record whose name or id they stand for.
CONSTRAINTS: Mapping[str, Kind] = {
    "nova.flavor": "flavor",
    "nova.keypair": "keypair",
    "nova.server": "server",
    "glance.image": "image",
    "neutron.network": "network",
    "neutron.subnet": "subnet",
    "neutron.port": "port",
    "neutron.router": "router",
    "neutron.security_group": "security_group",
    "cinder.volume": "volume",
    "cinder.snapshot": "snapshot",
    "cinder.backup": "backup",
}


class PropertyInvalid(TemplateInvalid):
    """A property of a resource is unknown, missing, of another type or not allowed."""

    code = "CLD130"


class ResourceFailed(CloudError):
    """A resource could not be made, changed or removed."""

    code = "CLD131"


@dataclass(frozen=True, slots=True)
class Prop:
    """A property. ``update``: a change is made in place; otherwise the resource is replaced."""

    kind: PropertyKind = "string"
    required: bool = False
    update: bool = False
    default: Any = None
    allowed: Sequence[Any] = ()
    #: Custom constraint: a key of `CONSTRAINTS`.
    constraint: str | None = None
    #: Kind of the items of a list; properties of the maps in it (or of the map itself).
    items: PropertyKind | None = None
    fields: Mapping[str, Prop] | None = None
    #: A parser of `vetro.clouds.drivers.values`: of the value, of each item of a list or mapping with ``items``.
    parse: Callable[[Any], Any] | None = None


class Nesting(Protocol):
    """What the interpreter does for a resource that is a stack itself; the id of both is the same."""

    def push(self, call: Call, template: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Makes the stack or brings it to this template; files and environment are the outer stack's.

        Raises `CloudError` with the place of what failed.
        """
        # pragma: no cover - protocol

    def make_room(self, call: Call, resources: int) -> None:
        """Raises `TemplateTooLarge` when the environment cannot have so many more resources."""
        # pragma: no cover - protocol

    def delete(self, call: Call) -> None:
        """Removes the stack with all its resources. Raises `CloudError`."""
        # pragma: no cover - protocol

    def outputs(self, call: Call) -> Mapping[str, Any]:
        """The outputs of the stack; none when it is not there."""
        # pragma: no cover - protocol

    def references(self, call: Call) -> Mapping[str, Any]:
        """Resource name -> what get_resource gives, for the resources that there are."""
        # pragma: no cover - protocol

    def attribute(self, call: Call, resource: str, name: str, path: list[Any]) -> Any:
        """An attribute of a resource of the stack; null without one. Raises `ReferenceInvalid`."""
        # pragma: no cover - protocol

    def file(self, call: Call, name: str) -> Mapping[str, Any]:
        """A file of the outer stack as a template. Raises `TemplateInvalid`, `ReferenceInvalid`."""
        # pragma: no cover - protocol


@dataclass(slots=True)
class Call:
    """One piece of work on one resource."""

    services: Services
    things: Inventory
    owner: Owner
    region: str
    stack: str
    stack_name: str
    #: Key in the template, and the id of what stands for it.
    name: str
    id: str
    props: dict[str, Any]
    #: What the handler wants to remember of the resource; plain data, stored when the work is done.
    data: dict[str, Any] = field(default_factory=dict)
    metadata: Any = None
    type: str = ""
    #: Ids of other resources whose attributes this work changes.
    touched: set[str] = field(default_factory=set)
    #: Writes down for good what was collected so far; to be called before a driver.
    settle: Callable[[], None] = lambda: None
    #: Nobody else sees or changes anything until the work is done or `settle` was called.
    alone: bool = False
    #: How stacks within the stack are made.
    nesting: Nesting | None = None
    #: Tells what this work waits for, where it knows that better than `ResourceType.awaited`.
    say: Say = lambda text: None

    @contextmanager
    def told(self, told: Told) -> Iterator[None]:
        """Whoever asks hears during the block that this work is waited for (`ShowsWaits`)."""
        with self.services.waits.on(self.owner, *told) as self.say:
            yield

    @property
    def physical_name(self) -> str:
        """The name of what is made when the template gives none."""
        end = f"-{self.name[:100]}-{self.id[:8]}"
        return self.stack_name[: LONGEST_NAME - len(end)] + end


class ResourceType(ABC):
    """Root of all handlers."""

    properties: Mapping[str, Prop] = {}
    #: Names that `attribute` knows besides ``show``.
    attributes: Collection[str] = ()
    #: What a cloud must be able to do for any such resource; `needed` says it of one.
    needs: ClassVar[Needs] = {}
    #: Its work talks to a driver or waits: it may run beside others, in a thread.
    driven = False
    #: Making it writes records only: they and the note that it is made are one transaction.
    plain = False
    #: Making it calls `Call.settle` itself, when its records are written and before its driver is called.
    settles = False
    #: What failed in the middle goes on under its id instead of being replaced.
    resumes = False
    #: Takes every property, unchecked.
    anything = False
    #: The kind of record that shows the resource; null: none.
    record: Kind | None = None

    @abstractmethod
    def create(self, call: Call) -> None:
        """Makes the resource with the id ``call.id``. Raises `CloudError`."""

    def awaited(self, call: Call, action: str) -> Told:
        """What people are told is waited for while such work goes on, and its kind (`CloudWait`); ``action``: CREATE,
        UPDATE or DELETE."""
        return "resource", resource_text(call.name, call.type, action)

    def update(self, call: Call, old: Mapping[str, Any]) -> None:  # noqa: B027 - most have nothing to do
        """Brings the resource from the properties ``old`` to those of the call, where `replaces` says no."""

    def retire(self, call: Call) -> None:  # noqa: B027
        """The resource will be replaced: gives up what its successor needs. It is deleted later."""

    def delete(self, call: Call) -> None:
        """Removes the resource; nothing when it is not there."""
        if self.record is not None:
            call.things.delete(call.id)

    def check(self, props: Mapping[str, Any], things: Inventory, known: Collection[str]) -> None:  # noqa: B027
        """Refuses properties that do not fit together; only ``known`` have their values yet. Raises `CloudError`."""

    def needed(self, props: Mapping[str, Any]) -> Needs:
        """What a cloud must be able to do for a resource with these properties, as far as these are known."""
        return self.needs

    def replaces(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Whether this change needs a new resource."""
        for name in old.keys() | new.keys():
            prop = self.properties.get(name)
            if old.get(name) != new.get(name) and (prop is None or not prop.update):
                return True
        return False

    def reference(self, call: Call) -> Any:
        """What ``get_resource`` gives."""
        return call.id

    def show(self, call: Call) -> Any:
        """The whole record as the service shows it."""
        return call.things.find(self.record, call.id) if self.record is not None else dict(call.props)

    def attribute(self, call: Call, name: str, path: list[Any]) -> Any:
        """An attribute, and what a path in it leads to. Raises `ReferenceInvalid` for names that there are not."""
        if name == "show":
            return walk(self.show(call), path)
        if not self.knows(name):
            raise ReferenceInvalid(f"resource '{call.name}' has no attribute '{name}'{meant(name, self.attributes)}")
        return walk(self.value(call, name), path)

    def knows(self, name: str) -> bool:
        """Whether there can be an attribute of this name."""
        return self.anything or name == "show" or name in self.attributes

    def value(self, call: Call, name: str) -> Any:
        """An attribute of `attributes`; by default that of the record."""
        record = self.show(call)
        return record.get(name) if isinstance(record, Mapping) else None


def checked(
    type_name: str, handler: ResourceType, raw: Mapping[str, Any], things: Inventory, *, known: Collection[str]
) -> dict[str, Any]:
    """The properties with defaults and proper types; those not in ``known`` have no value yet.

    Raises `PropertyInvalid`.
    """
    made: dict[str, Any] = {}
    if handler.anything:
        return {name: value for name, value in raw.items() if name in known}
    for name in raw:
        if name not in handler.properties:
            raise PropertyInvalid(f"{type_name} has no property {short(name)}{meant(name, handler.properties)}")
    for name, prop in handler.properties.items():
        value = raw.get(name)
        if value is None and prop.default is None and not prop.required:
            continue
        if name in raw and name not in known:
            converted(name, prop, value)  # of a part of it the value may be known
            continue
        if value is None:
            if prop.required:
                raise PropertyInvalid(f"the property '{name}' of {type_name} is required")
            if prop.default is not None:
                made[name] = prop.default
            continue
        made[name] = converted(name, prop, value)
        if prop.constraint is not None and isinstance(made[name], str):
            problem = missing(prop.constraint, made[name], things)
            if problem is not None:
                raise PropertyInvalid(f"{name}: {problem}")
    handler.check(made, things, known)
    return made


def refuse_shared(things: Inventory, *refs: tuple[Kind, Any]) -> None:
    """Raises `PropertyInvalid` where one of these networks and subnets (kind, id or name) is not the project's own.

    The pool of floating addresses is the operator's: nothing that a tenant makes joins it or takes addresses of it,
    but floating addresses, which have a quota.
    """
    for kind, ref in refs:
        found = things.find(kind, ref) if isinstance(ref, str) and ref else None
        if found is not None and things.common(found["id"]):
            raise PropertyInvalid(
                f"the {kind} {short(found['name'])} belongs to all projects, for floating addresses only; use a"
                f" {kind} of your own"
            )


def missing(constraint: str, value: Any, things: Inventory) -> str | None:
    """What is wrong with a name under a custom constraint, or null. Unknown constraints allow everything."""
    kind = CONSTRAINTS.get(constraint)
    if kind is None or value in (None, ""):
        return None
    try:
        things.get(kind, str(value))
    except NotFound as error:
        names = [record["name"] for record in things.all(kind)] if kind in ("flavor", "image", "keypair") else []
        return str(error) + meant(str(value), names)
    except CloudError as error:
        return str(error)
    return None


def converted(where: str, prop: Prop, value: Any) -> Any:
    """``value`` as the property wants it. Raises `PropertyInvalid`."""
    if value is PENDING:
        return value
    made = _converted(where, prop.kind, value)
    if prop.parse is not None:
        _parse(where, prop, made)
    if prop.allowed and made not in prop.allowed:
        raise PropertyInvalid(f"{where} must be one of {', '.join(map(str, prop.allowed))}, not {short(made)}")
    if prop.kind == "list" and (prop.items or prop.fields):
        return [
            _fields(f"{where}[{place}]", prop.fields, item)
            if prop.fields
            else _converted(f"{where}[{place}]", prop.items or "any", item)
            for place, item in enumerate(made)
        ]
    if prop.kind == "map" and prop.fields:
        return _fields(where, prop.fields, made)
    if prop.kind == "map" and prop.items:
        return {key: _converted(f"{where}.{key}", prop.items, item) for key, item in made.items()}
    return made


def _parse(where: str, prop: Prop, made: Any) -> None:
    """What nothing is given for ('') is left to the handler. Raises `PropertyInvalid`."""
    assert prop.parse is not None
    items: Iterable[tuple[str, Any]] = [(where, made)]
    if prop.items and prop.kind in ("list", "map"):
        pairs = made.items() if prop.kind == "map" else enumerate(made)
        items = ((f"{where}[{short(key)}]", item) for key, item in pairs)
    for place, item in items:
        if item not in (None, "") and item is not PENDING:
            try:
                prop.parse(_converted(place, prop.items, item) if prop.items else item)
            except ValueInvalid as error:
                raise PropertyInvalid(f"{place}: {error}") from None


def _fields(where: str, fields: Mapping[str, Prop], value: Any) -> Any:
    if value is PENDING:
        return value
    if not isinstance(value, Mapping):
        raise PropertyInvalid(f"{where} must be a mapping with keys of {', '.join(fields)}")
    made = {}
    for key in value:
        if key not in fields:
            raise PropertyInvalid(f"{where} has an unknown key {short(key)}{meant(key, fields)}")
    for key, prop in fields.items():
        item = value.get(key)
        if item is not None:
            made[key] = converted(f"{where}.{key}", prop, item)
        elif prop.required:
            raise PropertyInvalid(f"{where}.{key} is required")
        elif prop.default is not None:
            made[key] = prop.default
    return made


def _converted(where: str, kind: PropertyKind, value: Any) -> Any:
    if kind == "any" or value is PENDING:
        return value
    if kind == "string" and isinstance(value, (str, int, float)):
        return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    if kind in ("integer", "number") and not isinstance(value, bool):
        if isinstance(value, int) or (kind == "number" and isinstance(value, float)):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            for read in (int, float) if kind == "number" else (int,):
                try:
                    return read(value)
                except ValueError:
                    continue
    if kind == "boolean":
        if isinstance(value, bool):
            return value
        if isinstance(value, (str, int)) and str(value).lower() in ("true", "yes", "on", "1", "t", "y"):
            return True
        if isinstance(value, (str, int)) and str(value).lower() in ("false", "no", "off", "0", "f", "n"):
            return False
    if kind == "list" and isinstance(value, list):
        return value
    if kind == "map" and isinstance(value, Mapping):
        return dict(value)
    words = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
    raise PropertyInvalid(f"{where} must be {words.get(kind, 'a ' + kind)}, not {short(value)}")
