"""Calls: library functions resolved at compile time, pipelines fused into comprehensions.

A call site is resolved once per *shape* (name, style, number of positional arguments, keyword names) into a `Plan`
(`vetro.yaql.resolve.dispatchers`), which says which arguments are lazy and offers one Python function for the whole
shape.
"""

from __future__ import annotations

import ast as py
from typing import TYPE_CHECKING, Any

from vetro.yaql import ast
from vetro.yaql.closures.arguments import PAIR_TAKERS
from vetro.yaql.codegen import pyast as b
from vetro.yaql.codegen.base import SCALAR_KINDS, BaseEmitter, Code, Scope, Unsupported, all_builtin, has_rules
from vetro.yaql.codegen.formats import emit_format
from vetro.yaql.codegen.plans import narrowed, plan_for
from vetro.yaql.codegen.queries import emit_pipeline
from vetro.yaql.resolve.shape import KNOWN

if TYPE_CHECKING:
    from vetro.yaql.resolve.dispatchers import Plan

Form = tuple[str, str, int, tuple[str, ...], tuple[tuple[int, Any], ...]]

#: Functions that make or use contexts: only the closure tier has environments.
DYNAMIC = frozenset({"let", "with", "def", "call", "lambda", "unpack", "as", "#call", "#get_context_data"})
#: Functions that want so many of their selectors for all items at once (the receiver counts).
BATCHED = {"orderBy": 2, "orderByDescending": 2, "thenBy": 2, "thenByDescending": 2, "groupBy": 3}
#: What some functions return, for guards further out.
RESULTS = {
    "len": "int", "str": "str", "int": "int", "bool": "bool", "toUpper": "str", "toLower": "str", "isEmpty": "bool",
    "startsWith": "bool", "endsWith": "bool", "toList": "tuple", "split": "tuple", "trim": "str", "indexOf": "int",
    "count": "int", "any": "bool", "all": "bool", "contains": "bool", "containsKey": "bool", "toDict": "map",
    "isString": "bool", "isInteger": "bool", "isList": "bool", "isDict": "bool", "isNumber": "bool",
    "isBoolean": "bool",
    "format": "str", "list": "tuple", "dict": "map", "regex": "regex", "matches": "bool", "join": "str",
    "replaceBy": "str", "substring": "str", "trimLeft": "str", "trimRight": "str", "lastIndexOf": "int",
}  # fmt: skip


def shape(args: tuple[ast.Node, ...]) -> tuple[list[ast.Node], list[tuple[str, ast.Node]]]:
    """(positional, keyword) arguments of a normal call. Raises `Unsupported` for what only closures handle."""
    positional: list[ast.Node] = []
    named: dict[str, ast.Node] = {}
    for arg in args:
        if isinstance(arg, ast.Empty):
            raise Unsupported
        if isinstance(arg, ast.Pair):
            if not (isinstance(arg.key, ast.Constant) and arg.key.bare):
                raise Unsupported
            named[str(arg.key.value)] = arg.value
        else:
            positional.append(arg)
    return positional, list(named.items())


def constants(nodes: list[ast.Node]) -> tuple[tuple[int, object], ...]:
    """(index, value) of the literal arguments: their types take part in resolution (YAQL.md 3.3, step 4)."""
    return tuple((i, n.value) for i, n in enumerate(nodes) if isinstance(n, ast.Constant))


