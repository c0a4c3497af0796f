"""What generated MuranoPL code calls by name, besides the helpers of the expression layer.

Conversions and violations of contracts, assignment along a path, exceptions. Everything that needs objects imports it
when called, so that this module stays light.
"""

from __future__ import annotations

import collections.abc as abc
from typing import Any

from vetro.muranopl.contracts import runtime as contracts
from vetro.muranopl.errors import (
    AssignmentToCall,
    AssignmentToThis,
    ContractSyntax,
    ContractViolation,
    InvalidAssignmentTarget,
    LoopControlOutside,
    StructuralViolation,
    Thrown,
    UninitializedProperty,
)
from vetro.muranopl.runtime import exceptions
from vetro.muranopl.types.access import write_property
from vetro.yaql.errors import MemoryQuotaExceeded
from vetro.yaql.values import FROZEN, MISSING, SCALARS, FDict, FSet, HostObject, check_depth, freeze

# -- contracts ---------------------------------------------------------------------------------------------------------


show = contracts.show


def _null_violation() -> None:
    raise ContractViolation("a value is required, got null")


def _need_int(value: Any) -> int:
    if value is None:
        _null_violation()
    return contracts.to_int(value)  # type: ignore[return-value]


def _need_string(value: Any) -> str:
    if value is None:
        _null_violation()
    return contracts.to_string(value)  # type: ignore[return-value]


def _need_bool(value: Any) -> bool:
    if value is None:
        _null_violation()
    return contracts.to_bool(value)  # type: ignore[return-value]


def _strict_int(value: Any) -> Any:
    raise ContractViolation(f"an integer is required, got {show(value)}")


def _strict_string(value: Any) -> Any:
    raise ContractViolation(f"text is required, got {show(value)}")


def _strict_bool(value: Any) -> Any:
    raise ContractViolation(f"a boolean is required, got {show(value)}")


def _check_failed(value: Any, text: str, message: Any = None) -> None:
    if message is not None:
        raise ContractViolation(str(message))
    raise ContractViolation(f"value {show(value)} does not satisfy check({text})")


def _literal_violation(value: Any, expected: Any) -> None:
    raise StructuralViolation(f"value {show(value)} must be {show(expected)}")


def _items(rt: Any, value: Any) -> tuple[Any, ...]:
    if value.__class__ is list:  # what comes from outside; the tests below take many times as long
        return tuple(value)
    if value is None:
        return ()
    if isinstance(value, (str, abc.Mapping, HostObject)) or not isinstance(value, abc.Iterable):
        return (value,)
    if isinstance(value, FSet):
        return tuple(value)
    frozen = freeze(value, rt.limits.max_sequence)
    return frozen if isinstance(frozen, tuple) else tuple(frozen)


def _freeze_items(rt: Any, value: tuple[Any, ...]) -> Any:
    return freeze(list(value), rt.limits.max_sequence)


