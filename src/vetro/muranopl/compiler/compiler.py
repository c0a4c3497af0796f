"""MuranoPL bodies, contracts and defaults compiled to Python functions.

Each function's code object is named after the YAML file and carries its lines and columns. Compiled code plus the
plain-data description of its globals is cached by content (`unit.py`). Where the cache has everything, nothing is
compiled: what makes syntax trees is loaded by the first function that has to be compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vetro.muranopl.compiler.unit import Unit, bind_unit, cached, compile_unit
from vetro.muranopl.contracts.model import Contract
from vetro.muranopl.declarations.tree import Literal, MethodDecl

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass


class Compiler:
    """Compiles what a session asks for. Has no state of its own."""

    def method(self, decl: MethodDecl, owner: LinkedClass) -> Callable[..., Any]:
        """The function ``(this, v_arg…)`` for a method body, contracts of its arguments included."""
        return cached(owner, "m:" + decl.name, decl.position.file, lambda: _method_unit(decl, owner))

    def contract(self, contract: Contract, owner: LinkedClass, *, strict: bool, name: str) -> Callable[[Any, Any], Any]:
        """The function ``(value, this) -> value`` of a contract; ``strict`` only validates (SEMANTICS 5.3)."""
        position = contract.position
        key = f"c:{position.line}:{position.column}:{int(strict)}:{name}"
        return cached(owner, key, position.file, lambda: _contract_unit(contract, owner, strict, name))

    def template(self, template: Any, owner: LinkedClass) -> Any:
        """The value of a template in the names of ``owner``, which need not be its own: nothing is cached by place."""
        if isinstance(template, Literal):
            return template.value
        unit = _default_unit(template, owner)
        return bind_unit(compile_unit(unit, template.position.file), unit.links, owner)(owner.type_object)

    def default(self, default: Any, owner: LinkedClass) -> Callable[[Any], Any]:
        """The function ``(this) -> value`` of a ``Default``; none declared gives null."""
        if not hasattr(default, "position"):
            return lambda this: None
        if isinstance(default, Literal):
            value = default.value
            return lambda this: value
        position = default.position
        key = f"d:{position.line}:{position.column}"
        return cached(owner, key, position.file, lambda: _default_unit(default, owner))


def _method_unit(decl: MethodDecl, owner: LinkedClass) -> Unit:
    from vetro.muranopl.compiler.methods import method_unit

    return method_unit(decl, owner)


def _contract_unit(contract: Contract, owner: LinkedClass, strict: bool, name: str) -> Unit:
    from vetro.muranopl.compiler.contracts import contract_unit

    return contract_unit(contract, owner, strict, name)


def _default_unit(template: Any, owner: LinkedClass) -> Unit:
    from vetro.muranopl.compiler.methods import default_unit

    return default_unit(template, owner)
