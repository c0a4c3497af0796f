"""Mocks for unit tests (SEMANTICS 18): ``inject``, ``originalMethod``, ``withOriginal``; ``mockedObject``.

A mock is an attribute of one flat Python class, so derived classes, which have attributes of their own, are not
affected. One that was given an object stands for all objects of its class, but an object's own mock comes before those
of others (docs/decisions/0025). The functions exist only where the host adds `mock_functions` to a session: the test
runner.

What a mock expression may ask about the call it stands for (the replaced method, the caller's variables) is found on
the Python stack: the nearest `mocked_call` frame is that call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from vetro.muranopl.errors import InvalidOperation, MethodNotFound
from vetro.muranopl.types.native import NativeRegistry
from vetro.yaql.environment import Env
from vetro.yaql.resolve.signature import Kind, Param, Type
from vetro.yaql.values import freeze

#: An object and what stands for its method: it lives as long as its id is a key.
_OwnMock = tuple[Any, Callable[..., Any]]
_OWN = "mocked_objects"


def inject(cx: Any, target: Any, method_name: str, mock: Callable[..., Any], mock_name: str | None = None) -> None:
    """Replaces method ``method_name`` of ``target`` (a class, or an object's class) until the session ends.

    With ``mock_name`` the third argument gives the object whose method of that name is called instead, with the same
    arguments; otherwise it is an expression, evaluated at each call. A second mock of a method replaces the first, but
    not that of another object for this object.
    Raises `MethodNotFound` for a method that the class does not have.
    """
    type_ = target._type if hasattr(target, "_type") else cx.resolve(target)
    receiver = target if hasattr(target, "_type") else None
    method = type_.find_method(method_name)
    if method is None or method.extension:
        raise MethodNotFound(f"class {type_.name} has no method '{method_name}'")
    attribute = "m_" + method_name
    if method.static:
        original: Any = method.function.__get__(method.declaring.type_object)
    else:
        present = original = getattr(type_.pyclass, attribute)
        original = getattr(original, "mocked_original", original)
    replacement = _expression(mock) if mock_name is None else _method_of(cx, mock(), mock_name)
    own: dict[int, _OwnMock] = {}
    if receiver is not None and not method.static:
        own = dict(present.mocked_objects) if attribute in vars(type_.pyclass) and hasattr(present, _OWN) else {}
        own[id(receiver)] = (receiver, replacement)
    wrapper: Any = _wrapper(original, replacement, own, bound=method.static)
    setattr(type_.pyclass, attribute, staticmethod(wrapper) if method.static else wrapper)
    if method.static:
        type_.type_object.__dict__[attribute] = wrapper


def _expression(mock: Callable[..., Any]) -> Callable[..., Any]:
    return lambda args, named: freeze(mock())


def _method_of(cx: Any, obj: Any, name: str) -> Callable[..., Any]:
    found = obj.yaql_method(name, cx) if hasattr(obj, "yaql_method") else None
    if found is None:
        raise MethodNotFound(f"{obj!r} has no method '{name}' to be used as a mock")
    return lambda args, named: found(*args, **{key[2:]: value for key, value in named.items()})


def _wrapper(
    original: Callable[..., Any], replacement: Callable[..., Any], own: Mapping[int, _OwnMock], *, bound: bool
) -> Callable[..., Any]:
    """The function that takes the method's place: for objects that have their ``own`` mock that one. ``bound``: a
    static one, which gets no receiver."""
    first = 0 if bound else 1

    def mocked_call(*args: Any, **named: Any) -> Any:
        # `originalMethod` reads `mocked` from this frame.
        mocked = (original, args, named, first)
        chosen = own[id(args[0])][1] if first and id(args[0]) in own else replacement
        result = chosen(args[first:], named)
        del mocked
        return result

    mocked_call.mocked_original = original  # type: ignore[attr-defined]
    mocked_call.mocked_objects = own  # type: ignore[attr-defined]
    return mocked_call


def _mocked_frame() -> FrameType:
    """The frame of the mocked call that is running now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "mocked_call" and "mocked" in frame.f_locals:
            return frame
        frame = frame.f_back
    raise InvalidOperation(
        "originalMethod(), withOriginal() and mockedObject() have a meaning only in the expression of a mock"
    )


def mocked_object() -> Any:
    """The object whose mocked method was called; null for a static one."""
    _, given, _, first = _mocked_frame().f_locals["mocked"]
    return given[0] if first else None


def original_method(*args: Any, **kwargs: Any) -> Any:
    """Calls the replaced method: with the arguments of the mocked call, or with those given here."""
    original, given, named, first = _mocked_frame().f_locals["mocked"]
    if args or kwargs:
        return original(*given[:first], *args, **{"v_" + key: value for key, value in kwargs.items()})
    return original(*given, **named)


def with_original(env: Env, /, **expressions: Callable[..., Any]) -> Env:
    """A context with variables computed where the mocked method was called: its ``$``, ``$this`` and variables."""
    this, variables = _caller_variables(_mocked_frame())
    found = {name: freeze(expression(this, **variables)) for name, expression in expressions.items()}
    return env.child(found)


# The result is a scope inside the caller's, so the function is given that scope.
with_original.__needs_env__ = True  # type: ignore[attr-defined]


def _caller_variables(frame: FrameType) -> tuple[Any, dict[str, Any]]:
    """``$this`` and the variables of the method that made the mocked call; lambdas see those of their method."""
    this: Any = None
    variables: dict[str, Any] = {}
    current: FrameType | None = frame.f_back
    while current is not None:
        if "__murano__" in current.f_globals:
            names = current.f_locals
            for name, value in names.items():
                if name.startswith("v_"):
                    variables.setdefault(name[2:], value)
            if not current.f_code.co_name.startswith("<"):
                this = names.get("self")
                break
        current = current.f_back
    variables["this"] = this
    return this, variables


def add_mock_functions(registry: NativeRegistry) -> None:
    """Makes these functions known to the code of all packages of a session."""
    registry.register_function(
        "inject",
        inject,
        params=(
            Param("target", Type.ANY),
            Param("targetMethod", Type.STR),
            Param("mock", Type.LAMBDA, arity=0),
            Param("mockName", Type.STR, None, nullable=True),
        ),
    )
    registry.register_function(
        "originalMethod",
        original_method,
        params=(Param("args", Type.ANY, kind=Kind.VARARGS), Param("kwargs", Type.ANY, kind=Kind.KWARGS)),
    )
    registry.register_function("mockedObject", mocked_object, params=())
    registry.register_function(
        "withOriginal",
        with_original,
        params=(Param("expressions", Type.LAMBDA, kind=Kind.KWARGS, arity=None),),
    )
