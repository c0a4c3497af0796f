"""Contract functions for expressions that are no plain chain (``$.int() or 5``): a layer over the class's library."""

from __future__ import annotations

import dataclasses
import sys
from functools import cache
from typing import Any

from vetro.muranopl.compiler import runtime
from vetro.muranopl.contracts import runtime as contracts
from vetro.muranopl.contracts.model import STEP_NAMES
from vetro.muranopl.errors import ContractViolation
from vetro.muranopl.runtime.protocol import MuranoContext
from vetro.yaql.context import Dialect
from vetro.yaql.resolve.signature import FunctionTable, Param, Type, function

VALUE = Param("value", Type.ANY)


@dataclasses.dataclass(slots=True, eq=False)
class ContractContext(MuranoContext):
    """The context of a running contract: knows the receiver and whether values may be converted."""

    this: Any = None
    strict: bool = False
    argument: bool = False


def contract_context(cx: MuranoContext, this: Any, strict: bool, argument: bool = False) -> ContractContext:
    """``cx`` with the contract functions on top of its library."""
    return ContractContext(
        rt=cx.rt,
        dialect=_dialect(cx.dialect),
        session=cx.session,
        type=cx.type,
        this=this,
        strict=strict,
        argument=argument,
    )


@cache
def _dialect(base: Dialect) -> Dialect:
    table = FunctionTable(parent=base.table)
    table.add_module(sys.modules[__name__])
    table.exclusive.update(STEP_NAMES)
    return dataclasses.replace(base, name=base.name + "+contract", table=table)


def _convert(cx: Any, value: Any, name: str) -> Any:
    if cx.strict:
        wanted = {"int": int, "string": str, "bool": bool}[name]
        if value is not None and value.__class__ is not wanted:
            getattr(runtime, "_strict_" + name)(value)
        return value
    return None if value is None else getattr(contracts, "to_" + name)(value)


@function("int", style="M", params=(VALUE,))
def contract_int(cx: Any, value: Any) -> Any:
    """Integers, or what converts to one."""
    return _convert(cx, value, "int")


@function("string", style="M", params=(VALUE,))
def contract_string(cx: Any, value: Any) -> Any:
    """Text, or what converts to it."""
    return _convert(cx, value, "string")


@function("bool", style="M", params=(VALUE,))
def contract_bool(cx: Any, value: Any) -> Any:
    """Truth value."""
    return _convert(cx, value, "bool")


@function("notNull", style="M", params=(VALUE,))
def contract_not_null(value: Any) -> Any:
    """Anything but null."""
    if value is None:
        raise ContractViolation("a value is required, got null")
    return value


@function("check", style="M", params=(VALUE, Param("predicate", Type.LAMBDA), Param("msg", Type.STR, None)))
def contract_check(value: Any, predicate: Any, msg: str | None = None) -> Any:
    """The value when the predicate holds for it."""
    if not predicate(value):
        raise ContractViolation(msg or f"value {runtime.show(value)} does not satisfy the check")
    return value


_CLASS = (VALUE, Param("name", Type.ANY), Param("defaultName", Type.ANY, None), Param("versionSpec", Type.STR, None))


@function("class", style="M", params=_CLASS)
def contract_class(cx: Any, value: Any, name: Any, default_name: Any = None, version_spec: str | None = None) -> Any:
    """An object of a class, an id of one, or its definition."""
    if value is None:
        return None
    target = cx.resolve(name, version_spec)
    if cx.strict:
        return runtime._strict_class(value, cx, cx.this, lambda: target, None, version_spec)
    default = cx.resolve(default_name) if default_name is not None else None
    return contracts.to_class(value, cx, cx.this, target, default, version_spec, argument=cx.argument)


@function("template", style="M", params=(*_CLASS, Param("excludeProperties", Type.SEQ, ())))
def contract_template(
    cx: Any,
    value: Any,
    name: Any,
    default_name: Any = None,
    version_spec: str | None = None,
    exclude_properties: Any = (),
) -> Any:
    """A complete object definition, checked without creating the object."""
    if value is None:
        return None
    target = cx.resolve(name, version_spec)
    default = cx.resolve(default_name) if default_name is not None else None
    return contracts.to_template(value, cx, cx.this, target, default, version_spec, exclude_properties)


@function("owned", style="M", params=(VALUE,))
def contract_owned(cx: Any, value: Any) -> Any:
    """An object that the receiver owns."""
    return contracts.owned(value, cx.this)


@function("notOwned", style="M", params=(VALUE,))
def contract_not_owned(cx: Any, value: Any) -> Any:
    """An object that the receiver does not own."""
    return contracts.not_owned(value, cx.this)
