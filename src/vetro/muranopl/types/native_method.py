"""`NativeMethod`: one method that Python implements, and how MuranoPL arguments meet Python parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from vetro.yaql.errors import NoMatchingMethod
from vetro.yaql.resolve.signature import REQUIRED, Kind, Param, Type
from vetro.yaql.types import accepts
from vetro.yaql.values import FROZEN, MISSING, freeze

#: Annotation (as written) -> parameter type. Everything else accepts any value.
_ANNOTATIONS = {
    "str": Type.STR,
    "int": Type.INTEGER,
    "float": Type.NUM,
    "bool": Type.BOOL,
    "dict": Type.DICT,
    "list": Type.SEQ,
    "tuple": Type.SEQ,
}


def camel_case(name: str) -> str:
    """``unit_count`` -> ``unitCount``; trailing underscores (Python keywords) go."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def _annotated(parameter: inspect.Parameter) -> tuple[Type, bool]:
    text = parameter.annotation
    if text is inspect.Parameter.empty:
        return Type.ANY, True
    if not isinstance(text, str):
        text = getattr(text, "__name__", str(text))
    parts = [re.sub(r"\[.*\]$", "", part.strip(), flags=re.S) for part in re.split(r"\|(?![^\[]*\])", text)]
    nullable = "None" in parts
    parts = [part for part in parts if part != "None"]
    kind = _ANNOTATIONS.get(parts[0], Type.ANY) if len(parts) == 1 else Type.ANY
    return kind, nullable or kind is Type.ANY


def infer_params(implementation: Callable[..., Any], skip: tuple[str, ...] = ("cx", "this")) -> tuple[Param, ...]:
    """One `Param` for each Python parameter, types taken from simple annotations (``str``, ``int | None``...)."""
    kinds: dict[Any, Kind] = {
        inspect.Parameter.VAR_POSITIONAL: Kind.VARARGS,
        inspect.Parameter.VAR_KEYWORD: Kind.KWARGS,
    }
    found: list[Param] = []
    for index, parameter in enumerate(inspect.signature(implementation).parameters.values()):
        if parameter.name in skip and index < len(skip):
            continue
        type_, nullable = _annotated(parameter)
        default = REQUIRED if parameter.default is inspect.Parameter.empty else parameter.default
        kind = kinds.get(parameter.kind, Kind.NORMAL)
        found.append(Param(camel_case(parameter.name), type_, default, nullable=nullable, kind=kind))
    return tuple(found)


class NativeMethod:
    """One method that Python implements; ``call`` binds and checks arguments as a MuranoPL call would.

    ``needs_cx`` and ``needs_this`` say whether the implementation takes the calling code's context and the receiver in
    front of the arguments.
    """

    __slots__ = (
        *("_checks", "_defaults", "_plain", "_required"),
        *("doc", "extension", "impl", "name", "needs_cx", "needs_this", "params", "public", "static"),
    )

    def __init__(
        self,
        name: str,
        params: tuple[Param, ...],
        static: bool,
        impl: Callable[..., Any],
        *,
        public: bool = False,
        needs_cx: bool = False,
        needs_this: bool = True,
        doc: str = "",
        extension: bool = False,
    ) -> None:
        self.name = name
        #: Callable on values that the first parameter accepts (SEMANTICS 8.3).
        self.extension = extension
        self.params = params
        self.static = static
        self.impl = impl
        self.public = public
        self.needs_cx = needs_cx
        self.needs_this = needs_this
        self.doc = doc
        # The usual call, by position only and without gathering parameters, is bound without looking at names.
        self._plain = all(p.kind is Kind.NORMAL for p in params)
        self._required = sum(p.default is REQUIRED for p in params)
        self._defaults = tuple(p.default for p in params)
        self._checks = tuple((i, p) for i, p in enumerate(params) if p.type is not Type.ANY or p.check is not None)

    def __repr__(self) -> str:
        return f"<native method {self.name}>"

    def call(self, cx: Any, this: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Calls the implementation for ``this`` from code of ``cx``. Raises `NoMatchingMethod` on wrong arguments."""
        return self.apply(cx, this, args, kwargs)

    def apply(self, cx: Any, this: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """`call` with arguments that are gathered already."""
        args, kwargs = self.bind(cx, args, kwargs)
        if self.needs_cx:
            made = self.impl(cx, this, *args, **kwargs) if self.needs_this else self.impl(cx, *args, **kwargs)
        else:
            made = self.impl(this, *args, **kwargs) if self.needs_this else self.impl(*args, **kwargs)
        return made if made.__class__ in FROZEN else freeze(made)

    def bind(
        self, cx: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """Arguments in the implementation's order, by position and (for KwArgs) by name."""
        count = len(args)
        if kwargs or not self._plain or not self._required <= count <= len(self.params) or MISSING in args:
            return self._bind_slowly(cx, args, kwargs)
        for index, param in self._checks:
            if index < count:
                value = args[index]
                if value.__class__ is not str or param.type is not Type.STR or param.check is not None:
                    self._checked(cx, param, value)
        return (args if count == len(self.params) else args + self._defaults[count:]), kwargs

    def _bind_slowly(
        self, cx: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        values: list[Any] = []
        named: dict[str, Any] = {}
        left = dict(kwargs)
        rest = list(args)
        for param in self.params:
            if param.kind is Kind.VARARGS:
                values.extend(self._checked(cx, param, value) for value in rest)
                rest = []
            elif param.kind is Kind.KWARGS:
                named = {key: self._checked(cx, param, value) for key, value in left.items()}
                left = {}
            else:
                value = rest.pop(0) if rest else MISSING
                if param.name in left:
                    if value is not MISSING:
                        raise self._mismatch(f"got '{param.name}' twice")
                    value = left.pop(param.name)
                if value is MISSING:
                    if param.default is REQUIRED:
                        raise self._mismatch(f"needs an argument '{param.name}'")
                    values.append(param.default)
                else:
                    values.append(self._checked(cx, param, value))
        if rest:
            raise self._mismatch(f"takes {len(self.params)} arguments, got {len(args)}")
        if left:
            raise self._mismatch(f"has no argument '{next(iter(left))}'")
        return tuple(values), named

    def _checked(self, cx: Any, param: Param, value: Any) -> Any:
        if not accepts(param, value, cx.dialect):
            raise self._mismatch(f"does not accept {_describe(value)} as '{param.name}'")
        return value

    def _mismatch(self, text: str) -> NoMatchingMethod:
        wanted = ", ".join(param.name for param in self.params) or "no arguments"
        return NoMatchingMethod(f"method '{self.name}' {text}; it takes: {wanted}")


def _describe(value: Any) -> str:
    return "null" if value is None else f"a value of type {type(value).__name__}"