def _strict_items(rt: Any, value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    if isinstance(value, (str, abc.Mapping, HostObject)) or not isinstance(value, abc.Iterable):
        raise StructuralViolation(f"a list is required, got {show(value)}")
    return tuple(value)


def _check_length(value: tuple[Any, ...], minimum: int | None, maximum: int | None) -> None:
    count = len(value)
    if minimum is not None and count < minimum:
        raise StructuralViolation(f"at least {minimum} items are required, got {count}")
    if maximum is not None and count > maximum:
        raise StructuralViolation(f"at most {maximum} items are allowed, got {count}")


def _no_item_contract() -> IndexError:
    return IndexError("the list contract holds only lengths and no contract for its items")


def _all_entries(value: Any, key: type, item: type) -> bool:
    return set(map(type, value)) <= {key} and set(map(type, value.values())) <= {item}


def _mapping(value: Any) -> Any:
    """A mapping as it is (the contract reads its items one by one), an empty one for null."""
    if value.__class__ is dict:
        return value
    if value is None:
        return FDict()
    if isinstance(value, abc.Mapping):
        return value
    raise StructuralViolation(f"a mapping is required, got {show(value)}")


def _two_rests() -> None:
    raise ContractSyntax("a mapping contract may have only one expression key")


def _class(value: Any, cx: Any, this: Any, target: Any, default: Any, spec: Any) -> Any:
    return contracts.to_class(value, cx, this, target(), default() if default is not None else None, spec)


def _argument_class(value: Any, cx: Any, this: Any, target: Any, default: Any, spec: Any) -> Any:
    kind = default() if default is not None else None
    return contracts.to_class(value, cx, this, target(), kind, spec, argument=True)


def _strict_class(value: Any, cx: Any, this: Any, target: Any, default: Any, spec: Any) -> Any:
    kind = target()
    if not isinstance(value, HostObject) or not contracts.accepts(value, kind, spec, cx.type.package):
        raise ContractViolation(f"an object of class {kind.name} is required, got {show(value)}")
    return value


def _template(value: Any, cx: Any, this: Any, target: Any, default: Any, spec: Any, exclude: Any = ()) -> Any:
    return contracts.to_template(value, cx, this, target(), default() if default is not None else None, spec, exclude)


def _strict_template(value: Any, cx: Any, this: Any, target: Any, default: Any, spec: Any, exclude: Any = ()) -> Any:
    if value is not None and not isinstance(value, abc.Mapping):
        raise ContractViolation(f"an object template is required, got {show(value)}")
    return value


def _owned(value: Any, this: Any) -> Any:
    return contracts.owned(value, this)


def _not_owned(value: Any, this: Any) -> Any:
    return contracts.not_owned(value, this)


def _located(error: ContractViolation, place: str, argument: str) -> ContractViolation:
    return error.located(place + argument)


# -- assignment along a path (SEMANTICS 9.7) ---------------------------------------------------------------------------


def _slot(obj: Any, name: str) -> Any:
    return getattr(obj, name, None)


def _get(cx: Any, container: Any, step: Any) -> Any:
    if container is None:
        return None
    if step.__class__ is tuple:
        key = step[0]
        if isinstance(container, abc.Mapping):
            if key.__class__ not in SCALARS:
                check_depth(key)
            return container.get(key)
        if container.__class__ is tuple and isinstance(key, int):
            return container[key]  # only the last step may append; beyond the end there is nothing to read
        return None
    if isinstance(container, HostObject):
        try:
            return container.yaql_attribute(step, cx)
        except UninitializedProperty:
            return None  # counts as an empty mapping on the way
    if isinstance(container, abc.Mapping):
        return container.get(step)
    raise AssignmentToThis(f"'.{step}' cannot be set on {show(container)}")


def _put(container: Any, step: Any, value: Any) -> Any:
    if step.__class__ is not tuple:
        if container is None:
            return FDict({step: value})
        if isinstance(container, abc.Mapping):
            return FDict({**container, step: value})
        raise AssignmentToThis(f"'.{step}' cannot be set on {show(container)}")
    key = step[0]
    if key.__class__ not in SCALARS:
        check_depth(key)
    if container is None:
        container = FDict()
    if isinstance(container, abc.Mapping):
        return FDict({**container, key: value})
    if container.__class__ is tuple:
        if not isinstance(key, int):
            raise InvalidAssignmentTarget(f"a list is indexed by integers, not by {show(key)}")
        count = len(container)
        if key < 0:
            if key < -count:
                raise IndexError(f"index {key} is out of range for a list of {count} items")
            key += count
        return (*container[:key], value, *container[key + 1 :])
    return container  # an index on a non-collection is silently ignored


def _assign_in(cx: Any, root: Any, path: tuple[Any, ...], value: Any) -> Any:
    """``root`` rebuilt with ``value`` at ``path``; MISSING when an object on the path took the value instead."""
    chain = [root]
    for step in path[:-1]:
        chain.append(_get(cx, chain[-1], step))
    for index in range(len(path) - 1, -1, -1):
        container = chain[index]
        if isinstance(container, HostObject):
            step = path[index]
            if step.__class__ is tuple:
                return MISSING  # an index on a non-collection is silently ignored
            write_property(cx, container, step, value)
            return MISSING
        value = _put(container, path[index], value)
    return value


def _assign(cx: Any, root: Any, path: tuple[Any, ...], value: Any) -> Any:
    if root is None:
        raise AssignmentToThis("a variable that was never set has no parts to assign to")
    changed = _assign_in(cx, root, path, value)
    return root if changed is MISSING else changed


def _set(cx: Any, target: Any, name: str, value: Any) -> None:
    write_property(cx, target, name, value)


def _bad_target(message: str, call: bool) -> InvalidAssignmentTarget:
    return AssignmentToCall(message) if call else AssignmentToThis(message)


def _text_too_long(rt: Any, text: str) -> None:
    rt.check_memory(len(text))
    raise MemoryQuotaExceeded(f"text of {len(text)} characters is too long")


# -- loops -------------------------------------------------------------------------------------------------------------


def _no_loop(word: str) -> LoopControlOutside:
    return LoopControlOutside(f"{word} outside of a loop")


def _for_items(rt: Any, value: Any) -> Any:
    if value.__class__ is tuple:
        rt.check_items(len(value))
        return value
    if isinstance(value, (str, abc.Mapping, FSet)):
        rt.check_items(len(value))
        return tuple(value)
    if isinstance(value, abc.Iterable) and not isinstance(value, HostObject):
        return freeze(value, rt.limits.max_sequence)
    raise TypeError(f"For needs a collection, got {show(value)}")


def _range_items(cx: Any, function: Any, *args: Any) -> Any:
    if set(map(type, args)) == {int} and (len(args) < 3 or args[2] != 0):
        made = range(*args)
        cx.rt.check_items(len(made))
        return made
    return _for_items(cx.rt, freeze(function(cx, *args), cx.rt.limits.max_sequence))


def _count(value: Any) -> int:
    if value.__class__ is int:
        return max(value, 0)
    if isinstance(value, bool):
        return int(value)
    raise TypeError(f"Repeat needs an integer, got {show(value)}")


def _parallel(cx: Any, branches: tuple[Any, ...], limit: Any) -> Any:
    return cx.session.scheduler.parallel(branches, limit)


MURANO_HELPERS: dict[str, Any] = {
    "_null_violation": _null_violation, "_need_int": _need_int, "_need_string": _need_string, "_need_bool": _need_bool,
    "_to_int": contracts.to_int, "_to_string": contracts.to_string, "_to_bool": contracts.to_bool,
    "_strict_int": _strict_int, "_strict_string": _strict_string, "_strict_bool": _strict_bool,
    "_check_failed": _check_failed, "_literal_violation": _literal_violation, "_items": _items,
    "_strict_items": _strict_items, "_check_length": _check_length, "_all_entries": _all_entries,
    "_mapping": _mapping, "_two_rests": _two_rests, "_freeze_items": _freeze_items, "_FROZEN": FROZEN,
    "_no_item_contract": _no_item_contract, "_class": _class, "_argument_class": _argument_class,
    "_strict_class": _strict_class,
    "_template": _template, "_strict_template": _strict_template, "_owned": _owned, "_not_owned": _not_owned,
    "_located": _located, "_CV": ContractViolation, "_enumerate": enumerate, "_slot": _slot, "_assign_in": _assign_in,
    "_assign": _assign, "_set": _set, "_bad_target": _bad_target, "_text_too_long": _text_too_long,
    "_no_loop": _no_loop, "_for_items": _for_items, "_range_items": _range_items, "_count": _count,
    "_parallel": _parallel, "_unchain": exceptions.unchain, "_Exception": Exception,
    "_caught": exceptions.caught, "_catches": exceptions.catches,
    "_exception": exceptions.exception_value, "_throw": exceptions.throw, "_throw_names": exceptions.throw_names,
    "_rethrow": exceptions.rethrow, "_Thrown": Thrown, "_int": int, "_str": str, "_bool": bool,
}  # fmt: skip
