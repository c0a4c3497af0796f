"""Contract functions at run time (SEMANTICS 6.2). Compiled contracts call them with the value and what they need.

All raise `ContractViolation` without a location: whoever knows the property or argument adds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vetro.diagnostics import Text
from vetro.muranopl.declarations.versions import parse_spec
from vetro.muranopl.errors import ContractViolation
from vetro.muranopl.package_resolver import allows
from vetro.muranopl.types.murano_object import MuranoObject, owns
from vetro.yaql.brief import brief
from vetro.yaql.values import FDict, HostObject

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, MuranoContext


def show(value: Any) -> str:
    """``value`` in an error message: kind and a short form, on one line."""
    if value is None:
        return "null"
    text = brief(value)
    return text if len(text) <= 60 or text[-1] == "…" else text[:57] + "..."


# -- scalars -----------------------------------------------------------------------------------------------------------


#: Characters of a text that reads as an integer. Python's own limit is a setting of each process.
LONGEST_NUMBER = 4_300


def to_int(value: Any) -> int | None:
    """``int()``: integers, booleans, floats (truncated), text that reads as an integer; null stays."""
    if value is None or value.__class__ is int:
        return value
    if isinstance(value, (int, float)) or (isinstance(value, str) and len(value) <= LONGEST_NUMBER):
        try:
            return int(value)
        except (ValueError, OverflowError):
            pass
    raise ContractViolation(Text("expected an integer, got {show}", show=show(value)))


def to_string(value: Any) -> str | None:
    """``string()``: text, integers and booleans as text, an object as its id; null stays."""
    if value is None or value.__class__ is str:
        return value
    if value.__class__ is int or value.__class__ is bool:
        try:
            return str(value)
        except ValueError:  # more digits than Python converts
            raise ContractViolation(Text("expected text, got an integer with too many digits")) from None
    if isinstance(value, str):
        return str(value)
    found = unwrap(value)
    if found is not None:
        return found._id
    raise ContractViolation(Text("expected text, got {show}", show=show(value)))


def to_bool(value: Any) -> bool | None:
    """``bool()``: the truth value; null stays."""
    if value is None or value.__class__ is bool:
        return value
    return bool(value)


# -- objects -----------------------------------------------------------------------------------------------------------


def unwrap(value: Any) -> MuranoObject | None:
    """The object that ``value`` is or is a view of; None for everything else."""
    if isinstance(value, MuranoObject):
        return value
    if isinstance(value, HostObject):
        found = getattr(value, "_object", None)
        return found if isinstance(found, MuranoObject) else None
    return None


def accepts(value: Any, type_: LinkedClass, spec: str | None = None, package: Any = None) -> bool:
    """Whether ``value`` is an object (or view) of the class (SEMANTICS 3.9).

    It is when its hierarchy has a class of that name in a version that ``spec`` allows, or else the requirements of
    ``package``, the one that declares the contract. Without both only the class itself counts.
    """
    obj = value if isinstance(value, MuranoObject) else unwrap(value)
    if obj is None:
        return False
    kind = obj._type
    if spec is None:
        if kind.derives_from(type_):
            return True
        if package is None:
            return False
        return any(a.name == type_.name and allows(package, a.package.name, a.version) for a in kind.ancestors)
    wanted = parse_spec(spec)
    return any(a.name == type_.name and wanted.match(a.version) for a in kind.ancestors)


def to_class(
    value: Any,
    cx: MuranoContext,
    this: Any,
    type: LinkedClass,
    default_type: LinkedClass | None = None,
    version_spec: str | None = None,
    *,
    argument: bool = False,
) -> Any:
    """``class(C, D?, versionSpec?)``: null, an object of the class, an id, or a definition.

    A definition becomes a new object owned by ``this``; in the contract of an ``argument`` it becomes an unowned one.
    Raises `ObjectNotFound` for an unknown id (`ForwardReference` while a load is under way).
    """
    if value is None:
        return None
    if version_spec is None and isinstance(value, MuranoObject) and value._type.derives_from(type):
        return value  # as nearly always in calls between objects
    cls = value.__class__
    if cls is not str and cls is not dict and isinstance(value, HostObject):
        if accepts(value, type, version_spec, cx.type.package):
            return value
        raise wrong_class(value, type)
    loader = this._loader if not argument and isinstance(this, MuranoObject) else None
    if cls is str:
        found = cx.session.store.require(value) if loader is None else loader.find(value)
    elif cls is dict or cls is FDict or isinstance(value, Mapping):
        if loader is not None:
            found = loader.place(value, this, default_type or type, cx.type)
        else:
            owner = this if isinstance(this, MuranoObject) and not argument else None
            try:
                found = cx.session.store.from_mapping(value, default_type or type, owner, cx.type)
            except ContractViolation as error:
                raise outer_violation(error) from None
    else:
        raise ContractViolation(
            Text("expected an object of class {name}, got {show}", name=type.name, show=show(value))
        )
    plain = version_spec is None and found._type is type
    if not plain and not accepts(found, type, version_spec, cx.type.package):
        raise wrong_class(found, type)
    return found


def outer_violation(error: ContractViolation) -> ContractViolation:
    """An inner violation as the failure of the expression that met the definition; the caller adds the location."""
    return ContractViolation(error.message, position=error.position)


def wrong_class(value: Any, type_: LinkedClass) -> ContractViolation:
    """The violation for an object of another class, or of the class in a version that is not allowed."""
    obj = unwrap(value)
    if obj is None:
        return ContractViolation(
            Text("expected an object of class {name}, got {show}", name=type_.name, show=show(value))
        )
    if any(a.name == type_.name for a in obj._type.ancestors):
        versions = ", ".join(sorted(str(a.version) for a in obj._type.ancestors if a.name == type_.name))
        return ContractViolation(
            Text(
                "expected an object of class {qualified}, got {obj}, which is one in version {versions}",
                qualified=type_.qualified,
                obj=repr(obj),
                versions=versions,
            )
        )
    return ContractViolation(Text("expected an object of class {name}, got {obj}", name=type_.name, obj=repr(obj)))


def to_template(
    value: Any,
    cx: MuranoContext,
    this: Any,
    type: LinkedClass,
    default: LinkedClass | None = None,
    spec: str | None = None,
    exclude: Sequence[str] = (),
) -> Any:
    """``template(C, D?, versionSpec?, excludeProperties?)``: null or a complete, checked definition."""
    if value is None:
        return None
    obj = unwrap(value)
    if obj is not None:
        if not accepts(obj, type, spec, cx.type.package):
            raise wrong_class(obj, type)
        return cx.session.store.template_from_object(obj, exclude)
    if not isinstance(value, Mapping):
        raise ContractViolation(
            Text("expected an object definition of class {name}, got {show}", name=type.name, show=show(value))
        )
    return cx.session.store.template_from_mapping(value, cx, this, type, default, spec, exclude)


# -- owners ------------------------------------------------------------------------------------------------------------


def owned(value: Any, this: Any) -> Any:
    """``owned()``: null, or an object that ``this`` owns directly or indirectly."""
    if value is None:
        return None
    obj = unwrap(value)
    if obj is None:
        raise ContractViolation(
            Text("expected an object owned by {show}, got {show2}", show=show(this), show2=show(value))
        )
    # The usual case first: a definition inside the property itself.
    if obj._owner is not this and not owns(this, obj):
        raise ContractViolation(
            Text("expected an object owned by {show}, got {obj}, which it does not own", show=show(this), obj=repr(obj))
        )
    return value


def not_owned(value: Any, this: Any) -> Any:
    """``notOwned()``: null, or an object that ``this`` does not own."""
    if value is None:
        return None
    obj = unwrap(value)
    if obj is None:
        raise ContractViolation(
            Text("expected an object not owned by {show}, got {show2}", show=show(this), show2=show(value))
        )
    if owns(this, obj):
        raise ContractViolation(
            Text("expected an object not owned by {this}, got {obj}, which it owns", this=repr(this), obj=repr(obj))
        )
    return value
