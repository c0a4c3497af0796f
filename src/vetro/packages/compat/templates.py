"""Heat templates in two versions: parameters and outputs. What parameters accept is in the contracts of their class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vetro.diagnostics import Text
from vetro.muranopl.contracts.model import Contract, ContractMap
from vetro.packages.compat.findings import Finding, Level
from vetro.packages.hot.package import ENVIRONMENTS, HotPackage
from vetro.packages.hot.template import Parameter
from vetro.packages.package import LoadedPackage

#: Properties of the class of a template that are compared name by name: what has no name in there is not used.
TEMPLATE_PROPERTIES = ("templateParameters", "templateOutputs")


def both_templates(old: Any, new: Any) -> bool:
    """Whether both packages are Heat templates."""
    plugins = (getattr(package, "plugin", None) for package in (old, new))
    return all(isinstance(plugin, HotPackage) for plugin in plugins)


def parameter_pairs(old: Contract, new: Contract) -> Iterator[tuple[str, Contract, Contract]]:
    """Name and both contracts of what is in both."""
    if isinstance(old, ContractMap) and isinstance(new, ContractMap):
        after = dict(new.entries)
        yield from ((str(name), item, after[name]) for name, item in old.entries if name in after)


def template_findings(old: LoadedPackage, new: LoadedPackage) -> Iterator[Finding]:
    """Differences of two packages that are Heat templates; nothing for others."""
    if not isinstance(old.plugin, HotPackage) or not isinstance(new.plugin, HotPackage):
        return
    before, after = old.plugin.template, new.plugin.template
    #: Files of environments may give what has no default.
    given = any(path.startswith(ENVIRONMENTS) for path in new.files.paths())
    parameters = {one.name: one for one in after.parameters}
    for one in before.parameters:
        element = f"{old.name}.templateParameters.{one.name}"
        if one.name in parameters:
            yield from _parameter(element, one, parameters[one.name], given=given)
        else:
            yield Finding(
                "CMP180", Level.MAJOR, element, Text("is gone: what is given is no longer used"), one.position
            )
    known = {one.name for one in before.parameters}
    for one in after.parameters:
        if one.name in known:
            continue
        element = f"{old.name}.templateParameters.{one.name}"
        if one.has_default or given:
            yield Finding("CMP119", Level.MINOR, element, Text("is new"), new=one.position)
        else:
            text = Text("is new and has to be given: it has no default")
            yield Finding("CMP115", Level.MAJOR, element, text, new=one.position)
    for name, place in before.outputs.items():
        if name not in after.outputs:
            element = f"{old.name}.templateOutputs.{name}"
            yield Finding("CMP181", Level.MAJOR, element, Text("is gone"), place)
    for name, place in after.outputs.items():
        if name not in before.outputs:
            yield Finding("CMP119", Level.MINOR, f"{old.name}.templateOutputs.{name}", Text("is new"), new=place)


def _parameter(element: str, old: Parameter, new: Parameter, *, given: bool) -> Iterator[Finding]:
    places: dict[str, Any] = {"old": old.position, "new": new.position}
    if old.type != new.type:
        text = Text("is of type {new}, was {old}", new=new.type, old=old.type)
        yield Finding("CMP182", Level.MAJOR, element, text, **places)
    if old.has_default and not new.has_default and not given:
        text = Text("has no default any more: it has to be given")
        yield Finding("CMP115", Level.MAJOR, element, text, **places)
    elif (old.has_default, old.default) != (new.has_default, new.default):
        yield Finding("CMP116", Level.MINOR, element, Text("has another default"), **places)
    if old.hidden and not new.hidden:
        yield Finding("CMP104", Level.MAJOR, element, Text("is no longer hidden"), **places)
