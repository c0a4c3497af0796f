"""`Property` and `Method`: declared members of a linked class, with what is compiled for them on demand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from vetro.muranopl.declarations.tree import (
    NO_DEFAULT,
    ArgumentDecl,
    ArgumentUsage,
    MethodDecl,
    MethodUsage,
    PropertyDecl,
    PropertyUsage,
)
from vetro.muranopl.errors import ContractViolation, ObjectDestroyed
from vetro.muranopl.runtime.context import calling_context
from vetro.muranopl.secrecy import is_secret_property, noting
from vetro.muranopl.types.murano_object import MuranoObject
from vetro.muranopl.types.views import View
from vetro.yaql.errors import NoMatchingMethod
from vetro.yaql.redact import Secrets
from vetro.yaql.types import accepts
from vetro.yaql.values import FROZEN, MISSING, freeze

if TYPE_CHECKING:
    from vetro.muranopl.runtime.protocol import LinkedClass

_COUNTED = re.compile(r"takes (?:from (\d+) to )?(\d+) positional arguments? but (\d+) (?:was|were) given")

WRITABLE = frozenset({PropertyUsage.OUT, PropertyUsage.IN_OUT, PropertyUsage.RUNTIME, PropertyUsage.CONFIG})
SERIALIZED = frozenset({PropertyUsage.IN, PropertyUsage.OUT, PropertyUsage.IN_OUT, PropertyUsage.CONST})


class Property:
    """A property as one class declares it. Values live on the object under `attr`; an unset slot is uninitialised."""

    __slots__ = ("_default", "_transform", "_validate", "attr", "decl", "declaring", "name", "usage")

    def __init__(self, decl: PropertyDecl, declaring: LinkedClass) -> None:
        self.decl = decl
        self.declaring = declaring
        self.name = decl.name
        self.usage = decl.usage
        self.attr = "p_" + decl.name
        self._transform: Callable[[Any, Any], Any] | None = None
        self._validate: Callable[[Any, Any], Any] | None = None
        self._default: Callable[[Any], Any] | None = None

    def __repr__(self) -> str:
        return f"<property {self.location}>"

    @property
    def location(self) -> str:
        """``Class.name`` as contract violations name it."""
        return f"{self.declaring.name}.{self.name}"

    @property
    def writable(self) -> bool:
        """Whether code may write it outside of ``.init``."""
        return self.usage in WRITABLE

    @property
    def has_default(self) -> bool:
        """A ``Default`` is declared, or the class configuration replaces it (SEMANTICS 5.7)."""
        return self.decl.default is not NO_DEFAULT or self.name in self.declaring.config

    def default(self, this: Any) -> Any:
        """The raw default, evaluated on ``this``. Raises `UninitializedProperty` when it reads an unset property."""
        config = self.declaring.config
        if self.name in config:
            return config[self.name]
        return self.evaluator(this)

    @property
    def evaluator(self) -> Callable[[Any], Any]:
        """The compiled ``Default``: ``(this) -> value``."""
        if self._default is None:
            self._default = self.declaring.session.compiler.default(self.decl.default, self.declaring)
        return self._default

    @property
    def transform(self) -> Callable[[Any, Any], Any]:
        """Compiled contract ``(value, this) -> value``; raises without a location.

        A secret property tells the session each value, before the contract can complain about it.
        """
        if self._transform is None:
            compiler = self.declaring.session.compiler
            made = compiler.contract(self.decl.contract, self.declaring, strict=False, name=self.name)
            secret = is_secret_property(self.declaring, self.name)
            self._transform = _noting(made, self.declaring.session.redaction) if secret else made
        return self._transform

    def apply(self, value: Any, this: Any) -> Any:
        """``value`` through this declaration's contract. Raises `ContractViolation` with its location set."""
        try:
            return self.transform(value, this)
        except ContractViolation as error:
            raise error.located(self.location) from None

    def validate(self, value: Any, this: Any) -> None:
        """Checks without converting (SEMANTICS 5.3). A base-class violation reports no location (6.6)."""
        if self._validate is None:
            compiler = self.declaring.session.compiler
            self._validate = compiler.contract(self.decl.contract, self.declaring, strict=True, name=self.name)
        self._validate(value, this)


