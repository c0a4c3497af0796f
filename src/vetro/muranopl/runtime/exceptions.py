"""Throwing, catching and describing exceptions (SEMANTICS 10).

Package code meets host exceptions, too: a missing method is Python's `AttributeError` on a generated name until
somebody looks. `translate` gives such errors their MuranoPL class; `frames_of` tells where they came from without
keeping the Python traceback alive.
"""

from __future__ import annotations

import re
import sys
from types import CodeType, FrameType, TracebackType
from typing import Any

from vetro.data_classes import dataclass
from vetro.muranopl.errors import (
    InvalidExceptionName,
    InvalidOperation,
    MethodNotFound,
    NestingLimit,
    ObjectDestroyed,
    PropertyReadError,
    Thrown,
    UninitializedProperty,
)
from vetro.yaql.brief import brief
from vetro.yaql.errors import NoMatchingMethod, NoMethodRegistered, VetroError
from vetro.yaql.values import FDict, HostObject

#: Characters of an exception name.
LONGEST_NAME = 1000
NAME = re.compile(r"^[^\W\d]\w*(\.[^\W\d]\w*)*$")


@dataclass(frozen=True, slots=True)
class Frame:
    """One call on the way to an error: code object, place in it, and the class it belongs to."""

    code: CodeType
    instruction: int
    owner: Any

    @property
    def place(self) -> tuple[int, int, int, int]:
        """(line, column, end line, end column); columns from 1, zeros where unknown."""
        positions = list(self.code.co_positions())
        index = self.instruction // 2
        if not 0 <= index < len(positions):
            return self.code.co_firstlineno, 0, 0, 0
        line, end_line, column, end_column = positions[index]
        return line or self.code.co_firstlineno, (column or 0) + 1, end_line or 0, (end_column or 0) + 1


def _owner_of(frame: FrameType) -> Any:
    return frame.f_globals.get("__murano__")


def frames_of(error: BaseException, outer: FrameType | None = None) -> tuple[Frame, ...]:
    """MuranoPL frames of ``error``, outermost first; ``outer`` is where it was caught (its callers are included)."""
    kept: tuple[Frame, ...] = getattr(error, "murano_frames", ())
    found: list[Frame] = []
    frame = outer.f_back if outer is not None else None
    while frame is not None:
        owner = _owner_of(frame)
        if owner is not None and not frame.f_code.co_name.startswith("<"):
            found.append(Frame(frame.f_code, frame.f_lasti, owner))
        frame = frame.f_back
    found.reverse()
    trace: TracebackType | None = error.__traceback__
    last: FrameType | None = None
    while trace is not None:
        owner = _owner_of(trace.tb_frame)
        if owner is not None:
            made = Frame(trace.tb_frame.f_code, trace.tb_lasti, owner)
            inner = found and _part_of(made, found[-1])
            if made.code.co_name.startswith("<") and found and not inner:
                # A lambda of a method further up, called by another one.
                trace = trace.tb_next
                continue
            if trace.tb_frame is last or inner:
                # Raised again by a handler of the same call, or a lambda or a branch of `Parallel` in it: the inner
                # place is the one that matters.
                found[-1] = made
            else:
                found.append(made)
            last = trace.tb_frame
        trace = trace.tb_next
    return (*found, *kept) if not found or not kept else tuple(found)


def _part_of(inner: Frame, outer: Frame) -> bool:
    """Whether ``inner`` is a lambda or a branch of `Parallel` in the method of ``outer``."""
    return inner.code.co_qualname.startswith(outer.code.co_qualname + ".<locals>.") and inner.owner is outer.owner


def innermost_is_generated(error: BaseException) -> bool:
    """Whether the exception was raised by generated code itself, not by something it called."""
    trace = error.__traceback__
    last: TracebackType | None = None
    while trace is not None:
        last = trace
        trace = trace.tb_next
    return last is not None and _owner_of(last.tb_frame) is not None


def translate(error: BaseException) -> BaseException:
    """The error as package code and users should see it; the same object when nothing is to be said better."""
    if isinstance(error, VetroError):
        return error
    if isinstance(error, RecursionError):
        made: BaseException = NestingLimit("calls are nested too deeply: the limit of nested calls is reached")
    elif isinstance(error, AttributeError):
        made = _attribute_error(error)
    elif isinstance(error, TypeError) and innermost_is_generated(error):
        made = NoMatchingMethod(_signature_text(str(error)))
    else:
        return error
    if made is error:
        return error
    made.__traceback__ = error.__traceback__
    kept = getattr(error, "murano_frames", None)
    if kept:
        made.murano_frames = kept  # type: ignore[attr-defined]
    return made


def _signature_text(text: str) -> str:
    return "the arguments fit no signature: " + re.sub(r"'v_(\w+)'", r"'\1'", text)


def _attribute_error(error: AttributeError) -> BaseException:
    name, obj = error.name, error.obj
    if name is None or not (isinstance(obj, HostObject) or innermost_is_generated(error)):
        return error  # native code made a mistake of its own
    if name.startswith("m_"):
        shown = getattr(getattr(obj, "_type", None), "name", None) or type(obj).__name__
        if getattr(obj, "_state", None) == "destroyed":
            return ObjectDestroyed(f"{obj!r} is destroyed, its method '{name[2:]}' cannot be called")
        return NoMethodRegistered(f'Unknown method "{name[2:]}" for receiver of class {shown}')
    if name.startswith("p_"):
        kind = getattr(obj, "_type", None)
        if kind is not None and kind.find_property(name[2:]) is None:
            return PropertyReadError(f"class {kind.name} has no property '{name[2:]}'")
        return UninitializedProperty(f"property '{name[2:]}' of {obj!r} has no value yet")
    if name.startswith("q:"):
        return UninitializedProperty(
            f"property '{name.rsplit(':', 1)[-1]}' of {obj!r} is read before it gets a value",
            hint="declare it under Properties, or assign it first",
        )
    return error


