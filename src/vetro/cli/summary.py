"""What a person wants to know after a deployment: components, servers, addresses, what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vetro.model.environment import Environment
from vetro.model.header import id_of, label_of, parse_type_text, type_of
from vetro.model.tree import objects

#: The property that has the outputs of a template.
_OUTPUTS = "templateOutputs"


def marked(text: str, simulated: bool) -> str:
    """``text`` about something; where nothing of that exists, with a word that says so behind it."""
    return f"{text} (simulated)" if simulated else text


def servers(obj: Any) -> Iterator[dict[str, Any]]:
    """The servers inside an object, however deep: objects that have addresses and an id in the cloud."""
    return (item for item in objects(obj) if "ipAddresses" in item and "openstackId" in item)


def addresses(server: Mapping[str, Any]) -> list[str]:
    """Addresses of a server, the floating one first."""
    floating = server.get("floatingIpAddress")
    others = [str(a) for a in server.get("ipAddresses") or () if a != floating]
    return [str(floating), *others] if floating else others


def rows(environment: Environment, simulated: bool = False) -> list[tuple[str, str, str, str]]:
    """(component, class, server, addresses) for a table: a row a server, and one for a component without. Where a
    package is used in several versions, the class is told with its own. Addresses that are ``simulated`` are marked."""
    made = []
    several = {package for package, versions in environment.versions().items() if len(versions) > 1}
    for application in environment.applications:
        label, (kind, version, package) = label_of(application), parse_type_text(type_of(application))
        kind += f" {version}" if package in several else ""
        found = list(servers(application))
        for server in found:
            where = ", ".join(addresses(server))
            made.append((label, kind, str(server.get("name", "")), marked(where, simulated) if where else "-"))
            label = kind = ""
        if not found:
            made.append((label, kind, "", ""))
    return made


def outputs(
    environment: Environment, reached: Iterable[Mapping[str, Any]], simulated: bool = False
) -> Iterator[tuple[str, str, Any]]:
    """(component, name, value) of what people look for besides servers: outputs of templates, and where components can
    be ``reached``, as /v2 tells it. All are marked where they are ``simulated``."""
    hosts = {str(id_of(server)) for application in environment.applications for server in servers(application)}
    for application in environment.applications:
        label = label_of(application)
        given = application.get(_OUTPUTS)
        for name, text in given.items() if isinstance(given, dict) else ():
            if text is not None:
                yield label, name, marked(str(text), simulated)
        for one in reached:
            told = one["object_id"] in hosts or one["property"] == _OUTPUTS
            if one["component_id"] == str(id_of(application)) and not told:
                yield label, one["property"], marked(str(one["text"]), simulated)
