"""One extension class as MuranoPL sees it: a declaration and natives that call Python (PACKAGES 6)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from vetro.muranopl.types.native import NativeClass, NativeMethod, camel_case, infer_params, state
from vetro.packages.errors import PluginError
from vetro.packages.flow import Yaql, write
from vetro.packages.plugin_effects import EffectFunction, within
from vetro.packages.plugin_run import Context, Interfaces, MuranoObject
from vetro.yaql.api import compile as yaql_engine
from vetro.yaql.resolve.signature import Param

#: Parameters that are no arguments: the engine fills them in.
INJECTED: Final = ("context", "this", "interfaces", "yaql_engine")
CONSTRUCTOR: Final = "__construct"
_PLAIN: Final = (type(None), bool, int, float, str)
_Kind = inspect.Parameter


class ExtensionClass:
    """Builds both sides of one exported class. Raises `PluginError` for signatures that MuranoPL cannot call."""

    def __init__(self, name: str, python_class: type, distribution: str) -> None:
        self.name = name
        self.python_class = python_class
        self.distribution = distribution
        #: Set by the package that holds it.
        self.package: Any = None
        self._construct = self._callable("__init__", python_class)
        methods = {CONSTRUCTOR: self._native(CONSTRUCTOR, self._construct, self._make)}
        for member, function, static in _methods(python_class):
            adapted = self._callable(member, function, skip_self=not static)
            for exposed in getattr(function, "__murano_names__", (camel_case(member),)):
                call = self._static(adapted) if static else self._method(adapted)
                methods[exposed] = self._native(exposed, adapted, call, static)
        self.native = NativeClass(name, python_class, methods)

    def text(self) -> str:
        """The declaration of the class."""
        arguments = []
        names = []
        for param, parameter in zip(self._construct.params, self._construct.arguments):
            if parameter.kind in (_Kind.VAR_POSITIONAL, _Kind.VAR_KEYWORD):
                continue  # what `new` is given is found by name: there is nothing to gather
            declared: dict[str, Any] = {"Contract": Yaql("$")}
            if parameter.default is not _Kind.empty:
                declared["Default"] = parameter.default if isinstance(parameter.default, _PLAIN) else None
            arguments.append({param.name: declared})
            names.append(f"{param.name} => ${param.name}")
        body = [Yaql(f"$this.{CONSTRUCTOR}({', '.join(names)})")]
        return write({"Name": self.name, "Methods": {".init": {"Arguments": arguments, "Body": body}}})

    # -- natives ------------------------------------------------------------------------------------------------

    def _callable(self, member: str, function: Callable[..., Any], skip_self: bool = False) -> _Callable:
        try:
            return _Callable(function, skip_self)
        except (TypeError, ValueError) as error:
            raise PluginError(f"'{member}' of {self.name} ({self.distribution}) cannot be called: {error}") from None

    @staticmethod
    def _native(name: str, adapted: _Callable, call: Callable[..., Any], static: bool = False) -> NativeMethod:
        return NativeMethod(
            name,
            adapted.params,
            static,
            call,
            needs_cx=True,
            needs_this=True,
            doc=inspect.getdoc(adapted.function) or "",
        )

    def _context(self, cx: Any, type_: Any) -> Context:
        """``type_`` is the class of the receiver: this one or one that derives from it."""
        own = next((ancestor for ancestor in type_.ancestors if ancestor.name == self.name), type_)
        return Context(own.context, cx, self.distribution, self.package)

    def _make(self, cx: Any, this: Any, *values: Any, **named: Any) -> None:
        obj = getattr(this, "_object", this)
        context = self._context(cx, obj._type)
        made = self._construct.call(context, MuranoObject(context, obj), values, named)
        state(obj).setdefault("plugins", {})[self.name] = made

    def _method(self, adapted: _Callable) -> Callable[..., Any]:
        def call(cx: Any, this: Any, *values: Any, **named: Any) -> Any:
            obj = getattr(this, "_object", this)
            instance = state(obj).get("plugins", {}).get(self.name)
            if instance is None:
                raise PluginError(f"{obj!r} is used before its {self.name} ({self.distribution}) is constructed")
            context = self._context(cx, obj._type)
            result = adapted.call(context, MuranoObject(context, obj), values, named, instance)
            return context.for_engine(result)

        return call

    def _static(self, adapted: _Callable) -> Callable[..., Any]:
        def call(cx: Any, this: Any, *values: Any, **named: Any) -> Any:
            obj = getattr(this, "_object", this)
            receiver = hasattr(obj, "_id")
            context = self._context(cx, obj._type if receiver else getattr(obj, "type", cx.type))
            result = adapted.call(context, MuranoObject(context, obj) if receiver else None, values, named)
            return context.for_engine(result)

        return call


class _Callable:
    """A Python callable with its MuranoPL parameters."""

    def __init__(self, function: Callable[..., Any], skip_self: bool) -> None:
        self.function = function
        parameters = list(inspect.signature(function).parameters.values())
        if skip_self:
            parameters = parameters[1:]
        self.parameters = parameters
        #: Those that package code gives, in order, and the same as parameters of the language.
        self.arguments = [p for p in parameters if p.name not in INJECTED]

        def shape() -> None: ...

        shape.__signature__ = inspect.Signature(self.arguments)  # type: ignore[attr-defined]
        self.params: tuple[Param, ...] = infer_params(shape, skip=())

    def call(
        self,
        context: Context,
        this: MuranoObject | None,
        values: tuple[Any, ...],
        named: Mapping[str, Any],
        *first: Any,
    ) -> Any:
        """Calls it with values in the order of `arguments`; ``named`` goes to its ``**`` parameter."""
        injected = {
            "context": context,
            "this": this,
            "interfaces": Interfaces(context, this),
            "yaql_engine": yaql_engine,
        }
        left = [context.for_plugin(value) for value in values]
        behind = sum(p.kind is _Kind.KEYWORD_ONLY and p.name not in INJECTED for p in self.parameters)
        args: list[Any] = list(first)
        kwargs: dict[str, Any] = {}
        for parameter in self.parameters:
            if parameter.kind is _Kind.VAR_POSITIONAL:
                gathered = len(left) - behind
                args += left[:gathered]
                left = left[gathered:]
            elif parameter.kind is _Kind.VAR_KEYWORD:
                kwargs.update({name: context.for_plugin(value) for name, value in named.items()})
            else:
                value = injected[parameter.name] if parameter.name in INJECTED else left.pop(0)
                default = parameter.default
                if value is None and default is not _Kind.empty and not isinstance(default, _PLAIN):
                    value = default  # null stands for a default that MuranoPL cannot write
                if parameter.kind is _Kind.KEYWORD_ONLY:
                    kwargs[parameter.name] = value
                else:
                    args.append(value)
        with within(context):
            return self.function(*args, **kwargs)


def _methods(python_class: type) -> list[tuple[str, Callable[..., Any], bool]]:
    """(name, function, whether it needs no object) for what the class exposes, inherited members included."""
    found: dict[str, tuple[str, Callable[..., Any], bool]] = {}
    for cls in reversed(python_class.__mro__[:-1]):
        for name, value in vars(cls).items():
            found.pop(name, None)
            if name.startswith("_") or name == "init_plugin" or isinstance(value, (EffectFunction, type)):
                continue
            if isinstance(value, (staticmethod, classmethod)):
                found[name] = (name, getattr(python_class, name), True)
            elif inspect.isroutine(value):
                found[name] = (name, value, False)
    return list(found.values())
