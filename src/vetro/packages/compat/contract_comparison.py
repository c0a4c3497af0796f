"""Two contracts: does the new one take whatever the old one took?

Where their structure tells, it is a proof; else values are tried. A value that one takes and the other refuses is a
witness: it was run, but for objects, which would need a deployment. Where neither is found, nobody knows.
"""

from __future__ import annotations

import enum
from dataclasses import replace
from typing import Any

from vetro.data_classes import dataclass
from vetro.muranopl.contracts.checks import conjuncts
from vetro.muranopl.contracts.model import (
    Chain,
    Check,
    Contract,
    ContractExpression,
    ContractList,
    ContractMap,
    Convert,
    NotNull,
    OfClass,
    Owner,
    StepName,
)
from vetro.muranopl.declarations.versions import parse_spec
from vetro.packages.compat.candidates import values_for
from vetro.packages.compat.contract_keys import contract_key, meaning, required_versions
from vetro.packages.compat.execution import Side, runs_alone, tried
from vetro.packages.compat.predicates import Facts, follows, key, listed
from vetro.packages.compat.ranges import lost_version
from vetro.yaql.parser import MURANO, parse

#: Nested contracts that are related one by one; deeper ones are tried as a whole. Items of a list that is made up.
_DEPTH, _LONGEST = 8, 100


class Verdict(enum.Enum):
    """What is known of two contracts."""

    #: Proven: whatever the old one takes the new one takes.
    TAKEN = "taken"
    #: There is a value that the old one takes and the new one refuses.
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Relation:
    """A verdict; with `Verdict.REFUSED` a ``witness`` as plain data.

    ``declared``: the witness is what the old contract names; else it was only converted (text that reads as a number)
    or ignored (a key of no name). ``changed``: a value that both take and make something else of, with `has_changed`.
    """

    verdict: Verdict
    witness: Any = None
    declared: bool = True
    changed: Any = None
    has_changed: bool = False