# -- Catch -------------------------------------------------------------------------------------------------------------


def caught(cx: Any, error: Exception) -> BaseException:
    """What a handler works with."""
    if error.__class__ is Thrown:
        return error
    return translate(error)


def names_of(error: BaseException) -> tuple[str, ...]:
    """Every name under which the error can be caught."""
    if isinstance(error, Thrown):
        return error.names
    own = tuple(getattr(error, "aliases", ()))
    hosts = tuple(c.__name__ for c in type(error).__mro__ if c not in (object, BaseException))
    return (*own, *hosts)


def catches(error: BaseException, names: tuple[str, ...]) -> bool:
    """Whether a handler for ``names`` takes the error."""
    known = names_of(error)
    return known[0] in names if len(known) == 1 else not set(known).isdisjoint(names)


class ExceptionValue(HostObject):
    """``$e``: ``name message extra stackTrace`` of a caught exception."""

    __slots__ = ("error", "matched", "session")

    def __init__(self, error: BaseException, matched: str, session: Any) -> None:
        self.error = error
        self.matched = matched
        self.session = session

    def __repr__(self) -> str:
        return f"<exception {self.matched}>"

    @property
    def _type(self) -> Any:
        return self.session.types.core("io.murano.Exception")

    def yaql_attribute(self, name: str, context: Any) -> Any:
        error = self.error
        if name == "name":
            return self.matched
        if name == "message":
            # A plain text: what package code computes with has no template.
            text = str(getattr(error, "message", None) or error)
            return error.value if isinstance(error, Thrown) else str.__str__(text)
        if name == "extra":
            extra = error.extra if isinstance(error, Thrown) else None
            return extra if extra is not None else FDict()
        if name == "stackTrace":
            return self.session.stack_trace(error)
        if name == "cause":  # declared, and never set (SEMANTICS 10.3)
            raise UninitializedProperty("property 'cause' of an exception has no value")
        raise PropertyReadError(f"an exception has no property '{name}'")

    def __getattr__(self, name: str) -> Any:
        # Generated code calls methods as attributes `m_x` with arguments `v_x`.
        found = self.yaql_method(name[2:], None) if name.startswith("m_") else None
        if found is None:
            raise AttributeError(f"{self!r} has no attribute {name!r}", name=name, obj=self)
        return lambda *args, **kwargs: found(*args, **{key[2:]: value for key, value in kwargs.items()})

    def yaql_method(self, name: str, context: Any) -> Any:
        """A native method of class io.murano.Exception: ``toString``."""
        kind = self._type
        method = kind.own_methods.get(name)
        if method is None or method.native is None:
            return None
        return lambda *args, **kwargs: method.native.call(context or kind.context, self, *args, **kwargs)


def exception_value(cx: Any, error: BaseException, names: tuple[str, ...] | None, trace: bool) -> ExceptionValue:
    """The value of the ``As`` variable. The Python traceback is let go: only code and places are kept.

    ``trace`` is False where the compiler sees that nobody can ask for the stack trace.
    """
    if trace:
        error.murano_frames = frames_of(error, sys._getframe(1))  # type: ignore[attr-defined]
    error.__traceback__ = None
    error.__context__ = None
    matched = names_of(error)
    chosen = matched[0]
    if names is not None and chosen not in names:
        chosen = next((n for n in matched if n in names), chosen)
    return ExceptionValue(error, chosen, cx.session)


def unchain() -> None:
    """Called where a ``Finally`` block begins: forgets what the error under way had itself interrupted.

    CPython walks that chain at each raise. Recursion in Finally blocks makes it thousands long, which takes seconds.
    """
    error = sys.exception()
    if error is not None:
        error.__context__ = None


# -- Throw -------------------------------------------------------------------------------------------------------------


def throw(names: tuple[str, ...], message: Any, extra: Any, cause: Any) -> Exception:
    """The exception of a Throw with literal names, already resolved."""
    for name in names:
        if not NAME.match(name):
            return InvalidExceptionName(f"'{name}' is no valid exception name")
    return Thrown(names, message, extra, _cause(cause))


def throw_names(cx: Any, names: Any, message: Any, extra: Any, cause: Any) -> Exception:
    """The exception of a Throw whose names are computed."""
    given = names if isinstance(names, tuple) else (names,)
    full = []
    for name in given:
        if isinstance(name, str) and len(name) > LONGEST_NAME:
            return InvalidExceptionName(f"an exception name has at most {LONGEST_NAME} characters")
        if not isinstance(name, str):
            return InvalidExceptionName(f"an exception name must be text, got {brief(name)}")
        full.append(cx.type.decl.namespaces.resolve(name))
    if not full:
        return InvalidExceptionName("Throw needs at least one name")
    return throw(tuple(full), message, extra, cause)


def _cause(value: Any) -> BaseException | None:
    if isinstance(value, ExceptionValue):
        return value.error
    return None


def rethrow(error: BaseException | None) -> BaseException:
    """What Rethrow raises."""
    if error is None:
        return InvalidOperation("Rethrow outside of a handler", hint="Rethrow belongs into the Do of a Catch")
    return error


__all__ = ["ExceptionValue", "Frame", "MethodNotFound", "catches", "caught", "frames_of", "translate"]
