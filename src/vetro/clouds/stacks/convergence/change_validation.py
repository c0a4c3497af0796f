"""Takes a change of the wanted state into a stack in memory and checks all that it concerns, before anything is done.

When a check fails the stack in memory is of no use any more: the caller forgets it and reads it anew.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from vetro.clouds.drivers.needs import require
from vetro.clouds.drivers.values import short
from vetro.clouds.interface import CloudError, TemplateInvalid
from vetro.clouds.stacks.convergence.live import LiveStack, TemplateScope
from vetro.clouds.stacks.services import Services
from vetro.clouds.stacks.state.inventory import Inventory
from vetro.clouds.stacks.templates import template
from vetro.clouds.stacks.templates.environment import read_environment
from vetro.clouds.stacks.templates.functions import ReferenceInvalid, Unknown, resolve, truth
from vetro.clouds.stacks.templates.graph import check_cycles
from vetro.clouds.stacks.templates.hints import meant
from vetro.clouds.stacks.templates.limits import (
    LARGEST_PART,
    LARGEST_STACK,
    MOST_RESOURCES,
    TemplateTooLarge,
)
from vetro.clouds.stacks.templates.parameters import values_of
from vetro.clouds.stacks.types.base import PENDING, checked, missing
from vetro.clouds.stacks.types.registry import TYPES, handler_of, is_template
from vetro.library.stackdata import ENVIRONMENT, FILES, VALUES, Part

_OWN = (VALUES, FILES, ENVIRONMENT)


class ChangeValidation:
    """One change of one stack."""

    def __init__(self, live: LiveStack, things: Inventory, services: Services, *, stored: bool = False) -> None:
        """``stored``: it is read back as it was taken in before, when the cloud may have been able to do more, and had
        what it names.
        """
        self.live = live
        self.things = things
        self.services = services
        self._stored = stored
        self._resources: dict[str, None] = {}
        self._outputs: dict[str, None] = {}
        self._values: dict[str, None] = {}
        self._recheck: dict[str, None] = {}

    def take(self, put: Mapping[Part, Any], drop: Iterable[Part]) -> None:
        """Applies the change; `LiveStack.dirty` holds then what has to be looked at.

        Raises `TemplateInvalid` and its like with the place in the template.
        """
        live = self.live
        touched: dict[str, set[str]] = {}
        for part in drop:
            live.sections.get(part[0], {}).pop(part[1], None)
            live.size -= live.sizes.pop(part, 0)
            touched.setdefault(part[0], set()).add(part[1])
        for part, value in put.items():
            self._measure(part, value)
            live.sections.setdefault(part[0], {})[part[1]] = value
            touched.setdefault(part[0], set()).add(part[1])
        if live.size > LARGEST_STACK:
            raise TemplateTooLarge(f"the stack has {live.size:,} characters, more than {LARGEST_STACK:,}")
        self._top(touched)
        assert live.dialect is not None
        plain = {live.dialect.section(name): keys for name, keys in touched.items() if name not in _OWN}
        self._names(plain, touched)
        self._read(plain)
        self._check()

    def _measure(self, part: Part, value: Any) -> None:
        try:
            shown = json.dumps(value)
            size = len(shown)
        except (ValueError, RecursionError, TypeError) as error:
            raise TemplateInvalid(f"{part[0]}.{part[1]} is no plain data: {error}") from None
        if size > LARGEST_PART:
            raise TemplateTooLarge(f"{part[0]}.{part[1]} has {size:,} characters, more than {LARGEST_PART:,}")
        if "\\ud" in shown and (place := _half_character(value)) is not None:
            raise TemplateInvalid(
                f"{part[0]}.{part[1]}{place} holds half of a character (a surrogate), so it is no text"
            )
        self.live.size += size - self.live.sizes.get(part, 0)
        self.live.sizes[part] = size

    def _top(self, touched: Mapping[str, Collection[str]]) -> None:
        """Version, sections and the environment."""
        live = self.live
        before = live.dialect
        top = live.sections.get("", {})
        live.dialect = template.dialect_of(top)
        if "" in touched or set(touched) - set(_OWN) - {"resources", "outputs"}:
            sections = {name for name, items in live.sections.items() if items and name not in ("", *_OWN)}
            template.check_top(top, sections, live.dialect)
        if before is not None and before.name != live.dialect.name:
            self._everything()
        if ENVIRONMENT in touched:
            live.environment = read_environment(live.environment_text)
            self._everything()

    def _everything(self) -> None:
        self._resources.update(dict.fromkeys(self.live.section("resources")))
        self._outputs.update(dict.fromkeys(self.live.section("outputs")))

    def _names(self, plain: Mapping[str, Collection[str]], touched: Mapping[str, Collection[str]]) -> None:
        """Parameters and conditions, and who uses those that have other values now."""
        live = self.live
        assert live.dialect is not None
        parameters = bool({"parameters"} & plain.keys() or {VALUES, ENVIRONMENT} & touched.keys())
        if parameters:
            self._parameters()
        if parameters or "conditions" in plain or "mappings" in plain:
            self._conditions()
        if "mappings" in plain:
            self._everything()
        for name in touched.get(FILES, ()):
            self._users("file", name)

    def _users(self, what: str, name: str, *, read: bool = False) -> None:
        for kind, user in self.live.users.of((what, name)):
            if read:
                (self._resources if kind == "resource" else self._outputs)[user] = None
            elif kind == "resource":
                self._values[user] = None
            else:
                self.live.dirty_outputs[user] = None

    def _parameters(self) -> None:
        live = self.live
        assert live.dialect is not None
        definitions = live.section("parameters")
        given = {name: value for name, value in live.given.items() if not name.startswith("OS::")}
        unknown = {name: body for name, body in definitions.items() if name in live.unknown}
        new = values_of(
            {name: body for name, body in definitions.items() if name not in unknown},
            given,
            live.environment if not live.depth else read_environment(None),
            lambda constraint, value: missing(constraint, value, self.things),
            cfn=live.dialect.name == "cfn",
        )
        nothing = object()
        for name in live.parameters.keys() | new.keys():
            if live.parameters.get(name, nothing) != new.get(name, nothing):
                self._users("param", name)
                self._users("ref", name, read=True)
        live.parameters = new

    def _conditions(self) -> None:
        live = self.live
        bodies = live.section("conditions")
        before = live.conditions
        uses: dict[str, set[template.Use]] = {}
        for name, body in bodies.items():
            uses[name] = set()
            template.scan_condition(body, uses[name], set(), {})
            for what, used in uses[name]:
                if what in ("resource", "attr", "file"):
                    raise ReferenceInvalid(
                        f"conditions.{name} cannot use {what} '{used}': conditions use parameters only"
                    )
                if what == "condition" and used not in bodies and used not in ("true", "false"):
                    raise ReferenceInvalid(
                        f"conditions.{name}: the template has no condition '{used}'{meant(used, bodies)}"
                    )

        def needed(name: str) -> list[str]:
            return [used for what, used in uses[name] if what == "condition" and used in bodies]

        check_cycles(bodies, needed, "conditions")
        live.conditions = {}
        waiting = list(bodies)
        while waiting:
            name = waiting[-1]
            missing_ones = [one for one in needed(name) if one not in live.conditions]
            if missing_ones:
                waiting += missing_ones
                continue
            waiting.pop()
            if name in live.conditions:
                continue
            try:
                live.conditions[name] = truth(bodies[name], TemplateScope(live), "it")
            except Unknown:
                live.conditions[name] = True
            except CloudError as error:
                raise type(error)(f"conditions.{name}: {error}") from None
        for name in before.keys() | live.conditions.keys():
            if before.get(name) is not live.conditions.get(name):
                self._users("condition", name, read=True)

    def _read(self, plain: Mapping[str, Collection[str]]) -> None:
        """Definitions that changed, and what they use."""
        live = self.live
        assert live.dialect is not None
        self._resources.update(dict.fromkeys(sorted(plain.get("resources", ()))))
        self._outputs.update(dict.fromkeys(sorted(plain.get("outputs", ()))))
        bodies = live.section("resources")
        if len(bodies) > MOST_RESOURCES:
            raise TemplateTooLarge(f"the template has {len(bodies):,} resources, more than {MOST_RESOURCES:,}")
        for name in self._resources:
            if name in bodies:
                self._define(name, template.resource(name, bodies[name], live.dialect, live.conditions))
            else:
                self._define(name, None)
        for key in self._outputs:
            old = live.outputs.pop(key, None)
            new = None
            body = live.section("outputs").get(key)
            if body is not None:
                new = template.output(key, body, live.dialect, live.conditions)
                new.uses = self._referred(new.uses)
                live.outputs[key] = new
            live.users.change(("output", key), old.uses if old else (), new.uses if new else ())
            live.dirty_outputs[key] = None

    def _referred(self, uses: frozenset[template.Use]) -> frozenset[template.Use]:
        """``Ref`` of CFN names a parameter or a resource: both are noted."""
        if self.live.dialect is None or self.live.dialect.name != "cfn":
            return uses
        made = set(uses)
        for what, name in uses:
            if what == "ref":
                made.add(("param" if name in self.live.parameters or "::" in name else "resource", name))
        return frozenset(made)

    def _define(self, name: str, new: template.ResourceDef | None) -> None:
        live = self.live
        old = live.definitions.pop(name, None)
        was = old is not None and name not in live.disabled
        live.disabled.discard(name)
        if old is not None:
            for what, network in old.uses:
                if what == "makes":
                    live.subnets.get(network, {}).pop(name, None)
        if new is not None:
            live.types[name] = live.environment.actual(name, new.type)
            new.uses = self._referred(new.uses) | _joined(new, live.types[name])
            if is_template(live.types[name]):
                new.uses |= {("file", live.types[name])}
            new.mentions |= {used for what, used in new.uses if what == "resource"}
            live.definitions[name] = new
            for what, network in new.uses:
                if what == "makes":
                    live.subnets.setdefault(network, {})[name] = None
            if not self._wanted(name, new):
                live.disabled.add(name)
        else:
            live.types.pop(name, None)
        live.users.change(("resource", name), old.uses if old else (), new.uses if new else ())
        live.dirty[name] = None
        if was and not live.enabled(name):
            for what in ("resource", "attr"):
                for kind, user in live.users.of((what, name)):
                    (self._recheck if kind == "resource" else live.dirty_outputs)[user] = None

    def _wanted(self, name: str, definition: template.ResourceDef) -> bool:
        if definition.condition is None:
            return True
        try:
            return truth(definition.condition, TemplateScope(self.live), "condition")
        except Unknown:
            return True
        except CloudError as error:
            raise type(error)(f"resources.{name}.condition: {error}") from None

    def _check(self) -> None:
        """References, types, circles and the properties whose values are known."""
        live = self.live
        live.dirty.update(self._values)
        for name in [*self._resources, *(name for name in self._recheck if name not in self._resources)]:
            if name in live.definitions:
                self._references(name)
        needed = [name for name in self._resources if live.enabled(name) and any(True for _ in live.dependents(name))]
        check_cycles(needed, live.needs)
        if self._stored:
            return
        # Foreign clouds look at all of a template at each change of it.
        foreign = self.services.database.elsewhere is not None
        for name in live.definitions if foreign else {**self._resources, **self._values}:
            if live.enabled(name):
                check_properties(live, name, self.things, self.services)

    def _references(self, name: str) -> None:
        live = self.live
        definition, scope = live.definitions[name], TemplateScope(live)
        try:
            for mentioned in sorted(definition.mentions):
                if mentioned not in live.definitions:
                    scope.known(mentioned)
            for what, used in sorted(definition.uses):
                if what in ("resource", "attr") and live.enabled(name) and used not in definition.depends_on:
                    scope.known(used)
                elif what == "param" and used not in live.unknown:
                    scope.parameter(used)
                elif what == "file" and live.enabled(name):
                    scope.file(used)
                elif what == "condition":
                    scope.condition(used)
        except Unknown:
            pass
        except CloudError as error:
            raise type(error)(f"resources.{name}: {error}") from None


def _joined(definition: template.ResourceDef, actual: str) -> frozenset[template.Use]:
    """Subnets come before ports and servers on their network, as Heat has it, without anybody saying so."""
    properties = definition.properties
    networks = [properties.get("network"), properties.get("network_id")]
    if actual == "OS::Neutron::Subnet":
        what = "makes"
    elif actual in ("OS::Neutron::Port", "OS::Nova::Server"):
        what = "ready"
        entries = properties.get("networks")
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, Mapping):
                networks += [entry.get("network"), entry.get("uuid")]
    else:
        return frozenset()
    return frozenset(
        (what, network["get_resource"])
        for network in networks
        if isinstance(network, Mapping) and isinstance(network.get("get_resource"), str)
    )


def check_properties(live: LiveStack, name: str, things: Inventory, services: Services) -> None:
    """Checks what is known of the properties of one resource. Raises `TemplateInvalid` with the place."""
    definition, actual = live.definitions[name], live.types[name]
    where = f"resources.{name}"
    values: dict[str, Any] = {}
    known: set[str] = set()
    scope = TemplateScope(live)
    inert, able = services.settings.inert_types, services.capabilities
    for key, raw in definition.properties.items():
        try:
            values[key] = resolve(raw, scope)
            known.add(key)
        except Unknown:
            values[key] = _partly(raw, scope)
        except CloudError as error:
            raise type(error)(f"{where}.properties.{key}: {error}") from None
    try:
        handler = handler_of(actual, inert=inert)
        # A property that the template does not have is known to be missing.
        known |= set(handler.properties) - values.keys()
        made = checked(actual, handler, values, things, known=known)
        if able is not None:
            require(handler.needed(made), able, services.kind or services.driver.name)
        member = definition.properties.get("resource_def")
        if handler is TYPES["OS::Heat::ResourceGroup"] and isinstance(member, Mapping):
            inner = member.get("type")
            if isinstance(inner, str):
                handler_of(live.environment.actual(name, inner), inert=inert)
        for what, used in definition.uses:
            if what == "attr":
                _known_attribute(live, definition.properties, used, inert=inert)
    except CloudError as error:
        if isinstance(error, TemplateInvalid):
            placed = type(error)(f"{where}: {error.message}")
            placed.hint = error.hint
            raise placed from None
        raise TemplateInvalid(f"{where}: {error}") from None


def _half_character(value: Any) -> str | None:
    """Where in plain data a text is that cannot be encoded; None when there is none."""
    waiting = [("", value)]
    while waiting:
        place, item = waiting.pop()
        if isinstance(item, dict):
            for key, below in item.items():
                there = f"{place}.{key if key.isprintable() and len(key) < 60 else short(key)}"
                waiting += [(there, key), (there, below)]
        elif isinstance(item, list):
            waiting += [(f"{place}[{number}]", below) for number, below in enumerate(item)]
        elif isinstance(item, str) and not item.isascii():
            try:
                item.encode()
            except UnicodeEncodeError:
                return place
    return None


def _partly(node: Any, scope: TemplateScope) -> Any:
    """A value of which not everything is known yet: `PENDING` stands for what is not. Raises what functions raise."""
    if isinstance(node, list):
        return [_partly(item, scope) for item in node]
    if isinstance(node, dict) and not (len(node) == 1 and next(iter(node)) in scope.functions):
        return {key: _partly(item, scope) for key, item in node.items()}
    try:
        return resolve(node, scope)
    except Unknown:
        return PENDING


def _known_attribute(live: LiveStack, value: Any, used: str, *, inert: bool) -> None:
    """Refuses get_attr of names that the type does not have."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            waiting += item.values()
            path = item.get("get_attr") if len(item) == 1 else None
            if isinstance(path, list) and len(path) > 1 and path[0] == used and isinstance(path[1], str):
                handler = handler_of(live.types[used], inert=inert)
                if not handler.knows(path[1]):
                    raise ReferenceInvalid(
                        f"the resource '{used}' has no attribute '{path[1]}'{meant(path[1], handler.attributes)}"
                    )
        elif isinstance(item, list):
            waiting += item