def emit_call(em: BaseEmitter, node: ast.Call, scope: Scope) -> Code:
    """``name(args)``."""
    hosted = em.host_call(node, scope)
    if hosted is not None:
        return hosted
    if node.name in DYNAMIC:
        raise Unsupported
    layers = em.dialect.table.layers(node.name, "F")
    if has_rules(layers):
        return _rules(em, node, scope)
    builtin = bool(layers) and all_builtin(layers)
    if node.name == "format" and builtin:
        quick = emit_format(em, node, scope)
        if quick is not None:
            return quick
    positional, named = shape(node.args)
    if node.name == "regex" and len(positional) == 1 and not named and _result(em, "regex", "F", ["str"]) == "regex":
        pattern = positional[0]
        if isinstance(pattern, ast.Constant) and isinstance(pattern.value, str):
            return Code(b.call(em.link("_r", "regex", pattern.value)), "regex")
    if node.name == "len" and builtin and len(positional) == 1 and not named:
        return _len(em, em.emit(positional[0], scope), positional[0])
    if node.name == "str" and builtin and len(positional) == 1 and not named:
        return _str(em, em.emit(positional[0], scope))
    return planned(em, node.name, "F", positional, named, scope, [])


def planned(
    em: BaseEmitter,
    name: str,
    style: str,
    positional: list[ast.Node],
    named: list[tuple[str, ast.Node]],
    scope: Scope,
    receiver: list[Code],
) -> Code:
    """A call through the plan of its shape; ``receiver`` holds the already emitted receiver of a method.

    Where classes of arguments are known, a plan without their tests is called.
    """
    if em.dialect.legacy and named and name in PAIR_TAKERS:
        raise Unsupported
    shift = len(receiver)
    literal = tuple((i + shift, v) for i, v in constants(positional))
    keywords = tuple(n for n, _ in named)
    form = (name, style, shift + len(positional), keywords, literal)
    plan = plan_for(em.dialect, *form)
    if plan.error is not None or plan.needs_env:
        raise Unsupported
    codes = [*receiver]
    for (lazy, arity), arg in zip(plan.lazy[shift:], [*positional, *(v for _, v in named)], strict=True):
        if not lazy:
            codes.append(em.emit(arg, scope))
        elif arity is None:
            raise Unsupported
        else:
            batch = name in BATCHED and arity == 1 and len(codes) < BATCHED[name]
            codes.append(Code(em.lambda_(arg, scope, arity, batch=batch), "lambda"))
    literals = dict(literal)
    kinds = tuple((i, c.kind) for i, c in enumerate(codes) if c.kind in KNOWN and i not in literals)
    if kinds and not narrowed(em.dialect, plan, form, kinds):
        kinds = ()
    site: py.expr = b.name(em.link("_p", "plan", *form, *([kinds] if kinds else [])))
    guess = (
        None
        if not shift or receiver[0].kind not in ("any", "frozen") or not receiver[0].simple
        else _likely(em, plan, form, kinds)
    )
    if guess is not None:
        quick = em.link("_p", "plan", *form, ((0, guess), *kinds))
        site = b.ternary(b.is_class(receiver[0].node, _CLASSES[guess]), b.name(quick), site)
    return Code(b.call(site, b.name("cx"), *(c.node for c in codes)), _result(em, name, style, [c.kind for c in codes]))


def _result(em: BaseEmitter, name: str, style: str, arguments: list[str]) -> str:
    """The kind of a library function's result; a host may have put other functions beside ours."""
    if name == "join" and len(arguments) != 2:
        return "any"
    # Lists and dates have a function of that name as well.
    kind = "str" if name == "replace" and arguments[0] in ("str", "regex") else RESULTS.get(name, "any")
    return kind if kind == "any" or all_builtin(em.dialect.table.layers(name, style)) else "any"


#: Kinds of receivers that are worth a test in line, and the names of their classes.
_CLASSES = {"str": "str", "tuple": "tuple", "map": "_FD"}


def _likely(em: BaseEmitter, plan: Plan, form: Form, kinds: tuple[tuple[int, str], ...]) -> str | None:
    """The only kind of receiver that has such a method, if there is just one."""
    fitting = [kind for kind in _CLASSES if narrowed(em.dialect, plan, form, ((0, kind), *kinds))]
    return fitting[0] if len(fitting) == 1 else None


