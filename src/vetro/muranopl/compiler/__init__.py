"""MuranoPL bodies, contracts and defaults compiled to Python functions.

Each function's code object is named after the YAML file and carries its lines and columns. Compiled code plus the
plain-data description of its globals is cached by content (`unit.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vetro.muranopl.contracts.model import Contract
from vetro.muranopl.declarations.tree import Literal, MethodDecl

if TYPE_CHECKING:
    from vetro.muranopl.types.murano_type import MuranoType


def compile_method(decl: MethodDecl, owner: MuranoType) -> Callable[..., Any]:
    """The function ``(this, v_arg…)`` for a method body, contracts of its arguments included."""
    from vetro.muranopl.compiler.methods import method_unit
    from vetro.muranopl.compiler.unit import cached

    return cached(owner, "m:" + decl.name, decl.position.file, lambda: method_unit(decl, owner))


def compile_contract(contract: Contract, owner: MuranoType, *, strict: bool, name: str) -> Callable[[Any, Any], Any]:
    """The function ``(value, this) -> value`` of a contract; ``strict`` only validates (SEMANTICS 5.3)."""
    from vetro.muranopl.compiler.contracts import contract_unit
    from vetro.muranopl.compiler.unit import cached

    position = contract.position
    key = f"c:{position.line}:{position.column}:{int(strict)}:{name}"
    return cached(owner, key, position.file, lambda: contract_unit(contract, owner, strict, name))


def evaluate_template(template: Any, owner: MuranoType) -> Any:
    """The value of a template in the names of ``owner``, which need not be its own: nothing is cached by place."""
    if isinstance(template, Literal):
        return template.value
    from vetro.muranopl.compiler.methods import default_unit
    from vetro.muranopl.compiler.unit import bind_unit, compile_unit

    unit = default_unit(template, owner)
    return bind_unit(compile_unit(unit, template.position.file), unit.links, owner)(owner.type_object)


def compile_default(default: Any, owner: MuranoType) -> Callable[[Any], Any]:
    """The function ``(this) -> value`` of a ``Default``; none declared gives null."""
    if not hasattr(default, "position"):
        return lambda this: None
    if isinstance(default, Literal):
        value = default.value
        return lambda this: value
    from vetro.muranopl.compiler.methods import default_unit
    from vetro.muranopl.compiler.unit import cached

    position = default.position
    return cached(owner, f"d:{position.line}:{position.column}", position.file, lambda: default_unit(default, owner))
