"""What classes call secret: properties and arguments with the meta ``io.murano.metadata.forms.Secret``.

No name is guessed from. Declarations are only read, no meta object is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vetro.muranopl.declarations.tree import ArgumentUsage
from vetro.muranopl.schema_hints import SECRET
from vetro.yaql.errors import NoMatchingMethod

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass, LinkedMethod


def secret_properties(type_: LinkedClass) -> frozenset[str]:
    """Names of the secret properties of a class, inherited ones included."""
    names = {name for ancestor in type_.ancestors for name in ancestor.decl.properties}
    return frozenset(name for name in names if is_secret_property(type_, name))


def is_secret_property(type_: LinkedClass, name: str) -> bool:
    """Whether it is: the nearest class that says something decides."""
    for ancestor in type_.ancestors:
        said = _said(ancestor, ancestor.decl.properties.get(name))
        if said is not None:
            return said
    return False


def secret_arguments(type_: LinkedClass, method: str) -> frozenset[str]:
    """Names of the secret arguments of a method; for each the nearest class that says something decides."""
    said: dict[str, bool] = {}
    for ancestor in type_.ancestors:
        declared = ancestor.decl.methods.get(method)
        for item in () if declared is None or getattr(declared, "bare", False) else declared.arguments:
            found = _said(ancestor, item)
            if found is not None:
                said.setdefault(item.name, found)
    return frozenset(name for name, secret in said.items() if secret)


def noting(method: LinkedMethod, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of a method, made to tell the session its secret arguments; itself where there are none."""
    names = secret_arguments(method.declaring, method.name)
    if not names:
        return function
    secrets = method.declaring.session.redaction
    places: list[slice] = []
    keywords = {"v_" + name for name in names}
    others: set[str] | None = None
    for index, argument in enumerate(method.arguments):
        if argument.name not in names:
            continue
        if argument.usage is ArgumentUsage.KW_ARGS:
            others = {"v_" + a.name for a in method.arguments}
        else:
            places.append(slice(index, None if argument.usage is ArgumentUsage.VAR_ARGS else index + 1))

    def call(this: Any, *args: Any, **kwargs: Any) -> Any:
        for place in places:
            secrets.add(args[place])
        for name, value in kwargs.items():
            if name in keywords or (others is not None and name not in others):
                secrets.add(value)
        try:
            return function(this, *args, **kwargs)
        except TypeError as error:
            trace = error.__traceback__
            if trace is not None and trace.tb_next is None:
                raise NoMatchingMethod(method.mismatch(str(error))) from None
            raise

    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call


def _said(type_: LinkedClass, declared: Any) -> bool | None:
    """What a declaration says: secret, not secret, or nothing. What is no plain false is taken for yes."""
    if declared is None or getattr(declared, "bare", False):
        return None
    for meta in declared.meta:
        if type_.decl.namespaces.resolve(meta.name) == SECRET:
            given = meta.properties.get("secret", True)
            return getattr(given, "value", given) is not False
    return None
