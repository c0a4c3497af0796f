"""The steps of a contract's expression: `chain_of` is the one place that looks at its tree for them."""

from __future__ import annotations

from typing import Any, Final

from vetro.muranopl.contracts.model import (
    Chain,
    Check,
    Convert,
    NotNull,
    OfClass,
    OtherMethod,
    Owner,
    Step,
    StepName,
)
from vetro.yaql import ast

#: Parameters of `class` and `template` by position.
_PARAMETERS: Final = {
    StepName.CLASS: ("name", "defaultName", "versionSpec"),
    StepName.TEMPLATE: ("name", "defaultName", "versionSpec", "excludeProperties"),
}
_CONVERSIONS: Final = {str(name): name for name in (StepName.INT, StepName.STRING, StepName.BOOL)}

#: Chains by the identity of their tree; the trees of equal texts are one object (`scalars`). Cleared when full.
_MEMO: dict[int, tuple[ast.Node, Chain | None]] = {}
_MEMO_SIZE: Final = 4096


def chain_of(node: ast.Node) -> Chain | None:
    """The steps of ``$.a().b()`` or ``$.a() or …``; None for every other expression."""
    known = _MEMO.get(id(node))
    if known is not None and known[0] is node:
        return known[1]
    made = _resolved(node)
    if len(_MEMO) >= _MEMO_SIZE:
        _MEMO.clear()
    _MEMO[id(node)] = node, made
    return made


def _resolved(node: ast.Node) -> Chain | None:
    alternative = False
    while isinstance(node, ast.Binary) and node.op == "or":
        node, alternative = node.left, True
    calls: list[ast.MethodCall] = []
    while isinstance(node, ast.MethodCall):
        calls.append(node)
        node = node.receiver
    if not (isinstance(node, ast.Variable) and node.name == "1"):
        return None
    steps = tuple(_step(call) for call in reversed(calls))
    return Chain(steps, alternative, any(call.safe for call in calls))


def _step(call: ast.MethodCall) -> Step:
    name, bare = call.name, not call.args
    if name in _CONVERSIONS:
        return Convert(call, bare, _CONVERSIONS[name])
    if name == StepName.NOT_NULL:
        return NotNull(call, bare)
    if name == StepName.CHECK:
        return _check(call)
    if name in (StepName.CLASS, StepName.TEMPLATE):
        return _of_class(call, StepName(name))
    if name in (StepName.OWNED, StepName.NOT_OWNED):
        return Owner(call, bare, name == StepName.OWNED)
    return OtherMethod(call, False)


def _check(call: ast.MethodCall) -> Check:
    """Sound with a predicate and perhaps a message, by position."""
    given, _ = _bound(call, ("predicate", "msg"))
    sound = 1 <= len(call.args) <= 2 and not any(isinstance(arg, (ast.Pair, ast.Empty)) for arg in call.args)
    return Check(call, sound, given.get("predicate"), given.get("msg"))


def _of_class(call: ast.MethodCall, step: StepName) -> OfClass:
    """Sound where names and version are written as such and every argument has a place."""
    given, sound = _bound(call, _PARAMETERS[step])
    name, default = class_name_of(given.pop("name", None)), None
    if "defaultName" in given or "default" in given:
        default_node = given.pop("default", None)
        default = class_name_of(given.pop("defaultName", default_node))
    spec_node, spec = given.pop("versionSpec", None), None
    if isinstance(spec_node, ast.Constant):
        spec = spec_node.value
    elif spec_node is not None:
        sound = False
    excluded = given.pop("excludeProperties", None)
    if excluded is not None and (step is StepName.CLASS or not isinstance(excluded, ast.ListDisplay)):
        sound = False
    sound = sound and name is not None and not given
    return OfClass(call, sound, step is StepName.TEMPLATE, name, default, spec, excluded)


def _bound(call: ast.MethodCall, names: tuple[str, ...]) -> tuple[dict[str, ast.Node], bool]:
    """Arguments by name; whether all of them have one."""
    given: dict[str, ast.Node] = {}
    sound = True
    for index, arg in enumerate(call.args):
        if isinstance(arg, ast.Pair) and isinstance(arg.key, ast.Constant):
            given[str(arg.key.value)] = arg.value
        elif isinstance(arg, (ast.Pair, ast.Empty)) or index >= len(names):
            sound = False
        else:
            given[names[index]] = arg
    return given, sound


def class_name_of(node: Any) -> str | None:
    """The class name that ``Word``, ``'a.b.C'``, ``p:Word`` or ``:Word`` spells; None for other expressions."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    return qualified_name(node)


def qualified_name(node: Any) -> str | None:
    """The class name that ``p:Word`` or ``:Word`` spells; None for other expressions, also for ``Word``."""
    if isinstance(node, ast.Unary) and node.op == ":" and isinstance(node.operand, ast.Constant):
        return f":{node.operand.value}"
    if isinstance(node, ast.Binary) and node.op == ":":
        prefix, word = node.left, node.right
        if isinstance(prefix, ast.Constant) and isinstance(word, ast.Constant):
            return f"{prefix.value}:{word.value}"
    return None
