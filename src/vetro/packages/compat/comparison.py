"""`compare`: two versions of a package, and what whoever uses it would notice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from vetro.diagnostics import Text
from vetro.muranopl import Engine
from vetro.packages.changelog import between, read_changes
from vetro.packages.compat.findings import Comparison, Finding, Level, compared
from vetro.packages.compat.ranges import lost_version
from vetro.packages.compat.rules import ClassRules, takes_class
from vetro.packages.compat.templates import template_findings
from vetro.packages.compat.time_limits import TimeLimits
from vetro.packages.errors import PackageError
from vetro.packages.extensions.plugins import required_extensions
from vetro.packages.package import LoadedPackage
from vetro.packages.version_steps import former_names, is_due

#: Seconds that comparing two versions may take, beyond reading their classes.
SECONDS = 60.0


def compare(
    old: LoadedPackage,
    new: LoadedPackage,
    others: Iterable[LoadedPackage] = (),
    *,
    seconds: float = SECONDS,
    more: Callable[[TimeLimits], Iterable[Finding]] = lambda limits: (),
) -> Comparison:
    """Every difference of two versions of a package.

    Contracts are run on values, nothing else is. ``others``: packages that they require, in all versions that one of
    them may use. What does not end within ``seconds`` is unknown. ``more`` finds what else there is, within these
    limits. Raises `PackageError` for packages of different names, `MuranoError` for classes that cannot be read or
    linked.
    """
    if old.name != new.name:
        raise PackageError(
            Text("{old} and {new} are two packages, not two versions of one", old=old.name, new=new.name),
            hint="a package with another name is a new package",
        )
    known = [other for other in others if other.name != old.name]
    first, second = _session(old, known), _session(new, known)
    before = {name: first.types.in_package(old, name) for name in old.classes}
    after = {name: second.types.in_package(new, name) for name in new.classes}
    limits = TimeLimits(seconds, (first.rt, second.rt))
    findings = [
        *_package(old, new), *template_findings(old, new), *_classes(old, before, after, limits), *more(limits)
    ]  # fmt: skip
    if limits.over:
        text = Text("was not compared as a whole: the time for it was over")
        findings.append(Finding("CMP191", Level.UNKNOWN, old.name, text))
    findings += _declared(old, new, findings)
    return compared(old.name, old.version, new.version, findings, differ=old.blob != new.blob)


def _session(package: LoadedPackage, others: list[LoadedPackage]) -> Any:
    """Where the classes of one version can be asked."""
    extensions = required_extensions([package, *others])
    return Engine([package, *others, *extensions.packages], natives=extensions.natives).session()


def _package(old: LoadedPackage, new: LoadedPackage) -> Iterator[Finding]:
    if old.type != new.type:
        text = Text("was of type {old} and is of type {new}", old=old.type, new=new.type)
        yield Finding("CMP160", Level.MAJOR, old.name, text)
    if new.format > old.format:
        text = Text("has format {new}, was {old}", old=old.format_text, new=new.format_text)
        yield Finding("CMP161", Level.MINOR, old.name, text)
    names = sorted(old.requirements.keys() | new.requirements.keys())
    for name in names:
        before, after = old.requirements.get(name), new.requirements.get(name)
        if before != after:
            text = Text("requires {name} {after}, was {before}", name=name, after=_spec(after), before=_spec(before))
            lost = None if before is None or after is None else lost_version(before, after)
            yield Finding("CMP162", Level.MINOR, old.name, text, witness=lost)


def _declared(old: LoadedPackage, new: LoadedPackage, found: Iterable[Finding]) -> Iterator[Finding]:
    """What the new version says of its changes, and what of that is not so. Nothing where it says nothing at all."""
    told = between(read_changes(new.files, new.version)[0], old.version, new.version)
    if not told:
        return
    elements = {one.element for release in told for one in release.changes if one.kind == "breaking"}
    breaks = {one.element for one in found if one.level is Level.MAJOR}
    covered = {element for element in elements if any(_is_part(one, element) for one in breaks)}
    for element in sorted(breaks):
        if "" not in elements and not any(_is_part(element, one) for one in elements):
            text = Text("breaks, and the changes of the package do not say so")
            yield Finding("CMP195", Level.MINOR, element, text)
    for element in sorted(elements - covered - {""}):
        text = Text("is said to break, and nothing was found that does")
        yield Finding("CMP196", Level.PATCH, element, text)


def _is_part(element: str, of: str) -> bool:
    """Whether an element is another one or a part of it."""
    return element == of or element.startswith((f"{of}.", f"{of}::", f"{of}("))


def _spec(text: str | None) -> str:
    return "not at all" if text is None else text or "in any version"


def _classes(
    package: LoadedPackage, before: dict[str, Any], after: dict[str, Any], limits: TimeLimits
) -> Iterator[Finding]:
    successors = _successors(package, before, after)
    for name, kind in before.items():
        new = after.get(name) or successors.get(name)
        if new is None:
            yield Finding("CMP100", Level.MAJOR, name, Text("is gone"), kind.decl.position)
            continue
        if new.name != name:
            text = Text("is called {new} now; environments are upgraded", new=new.name)
            yield Finding("CMP107", Level.MINOR, name, text, kind.decl.position, new.decl.position)
        for finding in ClassRules(kind, new, limits).findings():
            if finding.code == "CMP102" and not _asked_for(finding, kind, new, before):
                finding = replace(finding, level=Level.MINOR)
            yield finding
    renamed = {kind.name for kind in successors.values()}
    for name, kind in after.items():
        if name not in before and name not in renamed:
            yield Finding("CMP106", Level.MINOR, name, Text("is new"), new=kind.decl.position)


def _successors(package: LoadedPackage, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The classes that say that they were called otherwise in the old version, by that name."""
    return {
        one.before: kind
        for kind in after.values()
        for one in former_names(kind)
        if one.before in before and is_due(one.to, package.version, kind.package.version)
    }


def _asked_for(finding: Finding, old: Any, new: Any, classes: dict[str, Any]) -> bool:
    """Whether a contract of the package, or of the one that has the base, takes the class by a base that it has
    lost."""
    kept = {one.name for one in new.ancestors}
    for base in old.ancestors[1:]:
        if base.name in kept:
            continue
        theirs = (old.session.types.in_package(base.package, name) for name in base.package.classes)
        if any(takes_class(kind, base.name) for kind in (*classes.values(), *theirs)):
            return True
    return False
