"""Kinds of a method's variables, so that loops over integers run without guards.

A variable has the kind ``int`` (or ``str``, ``tuple``…) when it is set before anything reads it and every assignment
gives that kind. The first guess (everything assigned has the kind of its first assignment) is refined until nothing
changes; whatever is uncertain stays ``frozen``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from vetro.muranopl.compiler.variables import blocks_of, branch_block, target_variable, walk_instructions
from vetro.muranopl.declarations import tree as d
from vetro.yaql import ast
from vetro.yaql.codegen import Code, Scope

if TYPE_CHECKING:
    from vetro.muranopl.compiler.emitter import MuranoEmitter

TRACKED = frozenset({"int", "str", "bool", "tuple", "map", "regex"})


class TemplateCompiler(Protocol):
    """Who compiles the values that variables get."""

    em: MuranoEmitter

    def template(self, template: d.Template, scope: Scope) -> Code: ...


def infer_kinds(compiler: TemplateCompiler, scope: Scope, decl: d.MethodDecl, arguments: dict[str, str]) -> Scope:
    """``scope`` with the kinds of local variables filled in."""
    assigned: dict[str, list[d.Template | None]] = {}
    for instruction in walk_instructions(decl.body):
        if isinstance(instruction, d.Parallel):
            return scope  # branches interleave: definite assignment is not a matter of file order
        if isinstance(instruction, d.Assign):
            name = target_variable(instruction.target.node)
            if name is None:
                continue
            plain = isinstance(instruction.target.node, ast.Variable)
            assigned.setdefault(name, []).append(instruction.value if plain else None)
        elif isinstance(instruction, d.For):
            counted = _counts(instruction.collection)
            assigned.setdefault(instruction.variable, []).append(counted)
        elif isinstance(instruction, d.Try):
            for handler in instruction.handlers:
                if handler.variable is not None:
                    assigned.setdefault(handler.variable, []).append(None)
    candidates = {n for n, values in assigned.items() if None not in values and n not in ("1", "this")}
    unset = _read_before_set(decl.body, set(arguments))
    candidates -= unset
    kinds: dict[str, str] = dict.fromkeys(candidates, "?")
    for _ in range(8):
        changed = False
        trial = _with(scope, {n: ("int" if k == "?" else k) for n, k in kinds.items()})
        for name in sorted(candidates):
            found = set()
            for value in assigned[name]:
                assert value is not None
                found.add("int" if value is COUNTER else compiler.template(value, trial).kind)
            if name in arguments:
                found.add(arguments[name])
            kind = found.pop() if len(found) == 1 else "frozen"
            if kind not in TRACKED:
                kind = "frozen"
            if kinds[name] != kind:
                kinds[name] = kind
                changed = True
        if not changed:
            break
    else:
        return scope
    compiler.em.links.clear()
    compiler.em._link_names.clear()
    compiler.em._temps = 0
    return _with(scope, kinds)


#: Stands for the variable of a loop over ``range``.
COUNTER = d.Literal(0, d.Position("", 0, 0))


def _counts(collection: d.Template) -> d.Template | None:
    if isinstance(collection, d.Expression):
        node = collection.node
        if isinstance(node, ast.Call) and node.name == "range":
            return COUNTER
    return None


def _with(scope: Scope, kinds: dict[str, str]) -> Scope:
    names = dict(scope.names)
    for name, kind in kinds.items():
        if name in names:
            names[name] = (names[name][0], kind)
    return Scope(names, scope.fallback)


def _reads(template: d.Template | None) -> set[str]:
    if isinstance(template, d.Expression):
        return {n.name for n in ast.walk(template.node) if isinstance(n, ast.Variable)}
    if isinstance(template, d.ListTemplate):
        return set().union(*(_reads(i) for i in template.items)) if template.items else set()
    if isinstance(template, d.MapTemplate):
        found: set[str] = set()
        for key, value in template.pairs:
            found |= _reads(key) | _reads(value)
        return found
    return set()


def _read_before_set(block: d.Block, known: set[str]) -> set[str]:
    """Variables that some path may read before they are assigned."""
    early: set[str] = set()
    _scan(block, known, early)
    return early


def _scan(block: d.Block, known: set[str], early: set[str]) -> set[str]:
    """Adds early reads to ``early``; returns what is set for sure after the block."""
    known = set(known)
    for i in block:
        match i:
            case d.Evaluate(expression=e):
                early |= _reads(e) - known
            case d.Assign(target=target, value=value):
                early |= _reads(value) - known
                if isinstance(target.node, ast.Variable):
                    known.add(target.node.name)
                else:
                    early |= _reads(target) - known
            case d.Return(value=value):
                early |= _reads(value) - known
            case d.If(condition=c, then=then, orelse=orelse):
                early |= _reads(c) - known
                known |= _scan(then, known, early) & _scan(orelse, known, early)
            case d.While(condition=c, body=body):
                early |= _reads(c) - known
                _scan(body, known, early)
            case d.For(variable=v, collection=c, body=body):
                early |= _reads(c) - known
                _scan(body, known | {v}, early)
            case d.Repeat(count=c, body=body):
                early |= _reads(c) - known
                _scan(body, known, early)
            case d.Do(body=body):
                known = _scan(body, known, early)
            case d.Match(value=value, cases=cases, default=default):
                early |= _reads(value) - known
                for _, branch in cases:
                    _scan(branch_block(branch), known, early)
                if default is not None:
                    _scan(branch_block(default), known, early)
            case d.Switch(cases=conditions, default=default):
                for condition, branch in conditions:
                    early |= _reads(condition) - known
                    _scan(branch_block(branch), known, early)
                if default is not None:
                    _scan(branch_block(default), known, early)
            case d.Throw(names=names, message=m, extra=x, cause=c):
                for part in (names, m, x, c):
                    early |= _reads(part) - known
            case _:
                for inner in blocks_of(i):
                    _scan(inner, known, early)
    return known


__all__ = ["infer_kinds"]