class Method:
    """A method as one class declares it, or as a native class implements it."""

    __slots__ = ("_function", "_receiver_check", "decl", "declaring", "name", "native")

    def __init__(self, name: str, declaring: LinkedClass, decl: MethodDecl | None = None, native: Any = None) -> None:
        self.name = name
        self.declaring = declaring
        self.decl = decl
        self.native = native
        self._function: Callable[..., Any] | None = None
        self._receiver_check: Callable[[Any, Any], Any] | None = None

    def __repr__(self) -> str:
        return f"<method {self.declaring.name}::{self.name}>"

    @property
    def public(self) -> bool:
        """Callable from outside (SEMANTICS 7.5)."""
        return self.decl is not None and self.decl.public

    @property
    def static(self) -> bool:
        """Needs no object: Static and Extension methods."""
        if self.decl is not None:
            return self.decl.static
        return bool(self.native.static)

    @property
    def extension(self) -> bool:
        """Extends values its first contract accepts (SEMANTICS 8.3)."""
        if self.native is not None and self.native.extension:
            return True
        return self.decl is not None and self.decl.usage is MethodUsage.EXTENSION

    @property
    def arguments(self) -> tuple[ArgumentDecl, ...]:
        """Declared arguments; empty for native methods."""
        return self.decl.arguments if self.decl is not None else ()

    @property
    def function(self) -> Callable[..., Any]:
        """The compiled Python function ``(this, v_arg…)``; ``this`` is the type object for statics."""
        if self._function is None:
            if self.native is not None:
                made = _native_function(self)
            else:
                assert self.decl is not None
                made = self.declaring.session.compiler.method(self.decl, self.declaring)
            self._function = noting(self, made)
        return self._function

    def invoke(self, receiver: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Calls exactly this method (not virtual) on ``receiver``; arguments by position and by MuranoPL name."""
        this = self.declaring.type_object if self.static else receiver
        if not self.static:
            if isinstance(receiver, View):
                this = receiver._object
            if not isinstance(this, MuranoObject) or not this._type.derives_from(self.declaring):
                raise NoMatchingMethod(f"method {self.declaring.name}::{self.name} needs an object of that class")
            if this._state == "destroyed":
                raise ObjectDestroyed(f"{this!r} is destroyed, its method '{self.name}' cannot be called")
        return self.call(self.function, this, args, kwargs or {})

    # -- calls ---------------------------------------------------------------------------------------------------------

    def call(self, function: Callable[..., Any], this: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Calls a compiled function of the method with MuranoPL argument names.

        A signature mismatch becomes `NoMatchingMethod`.
        """
        if any(a is MISSING for a in args):
            args, kwargs = self._skip_missing(args, kwargs)
        limit = self.declaring.session.rt.limits.max_sequence
        args = tuple([a if a.__class__ in FROZEN else freeze(a, limit) for a in args])
        named = {k: freeze(v, limit) for k, v in kwargs.items()} if kwargs else kwargs
        return self.call_plain(function, this, args, named)

    def call_plain(
        self, function: Callable[..., Any], this: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """`call` for arguments that need no freezing, or whose contracts see to it."""
        named = {"v_" + key: value for key, value in kwargs.items()} if kwargs else {}
        try:
            return function(this, *args, **named)
        except TypeError as error:
            trace = error.__traceback__
            if trace is not None and trace.tb_next is None:
                self.check_given(this, args, kwargs)
                raise NoMatchingMethod(self.mismatch(str(error))) from None
            raise

    def check_given(self, this: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Applies contracts before surplus arguments are complained of (7.2): to what is given, and to null where
        nothing is and the argument has no default.

        Raises `ContractViolation` and whatever else a contract raises.
        """
        standard = [a for a in self.arguments if a.usage is ArgumentUsage.STANDARD]
        given = {a.name: value for a, value in zip(standard, args)}
        given.update({a.name: kwargs[a.name] for a in standard if a.name in kwargs})
        for argument in standard:
            if argument.name in given or argument.default is NO_DEFAULT:
                contract = self._contract(argument, strict=False)
                try:
                    contract(given.get(argument.name), this)
                except ContractViolation as error:
                    error.located(f"{self.declaring.name}::{self.name}({argument.name}")
                    raise

    def _contract(self, argument: ArgumentDecl, *, strict: bool) -> Callable[[Any, Any], Any]:
        compiler = self.declaring.session.compiler
        return compiler.contract(argument.contract, self.declaring, strict=strict, name=argument.name)

    def _skip_missing(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """Arguments left out between commas take their defaults: the ones behind them travel by name."""
        names = [a.name for a in self.arguments]
        if len(args) > len(names):
            raise NoMatchingMethod(f"{self.declaring.name}::{self.name} got too many arguments")
        named = {name: value for name, value in zip(names, args) if value is not MISSING}
        twice = named.keys() & kwargs.keys()
        if twice:
            raise NoMatchingMethod(f"{self.declaring.name}::{self.name} got '{sorted(twice)[0]}' twice")
        return (), {**named, **kwargs}

    def mismatch(self, python_text: str) -> str:
        """A message for wrong arguments, in MuranoPL's words."""
        wanted = ", ".join(a.name for a in self.arguments) or "no arguments"
        text = python_text.split(") ", 1)[-1].replace("'v_", "'")
        counted = _COUNTED.fullmatch(text)
        if counted:  # Python counts the receiver, authors do not
            least, most, given = (int(n) - 1 if n else None for n in counted.groups())
            takes = f"{least} to {most}" if least is not None else f"{most}"
            text = f"takes {takes} argument{'' if takes == '1' else 's'}, {given} given"
        return f"method {self.declaring.name}::{self.name} {text}; it takes: {wanted}"

    # -- extension methods ---------------------------------------------------------------------------------------------

    def accepts_receiver(self, value: Any) -> bool:
        """Strict check of the first contract; null skips the check."""
        if value is None:
            return True
        if self.native is not None:
            return accepts(self.native.params[0], value, self.declaring.context.dialect)
        arguments = self.arguments
        if not arguments:
            return False
        if self._receiver_check is None:
            self._receiver_check = self._contract(arguments[0], strict=True)
        try:
            self._receiver_check(value, self.declaring.type_object)
        except (ContractViolation, NoMatchingMethod):
            return False
        return True

    def bind_receiver(self, value: Any) -> Callable[..., Any]:
        """A callable taking the remaining arguments (keywords by MuranoPL name)."""

        def call(*args: Any, **kwargs: Any) -> Any:
            return self.call(self.function, self.declaring.type_object, (value, *args), kwargs)

        return call


def _noting(transform: Callable[[Any, Any], Any], secrets: Secrets) -> Callable[[Any, Any], Any]:
    def noted(value: Any, this: Any) -> Any:
        secrets.add(value)
        made = transform(value, this)
        if made is not value:
            secrets.add(made)
        return made

    return noted


def _native_function(method: Method) -> Callable[..., Any]:
    """A function of the compiled convention ``(this, *args, v_name=…)`` around a native implementation."""
    native = method.native
    fallback = method.declaring

    def call(this: Any, *args: Any, **kwargs: Any) -> Any:
        named = {key[2:]: value for key, value in kwargs.items()} if kwargs else kwargs
        return native.apply(calling_context(fallback.context), this, args, named)

    return call