TAKEN, UNKNOWN = Relation(Verdict.TAKEN), Relation(Verdict.UNKNOWN)
#: ``$``: takes everything.
ANYTHING = ContractExpression("$", parse("$", MURANO), None, chain=Chain(()))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two classes in whose contracts names and functions mean something."""

    old: Side
    new: Side

    def relate(self, old: Contract, new: Contract) -> Relation:
        """Whether ``new`` takes whatever ``old`` takes."""
        if contract_key(old, self.old) == contract_key(new, self.new):
            return TAKEN
        found = self._by_structure(old, new, 0)
        if not (runs_alone(old) and runs_alone(new)):
            return found
        return self._with_values(old, new, found)

    def _with_values(self, old: Contract, new: Contract, found: Relation) -> Relation:
        """``found``, checked and completed by values."""
        guess = [found.witness] if found.verdict is Verdict.REFUSED else []
        refused, changed = tried((self.old, old), (self.new, new), [*guess, *values_for(old, new)])
        if refused:  # what ran is right, whatever was proven
            best = min(refused, key=lambda value: (not _is_declared(old, value), len(repr(value)), repr(value)))
            best = self._smaller(old, new, best)
            return Relation(Verdict.REFUSED, best, _is_declared(old, best))
        if changed:
            smallest = min(changed, key=lambda value: (not _is_declared(old, value), len(repr(value)), repr(value)))
            return replace(TAKEN if found.verdict is Verdict.TAKEN else UNKNOWN, changed=smallest, has_changed=True)
        return found if found.verdict is Verdict.TAKEN else UNKNOWN

    def _smaller(self, old: Contract, new: Contract, witness: Any) -> Any:
        """A witness without the keys that it does not need."""
        if not isinstance(witness, dict):
            return witness
        for name in list(witness):
            less = {key: value for key, value in witness.items() if key != name}
            if _is_declared(old, less) == _is_declared(old, witness) and tried(
                (self.old, old), (self.new, new), [less]
            )[0]:  # fmt: skip
                witness = less
        return witness

    # -- by structure --------------------------------------------------------------------------------------------------

    def _by_structure(self, old: Contract, new: Contract, depth: int) -> Relation:
        if depth > _DEPTH:
            return UNKNOWN
        if contract_key(old, self.old) == contract_key(new, self.new):
            return TAKEN
        if isinstance(new, ContractExpression) and new.chain is not None and new.chain.plain and not new.chain.steps:
            return TAKEN
        if isinstance(old, ContractList) and isinstance(new, ContractList):
            return self._lists(old, new, depth)
        if isinstance(old, ContractMap) and isinstance(new, ContractMap):
            return self._maps(old, new, depth)
        if isinstance(old, ContractExpression) and isinstance(new, ContractExpression):
            return self._chains(old, new)
        return UNKNOWN

    def _lists(self, old: ContractList, new: ContractList, depth: int) -> Relation:
        least, most = old.minimum or 0, old.maximum
        if (new.minimum or 0) > least:
            return self._a_list(old, least)
        if new.maximum is not None and (most is None or most > new.maximum):
            return self._a_list(old, max(least, new.maximum + 1))
        if not new.items:
            return TAKEN if new.minimum is None else UNKNOWN
        longest = max(len(old.items), len(new.items))
        for position in range(longest if most is None else min(longest, most)):
            before, after = _item(old, position), _item(new, position)
            found = self._nested(before, after, depth)
            if found.verdict is Verdict.REFUSED:
                return self._a_list(old, max(least, position + 1), position, found.witness)
            if found.verdict is Verdict.UNKNOWN:
                return UNKNOWN
        return TAKEN

    def _a_list(self, old: ContractList, size: int, at: int = -1, value: Any = None) -> Relation:
        """A list of so many items as a witness, with a value at a place; unknown where nobody can say what it takes."""
        if size > _LONGEST:
            return UNKNOWN
        items = []
        for position in range(size):
            found, item = (True, value) if position == at else self._example(_item(old, position))
            if not found:
                return UNKNOWN
            items.append(item)
        return Relation(Verdict.REFUSED, items)

    def _example(self, contract: Contract) -> tuple[bool, Any]:
        """A value that an old contract takes; (False, None) where none is found."""
        if isinstance(contract, ContractExpression) and contract.chain is not None and not runs_alone(contract):
            taken = _taken_objects(contract.chain, self.old)
            if taken is not None and taken.step.name is not None and not taken.conditions:
                if taken.definitions:
                    return True, self._definition(taken.step.name)
                if taken.null or taken.references:
                    return True, None if taken.null else self._reference(taken.step.name)
        elif runs_alone(contract):
            found = [value for value in values_for(contract) if self.old.take(contract, value).taken]
            if found:
                return True, min(found, key=lambda value: (value is None, not _is_declared(contract, value)))
        return False, None

    def _maps(self, old: ContractMap, new: ContractMap, depth: int) -> Relation:
        if new.open:
            return TAKEN
        if len(new.rest) > 1 or len(old.rest) > 1:
            return UNKNOWN
        before, after = dict(old.entries), dict(new.entries)
        pairs = [(before[name], item) for name, item in after.items() if name in before]
        for name, item in after.items():
            if name not in before:
                # What stood there was ignored, or met the contract for all others; or it was not there.
                pairs.append((old.rest[0][1] if old.rest else ANYTHING, item))
                if not runs_alone(item) or self.new.take(item, None).taken is not True:
                    return UNKNOWN
        if new.rest:
            keys, items = new.rest[0]
            for name, item in before.items():
                if name not in after:
                    pairs.append((item, items))
                    if not runs_alone(keys) or self.new.take(keys, name).taken is not True:
                        return UNKNOWN
            before_keys, before_items = old.rest[0] if old.rest else (ANYTHING, ANYTHING)
            pairs += [(before_keys, keys), (before_items, items)]
        for one, other in pairs:
            found = self._nested(one, other, depth)
            if found.verdict is Verdict.REFUSED:
                return self._a_map(old, one, found.witness)
            if found.verdict is not Verdict.TAKEN:
                return UNKNOWN
        return TAKEN

    def _a_map(self, old: ContractMap, at: Contract, witness: Any) -> Relation:
        """A mapping as a witness, with a value under the name of an entry; unknown where nobody can say what the
        others take."""
        items = {}
        for name, item in old.entries:
            found, value = (True, witness) if item is at else self._example(item)
            if not found:
                return UNKNOWN
            items[name] = value
        return Relation(Verdict.REFUSED, items) if any(item is at for _, item in old.entries) else UNKNOWN

    def _nested(self, old: Contract, new: Contract, depth: int) -> Relation:
        found = self._by_structure(old, new, depth + 1)
        if found.verdict is Verdict.UNKNOWN and old is not ANYTHING and runs_alone(old) and runs_alone(new):
            return self._with_values(old, new, found)
        return found

    def _chains(self, old: ContractExpression, new: ContractExpression) -> Relation:
        before, after = old.chain, new.chain
        if before is None or after is None or not after.plain or not before.plain:
            return UNKNOWN
        if any(isinstance(step, (OfClass, Owner)) for step in (*before.steps, *after.steps)):
            return self._objects(before, after)
        kind, checks = _simple(before)
        other, wanted = _simple(after)
        if checks is None or wanted is None:
            return UNKNOWN
        if self.old.level != self.new.level and (checks or wanted):
            return UNKNOWN  # in another dialect the same text may say something else
        if any(self.new.calls_packages(check) for check in wanted) and self.old.code != self.new.code:
            return UNKNOWN
        alone = runs_alone(old) and runs_alone(new)
        if before.nullable and (wanted or not after.nullable):
            # Null goes by itself: what conditions say of it is found out by trying, where that can be done.
            taken = alone and (self.new.take(new, None).taken or not self.old.take(old, None).taken)
            if not taken:
                return UNKNOWN
        if not wanted and other in (None, StepName.BOOL, kind):
            return TAKEN
        if any(listed(part) == (None,) for check in checks for part in conjuncts(check)):
            return TAKEN  # nothing but null
        if kind is not other:
            return UNKNOWN
        facts = Facts(kind, self.old.prefixes)
        for check in checks:
            facts.add(check)
        everything = facts.everything() if alone else None
        if everything is not None:
            refused, _ = tried((self.old, old), (self.new, new), everything)
            return Relation(Verdict.REFUSED, refused[0]) if refused else TAKEN
        doubts: list[Any] = []
        for check in wanted:
            proven, found = follows(checks, check, lambda: Facts(kind, self.old.prefixes))
            doubts += found
            if not proven:
                if not alone:
                    return UNKNOWN
                refused, _ = tried((self.old, old), (self.new, new), doubts)
                return Relation(Verdict.REFUSED, refused[0]) if refused else UNKNOWN
        return TAKEN

    def _objects(self, old: Chain, new: Chain) -> Relation:
        """Contracts of objects: by null, by class, by owner and by conditions that are the same."""
        before, after = _taken_objects(old, self.old), _taken_objects(new, self.new)
        if before is None or after is None:
            return UNKNOWN
        if before.null and not after.null:
            return Relation(Verdict.REFUSED, None) if not before.conditions else UNKNOWN
        one, other = before.step, after.step
        same = (one.template, one.default, one.version_spec, one.excluded is None) == (
            other.template, other.default, other.version_spec, other.excluded is None,
        )  # fmt: skip
        if one.name is None or other.name is None:
            return UNKNOWN
        if not before.conditions and not one.template and not other.template:
            narrower = self._narrower(one.name, other.name)
            if before.definitions and (narrower or not after.definitions):
                return Relation(Verdict.REFUSED, self._definition(one.name))
            if before.references and (narrower or not after.references):
                return Relation(Verdict.REFUSED, self._reference(one.name))
        if not self._derives(one.name, other.name) or not after.conditions <= before.conditions:
            return UNKNOWN
        owned = before.definitions <= after.definitions and before.references <= after.references
        return TAKEN if same and owned else UNKNOWN

    def _definition(self, name: str) -> Any:
        """A definition of an object of an old class as a witness."""
        kind = self.old.class_named(name)
        written = name if kind is None else f"{kind.name}/{kind.version}" if self._outdated(kind) else kind.name
        return {"?": {"type": written}}

    def _reference(self, name: str) -> str:
        """The id of an object that is elsewhere as a witness: what it is called says of which class it is."""
        kind = self.old.class_named(name)
        return str(name if kind is None else kind.name).rpartition(".")[2].rpartition(":")[2]

    def _derives(self, old: str, new: str) -> bool:
        """Whether objects of the old class are of the new one, in the new version."""
        before, after = self.old.class_named(old), self.new.class_named(new)
        if before is None or after is None or self._versions_lost(before):
            return False
        if before.name == after.name:
            return True
        moved = self._in_new_version(before.name)
        return moved is not None and any(one.name == after.name for one in moved.ancestors)

    def _versions_lost(self, kind: Any) -> bool:
        """Whether the new package may take fewer versions of the package that a class comes from."""
        if kind.package.name == self.old.kind.package.name:
            return False
        before, after = required_versions(kind, self.old), required_versions(kind, self.new)
        return before != after and (before is None or after is None or lost_version(before, after) is not None)

    def _outdated(self, kind: Any) -> bool:
        """Whether the new package no longer takes this version of a class of others."""
        after = required_versions(kind, self.new)
        foreign = kind.package.name != self.old.kind.package.name
        return foreign and after is not None and not parse_spec(after).match(kind.version)

    def _narrower(self, old: str, new: str) -> bool:
        """Whether objects of exactly the old class are refused for certain."""
        before, after = self.old.class_named(old), self.new.class_named(new)
        if before is None or after is None:
            return False
        if before.name == after.name:
            return self._outdated(before)
        moved = self._in_new_version(before.name)
        return moved is not None and not any(one.name == after.name for one in moved.ancestors)

    def _in_new_version(self, name: str) -> Any:
        return self.new.class_named(f":{name}" if "." not in name else name)


@dataclass(frozen=True, slots=True)
class _Objects:
    """What a contract of objects takes: null, definitions (whoever has one owns it), and references to others."""

    step: OfClass
    null: bool
    definitions: bool
    references: bool
    #: Conditions besides, which nobody can tell the meaning of: their keys, and what else they depend on.
    conditions: frozenset[Any]


#: Conditions that say what ``notNull()`` says.
_NOT_NULL = frozenset(key(parse(text, MURANO), {}) for text in ("$ != null", "null != $"))


def _taken_objects(chain: Chain, side: Side) -> _Objects | None:
    """What a chain with one class takes; None for other chains."""
    classes = [step for step in chain.steps if isinstance(step, OfClass)]
    if len(classes) != 1 or any(isinstance(step, Convert) for step in chain.steps):
        return None
    parts = [
        part
        for step in chain.steps
        if isinstance(step, Check) and step.predicate is not None
        for part in conjuncts(step.predicate)
    ]
    rest = [part for part in parts if key(part, side.prefixes) not in _NOT_NULL]
    owners = {step.owned for step in chain.steps if isinstance(step, Owner)}
    return _Objects(
        classes[0],
        chain.nullable and len(rest) == len(parts),
        False not in owners,
        True not in owners,
        frozenset((key(part, side.prefixes), meaning(part, side, objects=True)) for part in rest),
    )


def _item(contract: ContractList, position: int) -> Contract:
    """The contract for a place of a list."""
    return contract.items[min(position, len(contract.items) - 1)] if contract.items else ANYTHING


def _simple(chain: Chain) -> tuple[StepName | None, list[Any] | None]:
    """The kind and the conditions of a chain that converts at its begin only; None for the conditions of others."""
    steps = chain.steps
    kind = steps[0].name if steps and isinstance(steps[0], Convert) else None
    rest = steps[1:] if kind is not None else steps
    checks = []
    for step in rest:
        if isinstance(step, Check) and step.predicate is not None:
            checks.append(step.predicate)
        elif not isinstance(step, NotNull):
            return kind, None
    return kind, checks


def _is_declared(contract: Contract, value: Any) -> bool:
    """Whether a value is of the kind that a contract names, so that it needs no conversion."""
    if isinstance(contract, ContractList):
        return isinstance(value, list) and all(
            not contract.items or _is_declared(contract.items[min(i, len(contract.items) - 1)], item)
            for i, item in enumerate(value)
        )
    if isinstance(contract, ContractMap):
        if not isinstance(value, dict):
            return False
        entries = dict(contract.entries)
        rest = contract.rest[0][1] if contract.rest else None
        for name, item in value.items():
            part = entries.get(name, rest)
            if part is None:
                if not contract.open:
                    return False
            elif not _is_declared(part, item):
                return False
        return True
    if isinstance(contract, ContractExpression) and contract.chain is not None:
        wanted = {StepName.INT: int, StepName.STRING: str, StepName.BOOL: bool}.get(contract.chain.kind)  # type: ignore[arg-type]
        return value is None or wanted is None or value.__class__ is wanted
    return True
