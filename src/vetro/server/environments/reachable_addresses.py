"""Where what was deployed can be reached, by one rule (docs/authors/classes.md, "Addresses"): properties with usage
``Out``, of a component and of what it owns, whose values are addresses.

Classes are only read here, nothing of them runs.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from vetro.data_classes import dataclass
from vetro.model.copies import Classes
from vetro.model.environment import applications_of, deployed_objects
from vetro.model.header import header_of, id_of, label_of, type_of
from vetro.model.secrets import conceal
from vetro.model.tree import objects
from vetro.server.caller import Caller
from vetro.server.environments import fixed_properties, queries, redaction, simulation

#: Characters of an address, and how many of one component are told.
_LONGEST: Final = 2000
MOST: Final = 100
#: Schemes that a browser opens.
_PAGES: Final = frozenset({"http", "https"})


@dataclass(frozen=True, slots=True)
class Address:
    """An address that an object has in a property."""

    component_id: str
    component: str
    object_id: str
    property: str
    text: str
    #: The same where a browser opens it; '' for others.
    url: str


def of_environment(caller: Caller, environment_id: str) -> tuple[bool, list[Address]]:
    """Whether an environment is simulated, and the addresses of what is deployed in it. Raises as `queries.get`."""
    found = queries.get(caller, environment_id, model=True)
    return bool(simulation.of_environments([found.id])), of_found(caller, found)


def of_found(caller: Caller, found: queries.ListedEnvironment) -> list[Address]:
    """The addresses of what is deployed in an environment that was read with its model."""
    root = deployed_objects(found.model or {})
    if root is None:
        return []
    shown = conceal(root, redaction.secrets_for(caller, found, root))
    classes = fixed_properties.classes_for(caller, found, {"Objects": root})
    return [one for component in applications_of(shown) for one in of_component(component, classes)]


def of_component(component: Any, classes: Classes) -> list[Address]:
    """Those of a component, or of another object with what it owns: pages first. Its secrets are concealed already."""
    own, label = str(id_of(component)), label_of(component)
    found: dict[str, Address] = {}
    for obj in objects(component):
        for name, text in of_properties(type_of(obj), obj.items(), classes):
            url = text if urlsplit(text).scheme.lower() in _PAGES else ""
            found.setdefault(text, Address(own, label, str(id_of(obj)), name, text, url))
    return sorted(found.values(), key=lambda one: not one.url)[:MOST]


def of_properties(type: str, properties: Iterable[tuple[str, Any]], classes: Classes) -> Iterator[tuple[str, str]]:
    """(property, address) of an object of this class, from its own properties: objects in them have theirs."""
    declared = classes(type)
    for name, value in properties:
        if name in declared and declared[name].usage == "Out":
            yield from ((name, text) for text in _texts(value) if is_address(text))


def is_address(text: str) -> bool:
    """Whether a text is an address and nothing else: of a service with scheme and host (and nobody's name), or of
    the network, also with a port."""
    if not text or len(text) > _LONGEST or not text.isprintable() or " " in text:
        return False
    if "://" not in text:
        return _is_ip(text) or _is_ip_with_port(text)
    try:
        parts = urlsplit(text)
        return bool(parts.scheme and parts.hostname) and parts.username is None and (parts.port or 1) > 0
    except ValueError:
        return False


def _is_ip_with_port(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return port.isascii() and port.isdigit() and 0 < int(port[:6]) < 1 << 16 and _is_ip(host.strip("[]"))


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _texts(value: Any) -> Iterator[str]:
    """The texts in the value of a property; objects in it have their own properties."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values() if header_of(value) is None else ():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