def _rules(em: BaseEmitter, node: ast.Call, scope: Scope) -> Code:
    """``switch(c => v, …)`` becomes a conditional expression, ``dict(k => v, …)`` a mapping."""
    if em.dialect.legacy or not all(isinstance(a, ast.Pair) for a in node.args) or not node.args:
        raise Unsupported
    if not all_builtin(em.dialect.table.layers(node.name, "F")):
        raise Unsupported
    if node.name == "dict":
        return em.mapping(node.args, scope)
    if node.name != "switch":
        raise Unsupported
    result: py.expr = b.const(None)
    kinds = {"null"}
    for pair in reversed(node.args):
        assert isinstance(pair, ast.Pair)
        value = em.emit(pair.value, scope)
        kinds.add(value.kind)
        result = b.ternary(em.emit(pair.key, scope).node, value.node, result)
    return Code(result, "scalar" if kinds <= SCALAR_KINDS else "any")


def _len(em: BaseEmitter, value: Code, node: ast.Node) -> Code:
    """Length of text, lists and mappings in line."""
    if value.kind in ("str", "tuple", "map"):
        return Code(b.call("len", value.node), "int")
    site = em.link("_p", "plan", "len", "F", 1, (), constants([node]))
    first, again = em.bind_once(value)
    test = py.Compare(b.attr(first, "__class__"), [py.In()], [b.name("_SIZED")])
    return Code(b.ternary(test, b.call("len", again.node), b.call(site, b.name("cx"), again.node)), "int")


def _str(em: BaseEmitter, value: Code) -> Code:
    """Text of an integer in line."""
    if value.kind == "str":
        return value
    site = em.link("_p", "plan", "str", "F", 1, (), ())
    if value.kind == "int":
        return Code(b.call("str", value.node), "str")
    first, again = em.bind_once(value)
    slow = b.call(site, b.name("cx"), again.node)
    return Code(b.ternary(b.is_class(first, "int"), b.call("str", again.node), slow), "str")


def emit_method_call(em: BaseEmitter, node: ast.MethodCall, scope: Scope) -> Code:
    """``receiver.name(args)``."""
    if isinstance(node.receiver, ast.MethodCall) and node.receiver.name == "as":
        raise Unsupported  # its variables are in scope, and only the closure tier has environments
    hosted = em.host_method(node, scope)
    if hosted is not None:
        return hosted
    if node.name in DYNAMIC or node.safe or em.has_extension(node.name):
        raise Unsupported
    layers = em.dialect.table.layers(node.name, "M")
    if not layers or has_rules(layers):
        raise Unsupported
    builtin = all_builtin(layers)
    fused = emit_pipeline(em, node, scope) if builtin else None
    if fused is not None:
        return fused
    positional, named = shape(node.args)
    receiver = em.emit(node.receiver, scope)
    if node.name == "len" and builtin and not positional and not named and receiver.kind in ("str", "tuple", "map"):
        return _len(em, receiver, node.receiver)
    if not em.hosted or receiver.kind in SCALAR_KINDS or receiver.kind in ("tuple", "map", "lazy", "regex"):
        return planned(em, node.name, "M", positional, named, scope, [receiver])
    # The receiver may turn out to be an object of the host that has such a method: then the closure tier takes over.
    first, again = em.bind_once(receiver)
    made = planned(em, node.name, "M", positional, named, scope, [again])
    other = em.closure_site(node, scope, node.receiver, again.node)
    kind = made.kind if made.kind == other.kind else "any"
    test: py.expr = b.call("_library", b.name("cx"), first, b.const(node.name))
    if isinstance(made.node, py.Call) and isinstance(made.node.func, py.IfExp):
        # The likely class is tested in line first; then the receiver is bound by that test.
        likely = made.node.func.test
        assert isinstance(likely, py.Compare)
        test = b.either(b.compare_like(likely, first), b.call("_library", b.name("cx"), again.node, b.const(node.name)))
    return Code(b.ternary(test, made.node, other.node), kind)
