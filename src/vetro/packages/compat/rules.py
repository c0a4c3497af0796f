"""The rules: which difference of two declarations breaks whom.

Writers give values (models, forms, callers), so a new version has to take what the old one took. Readers get them, so
it may give only what the old one gave. Names that begin with ``_`` are internal. Decision 0035 has the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from vetro.diagnostics import Text
from vetro.muranopl.contracts.model import Contract, ContractExpression, object_calls
from vetro.muranopl.contracts.resolver import class_name_of
from vetro.muranopl.declarations.tree import (
    NO_DEFAULT,
    ArgumentDecl,
    ArgumentUsage,
    MethodUsage,
    PropertyDecl,
    PropertyUsage,
)
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.expressions import Expression, ListTemplate, Literal, MapTemplate
from vetro.packages.compat.contract_comparison import Pair, Verdict
from vetro.packages.compat.contract_keys import contract_key
from vetro.packages.compat.execution import Side, runs_alone
from vetro.packages.compat.findings import Finding, Level, shown
from vetro.packages.compat.predicates import key
from vetro.packages.compat.templates import TEMPLATE_PROPERTIES, both_templates, parameter_pairs
from vetro.packages.compat.time_limits import TimeLimits
from vetro.packages.version_steps import is_due, renames

_GIVEN = frozenset({PropertyUsage.IN, PropertyUsage.CONST, PropertyUsage.IN_OUT})
_STORED = _GIVEN | {PropertyUsage.OUT}
_READ = frozenset({PropertyUsage.OUT, PropertyUsage.STATIC, PropertyUsage.CONFIG, PropertyUsage.IN_OUT})
#: Changes of a usage by which everything goes on as before.
_LOOSER = frozenset(
    {
        (PropertyUsage.CONST, PropertyUsage.IN),
        (PropertyUsage.CONST, PropertyUsage.IN_OUT),
        (PropertyUsage.IN, PropertyUsage.IN_OUT),
        (PropertyUsage.OUT, PropertyUsage.IN_OUT),
        (PropertyUsage.RUNTIME, PropertyUsage.OUT),
        (PropertyUsage.RUNTIME, PropertyUsage.IN_OUT),
    }
)
#: Meta-classes without which others stop working.
_NEEDED_META = frozenset({"io.murano.metadata.forms.Secret", "io.murano.metadata.ModelBuilder"})


class ClassRules:
    """One class in two versions: what of it has changed, and for whom."""

    def __init__(self, old: Any, new: Any, limits: TimeLimits) -> None:
        self.old, self.new, self._limits = old, new, limits
        self.pair = Pair(Side(old), Side(new))
        #: Names of properties in the old version -> those that they have in the new one.
        self._renamed = _renamed(old, new)

    def findings(self) -> Iterator[Finding]:
        """Every difference of the class and of what it declares."""
        yield from self._class()
        for name, prop in self.old.own_properties.items():
            if not name.startswith("_"):
                yield from self._in_time(self._property(prop), f".{name}", old=prop.decl)
        for name, inherited in self._overridden("own_properties", _property):
            yield from self._in_time(self._property(inherited), f".{name}", old=inherited.decl)
        for name, prop in self.new.own_properties.items():
            if not name.startswith("_") and _property(self.old, name) is None and name not in self._renamed.values():
                yield from self._in_time(self._new_property(prop.decl), f".{name}", new=prop.decl)
        for name, method in self.old.own_methods.items():
            if not name.startswith("_") and name != ".destroy" and method.decl is not None:
                yield from self._in_time(self._method(method), f"::{name}", old=method.decl)
        for name, inherited in self._overridden("own_methods", _method):
            if inherited.decl is not None and not name.startswith("."):
                yield from self._in_time(self._method(inherited), f"::{name}", old=inherited.decl)
        if (made := self.new.own_methods.get(".init")) is not None and ".init" not in self.old.methods:
            yield from self._in_time(self._constructor(made.decl), "::.init", new=made.decl)
        for name, method in self.new.own_methods.items():
            if not name.startswith(("_", ".")) and method.decl is not None and name not in self.old.methods:
                yield self._found("CMP150", Level.MINOR, Text("is new"), f"::{name}", new=method.decl.position)

    def _overridden(self, own: str, find: Callable[[Any, str], Any]) -> Iterator[tuple[str, Any]]:
        """Members that the old class inherited and the new one declares itself."""
        for name in getattr(self.new, own):
            inherited = None if name.startswith("_") or name in getattr(self.old, own) else find(self.old, name)
            if inherited is not None:
                yield name, inherited

    def _in_time(self, found: Iterator[Finding], member: str, **decl: Any) -> Iterator[Finding]:
        """What is found of one member; that nobody knows, where it does not end."""
        text = Text("nobody knows what has changed: comparing it does not end in time")
        places = {side: one.position for side, one in decl.items()}
        return self._limits.within(lambda: found, lambda: self._found("CMP190", Level.UNKNOWN, text, member, **places))

    def _found(
        self,
        code: str,
        level: Level,
        message: Text,
        member: str = "",
        old: Any = None,
        new: Any = None,
        witness: str | None = None,
        declared: bool = True,
    ) -> Finding:
        return Finding(code, level, f"{self.old.name}{member}", message, old, new, witness, declared)

    # -- classes -------------------------------------------------------------------------------------------------------

    def _class(self) -> Iterator[Finding]:
        before, after = self.old.decl, self.new.decl
        places: dict[str, Any] = {"old": before.position, "new": after.position}
        if before.usage is not after.usage:
            text = Text("was a {before} and is a {after}", before=_usage(before), after=_usage(after))
            yield self._found("CMP101", Level.MAJOR, text, **places)
        kept = {one.name for one in self.new.ancestors}
        for base in self.old.ancestors[1:]:
            if base.name not in kept:
                text = Text("no longer extends {base}; who asks for one refuses it", base=base.name)
                yield self._found("CMP102", Level.MAJOR, text, **places)
                yield from self._lost_with(base, places)
        if after.usage is before.usage and before.usage.value == "Meta":
            yield from self._meta_class(places)

    def _lost_with(self, base: Any, places: dict[str, Any]) -> Iterator[Finding]:
        """Members that went with a base."""
        for name, prop in base.own_properties.items():
            shared = prop.decl.usage is not PropertyUsage.RUNTIME and not name.startswith("_")
            if shared and _property(self.new, name) is None and name not in self.old.own_properties:
                text = Text("is gone, with base {base}", base=base.name)
                yield self._found("CMP110", Level.MAJOR, text, f".{name}", **places)
        for name, method in base.own_methods.items():
            public = method.decl is not None and method.decl.public
            if public and name not in self.old.own_methods and _method(self.new, name) is None:
                text = Text("is gone, with base {base}", base=base.name)
                yield self._found("CMP130", Level.MAJOR, text, f"::{name}", **places)

    def _meta_class(self, places: dict[str, Any]) -> Iterator[Finding]:
        before, after = self.old.decl, self.new.decl
        lost = set() if "All" in after.applies else set(before.applies) - set(after.applies)
        if lost or (before.cardinality, after.cardinality) == ("Many", "One"):
            text = Text("may be attached to less than before: {lost}", lost=", ".join(sorted(lost)) or "once only")
            yield self._found("CMP103", Level.MAJOR, text, **places)

    # -- properties ----------------------------------------------------------------------------------------------------

    def _property(self, prop: Any) -> Iterator[Finding]:
        before: PropertyDecl = prop.decl
        member, found = f".{before.name}", _property(self.new, self._renamed.get(before.name, before.name))
        if found is None:
            yield self._found("CMP110", Level.MAJOR, Text("is gone"), member, before.position)
            return
        after: PropertyDecl = found.decl
        pair = Pair(Side(prop.declaring), Side(found.declaring))
        places: dict[str, Any] = {"old": before.position, "new": after.position}
        if before.name != after.name:
            text = Text("is called {new} now; environments are upgraded", new=after.name)
            yield self._found("CMP120", Level.MINOR, text, member, **places)
        if before.usage is not after.usage:
            level = Level.MINOR if (before.usage, after.usage) in _LOOSER else Level.MAJOR
            text = Text("was {before} and is {after}", before=before.usage.value, after=after.usage.value)
            yield self._found("CMP111", level, text, member, **places)
        yield from self._contracts(pair, before, after, member)
        yield from self._defaults(pair, before, after, member)
        yield from self._meta(before.meta, after.meta, member, places)

    def _contracts(self, pair: Pair, before: PropertyDecl, after: PropertyDecl, member: str) -> Iterator[Finding]:
        if before.name in TEMPLATE_PROPERTIES and both_templates(pair.old.kind.package, pair.new.kind.package):
            for name, one, other in parameter_pairs(before.contract, after.contract):
                old, new = replace(before, contract=one), replace(after, contract=other)
                yield from self._narrowed(pair, old, new, f"{member}.{name}")
            return
        if contract_key(before.contract, pair.old) == contract_key(after.contract, pair.new):
            return
        told = False
        if before.usage in _STORED:
            for finding in self._narrowed(pair, before, after, member, stored=before.usage is PropertyUsage.OUT):
                told = True
                yield finding
        if before.usage in _READ:
            back = Pair(pair.new, pair.old).relate(after.contract, before.contract)
            places: dict[str, Any] = {"old": before.position, "new": after.position}
            if back.verdict is Verdict.REFUSED:
                text = Text("readers may get what they never got before")
                yield self._found("CMP113", Level.MAJOR, text, member, **places, witness=shown(back.witness))
            elif back.verdict is Verdict.UNKNOWN:
                text = Text("nobody knows whether readers get what they never got before")
                yield self._found("CMP114", Level.UNKNOWN, text, member, **places)
            elif not told:
                yield self._found("CMP117", Level.MINOR, Text("gives less than before"), member, **places)

    def _narrowed(self, pair: Pair, before: Any, after: Any, member: str, *, stored: bool = False) -> Iterator[Finding]:
        """What its new contract makes of values that the old one took."""
        if contract_key(before.contract, pair.old) == contract_key(after.contract, pair.new):
            return
        there = pair.relate(before.contract, after.contract)
        places: dict[str, Any] = {"old": before.position, "new": after.position}
        if there.verdict is Verdict.REFUSED:
            text = Text("refuses what may be stored") if stored else Text("refuses what it took")
            witness = shown(there.witness)
            yield self._found("CMP112", Level.MAJOR, text, member, **places, witness=witness, declared=there.declared)
            return
        if there.verdict is Verdict.UNKNOWN:
            text = Text("nobody knows whether it takes everything that it took")
            yield self._found("CMP114", Level.UNKNOWN, text, member, **places)
        if there.has_changed:
            text = Text("takes a value as before, and makes something else of it")
            yield self._found("CMP118", Level.MAJOR, text, member, **places, witness=shown(there.changed))
        elif there.verdict is Verdict.TAKEN and not stored:
            yield self._found("CMP117", Level.MINOR, Text("takes more than before, or the same"), member, **places)

    def _defaults(self, pair: Pair, before: Any, after: Any, member: str) -> Iterator[Finding]:
        places: dict[str, Any] = {"old": before.position, "new": after.position}
        if before.default is NO_DEFAULT or after.default is NO_DEFAULT:
            if before.default is not NO_DEFAULT and refuses_null(after.contract, pair.new):
                text = Text("has no default any more, and takes no null: it has to be given")
                yield self._found("CMP115", Level.MAJOR, text, member, **places)
            elif before.default is not after.default:
                text = Text("has no default any more") if after.default is NO_DEFAULT else Text("has a default now")
                yield self._found("CMP116", Level.MINOR, text, member, **places)
        elif _value_key(before.default, pair.old) != _value_key(after.default, pair.new):
            yield self._found("CMP116", Level.MINOR, Text("has another default"), member, **places)

    def _new_property(self, decl: PropertyDecl) -> Iterator[Finding]:
        member = f".{decl.name}"
        if decl.usage in _GIVEN and decl.default is NO_DEFAULT and refuses_null(decl.contract, self.pair.new):
            text = Text("is new and has to be given: it has no default and takes no null")
            yield self._found("CMP115", Level.MAJOR, text, member, new=decl.position)
        else:
            yield self._found("CMP119", Level.MINOR, Text("is new"), member, new=decl.position)

    def _meta(self, before: Any, after: Any, member: str, places: dict[str, Any]) -> Iterator[Finding]:
        old = {_meta_key(one, self.pair.old) for one in before}
        new = {_meta_key(one, self.pair.new) for one in after}
        names = {name for name, _ in new}
        lost = sorted({name for name, _ in old if name not in names and name in _NEEDED_META})
        for name in lost:
            yield self._found("CMP104", Level.MAJOR, Text("is no longer marked {name}", name=name), member, **places)
        if not lost and old != new:
            yield self._found("CMP105", Level.MINOR, Text("has other metadata"), member, **places)

    # -- methods -------------------------------------------------------------------------------------------------------

    def _method(self, method: Any) -> Iterator[Finding]:
        name, before = method.name, method.decl
        member = f"::{name}"
        found = _method(self.new, name)
        if found is None and name == ".init" and not before.arguments:
            return  # nobody gave it anything
        if found is None:
            yield self._found("CMP130", Level.MAJOR, Text("is gone"), member, before.position)
            return
        if found.decl is None:
            return  # native code: nobody declares what it takes
        after = found.decl
        places: dict[str, Any] = {"old": before.position, "new": after.position}
        if before.public and not after.public:
            yield self._found("CMP131", Level.MAJOR, Text("can no longer be called from outside"), member, **places)
        if before.static is not after.static or (before.usage is MethodUsage.EXTENSION) is not (
            after.usage is MethodUsage.EXTENSION
        ):
            text = Text("was {before} and is {after}", before=before.usage.value, after=after.usage.value)
            yield self._found("CMP132", Level.MAJOR, text, member, **places)
        pair = Pair(Side(method.declaring), Side(found.declaring))
        for finding in self._arguments(pair, before, after):
            # Methods of sessions are called by code that moves along, most of the time.
            inner = finding.level is Level.MAJOR and not before.public and not before.static and name != ".init"
            yield finding if not inner else _weakened(finding)
        yield from self._meta(before.meta, after.meta, member, places)

    def _arguments(self, pair: Pair, before: Any, after: Any) -> Iterator[Finding]:
        member = f"::{before.name}"
        new = {one.name: (index, one) for index, one in enumerate(after.arguments)}
        for index, old in enumerate(before.arguments):
            named = f"{member}({old.name})"
            if old.name not in new or new[old.name][1].usage is not old.usage:
                text = Text("is gone, or has another name") if old.name not in new else Text("is of another kind")
                yield self._found("CMP133", Level.MAJOR, text, named, old.position, after.position)
                continue
            at, one = new[old.name]
            if old.usage is ArgumentUsage.STANDARD and at != index:
                text = Text("has another place among the arguments")
                yield self._found("CMP134", Level.MAJOR, text, named, old.position, one.position)
            yield from self._narrowed(pair, old, one, named)
            yield from self._defaults(pair, old, one, named)
        for name in new.keys() - {one.name for one in before.arguments}:
            yield self._new_argument(new[name][1], f"{member}({name})")

    def _constructor(self, decl: Any) -> Iterator[Finding]:
        """What has to be given to make an object that needed nothing."""
        for argument in () if decl is None else decl.arguments:
            found = self._new_argument(argument, f"::.init({argument.name})")
            if found.level is Level.MAJOR:
                yield found

    def _new_argument(self, argument: ArgumentDecl, member: str) -> Finding:
        needed = argument.usage is ArgumentUsage.STANDARD and argument.default is NO_DEFAULT
        if needed and refuses_null(argument.contract, self.pair.new):
            text = Text("is new and has to be given: it has no default and takes no null")
            return self._found("CMP115", Level.MAJOR, text, member, new=argument.position)
        return self._found("CMP119", Level.MINOR, Text("is new"), member, new=argument.position)


def refuses_null(contract: Contract, side: Side) -> bool:
    """Whether what is not given fails."""
    if isinstance(contract, ContractExpression) and contract.chain is not None and not contract.chain.nullable:
        return True
    return runs_alone(contract) and side.take(contract, None).taken is False


def takes_class(kind: Any, name: str) -> bool:
    """Whether a contract of a class asks for objects of the class of this name."""
    side = Side(kind)
    contracts = [one.decl.contract for one in kind.own_properties.values()]
    for method in kind.own_methods.values():
        contracts += [one.contract for one in method.arguments]
    for contract in contracts:
        for _, call in object_calls(contract):
            written = class_name_of(call.args[0]) if call.args else None
            found = side.class_named(written) if written else None
            if found is not None and found.name == name:
                return True
    return False


def _renamed(old: Any, new: Any) -> dict[str, str]:
    """What the properties of a class are called that had another name, on the way from one version to the other."""
    names = {name: name for name in old.properties}
    before = {one.package.name: one.package.version for one in old.ancestors}
    for one in (step for kind in reversed(new.ancestors) for step in _due(kind, before)):
        for first, last in names.items():
            if last == one.before:
                names[first] = one.after
    return {first: last for first, last in names.items() if first != last}


def _due(kind: Any, before: dict[str, Any]) -> Iterator[Any]:
    version = before.get(kind.package.name)
    return (one for one in renames(kind) if version is not None and is_due(one.to, version, kind.package.version))


def _property(kind: Any, name: str) -> Any:
    try:
        return kind.find_property(name)
    except MuranoError:  # declared twice: whoever reads it fails
        return None


def _method(kind: Any, name: str) -> Any:
    """The method of a class; None where there is none."""
    try:
        found = kind.find_method(name)
    except MuranoError:
        return None
    return None if found is None or (found.decl is None and found.native is None) else found


def _usage(decl: Any) -> str:
    return "meta-class" if decl.usage.value == "Meta" else "class"


def _weakened(finding: Finding) -> Finding:
    return Finding(
        finding.code, Level.MINOR, finding.element, finding.message, finding.old, finding.new, finding.witness,
        finding.declared,
    )  # fmt: skip


def _meta_key(meta: Any, side: Side) -> tuple[str, object]:
    found = side.class_named(meta.name)
    values = tuple(sorted((name, repr(_value_key(value, side))) for name, value in meta.properties.items()))
    return (meta.name if found is None else found.name), values


def _value_key(value: Any, side: Side) -> object:
    """Equal for values in YAML that say the same."""
    if isinstance(value, Literal):
        return "literal", repr(value.value)
    if isinstance(value, Expression):
        return "expression", key(value.node, side.prefixes)
    if isinstance(value, ListTemplate):
        return "list", tuple(_value_key(item, side) for item in value.items)
    if isinstance(value, MapTemplate):
        return "map", tuple((_value_key(name, side), _value_key(item, side)) for name, item in value.pairs)
    return "other", repr(value)
