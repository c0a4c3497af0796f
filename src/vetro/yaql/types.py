"""What each parameter type accepts, and which of two overloads is the more specific (YAQL.md 3.3).

The same knowledge is offered in three forms: as a test on a value (`accepts`), as Python source for generated
dispatch code (`check_source`), and as sets of kinds of values, from which the generator learns that two overloads
can never fit the same arguments (`overlap`).
"""

from __future__ import annotations

import collections.abc as abc
import datetime
from collections.abc import Callable
from typing import Any

from vetro.yaql.context import Dialect
from vetro.yaql.environment import Env
from vetro.yaql.resolve.signature import Param, Type
from vetro.yaql.values import FSet, HostObject, Missing, is_iterable, is_sequence, is_set

Predicate = Callable[[Any], bool]


class OrderedBase:
    """Base of what ``orderBy`` returns: iterable again and again, but neither list nor single-pass (YAQL.md 3.2)."""

    __slots__ = ()


class RegexBase:
    """Base of compiled regular expressions, so that types can be told without loading the regex engine."""

    __slots__ = ()

    def search(self, cx: Any, text: str, pos: int = 0) -> Any:
        """The first match at or after ``pos``, or None; ``cx`` pays for the work."""
        raise NotImplementedError

    def found_in(self, cx: Any, text: str) -> bool:
        """True when there is a match anywhere in ``text``."""
        return self.search(cx, text) is not None


def _is_num(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_iter_or_dict(value: Any) -> bool:
    return isinstance(value, dict) or is_iterable(value)


def is_iterator(value: Any) -> bool:
    return isinstance(value, abc.Iterator) and not isinstance(value, HostObject)


def is_callable(value: Any) -> bool:
    """True for what `Type.CALLABLE` accepts: values made by ``lambda``."""
    return callable(value) and not isinstance(value, (HostObject, type))


def _anything(value: Any) -> bool:
    return True


def _instance_of(cls: type) -> Predicate:
    return lambda value: isinstance(value, cls)


_PREDICATES: dict[Type, Predicate] = {
    Type.ANY: _anything,
    Type.STR: _instance_of(str),
    Type.INT: _instance_of(int),
    Type.INTEGER: _is_integer,
    Type.NUM: _is_num,
    Type.BOOL: _instance_of(bool),
    Type.ITER: is_iterable,
    Type.SEQ: is_sequence,
    Type.DICT: _instance_of(dict),
    Type.SET: is_set,
    Type.SPAN: _instance_of(datetime.timedelta),
    Type.DATETIME: _instance_of(datetime.datetime),
    Type.REGEX: _instance_of(RegexBase),
    Type.ITERATOR: is_iterator,
    Type.ORDERED: _instance_of(OrderedBase),
    Type.LAMBDA: _anything,
    Type.CALLABLE: is_callable,
    Type.CONTEXT: _instance_of(Env),
    Type.KEYWORD: _instance_of(str),
    Type.HOST: _instance_of(HostObject),
}

#: Python source of the tests; ``{0}`` is the variable. Names beginning with ``_t_`` come from `CHECK_NAMES`.
_SOURCES: dict[Type, str] = {
    Type.STR: "isinstance({0}, str)",
    Type.INT: "isinstance({0}, int)",
    Type.INTEGER: "({0}.__class__ is int or _t_integer({0}))",
    Type.NUM: "({0}.__class__ is int or {0}.__class__ is float or _t_num({0}))",
    Type.BOOL: "({0}.__class__ is bool)",
    Type.ITER: "({0}.__class__ is tuple or _t_iter({0}))",
    Type.SEQ: "({0}.__class__ is tuple or _t_seq({0}))",
    Type.DICT: "isinstance({0}, dict)",
    Type.SET: "({0}.__class__ is _t_FSet or _t_set({0}))",
    Type.SPAN: "isinstance({0}, _t_span)",
    Type.DATETIME: "isinstance({0}, _t_datetime)",
    Type.REGEX: "isinstance({0}, _t_regex)",
    Type.ITERATOR: "_t_iterator({0})",
    Type.ORDERED: "isinstance({0}, _t_ordered)",
    Type.CALLABLE: "_t_callable({0})",
    Type.CONTEXT: "({0}.__class__ is _t_Env)",
    Type.KEYWORD: "isinstance({0}, str)",
    Type.HOST: "isinstance({0}, _t_Host)",
}

#: What generated code that contains `check_source` texts needs among its globals.
CHECK_NAMES: dict[str, Any] = {
    "_t_integer": _is_integer,
    "_t_num": _is_num,
    "_t_iter": is_iterable,
    "_t_iter_or_dict": _is_iter_or_dict,
    "_t_seq": is_sequence,
    "_t_set": is_set,
    "_t_FSet": FSet,
    "_t_span": datetime.timedelta,
    "_t_datetime": datetime.datetime,
    "_t_regex": RegexBase,
    "_t_iterator": is_iterator,
    "_t_ordered": OrderedBase,
    "_t_callable": is_callable,
    "_t_Env": Env,
    "_t_Host": HostObject,
}


def predicate(type_: Type, dialect: Dialect) -> Predicate:
    """The test for values of ``type_``; null is left to `accepts`, only ANY and LAMBDA pass it."""
    if type_ is Type.ITER and dialect.iterable_dicts:
        return _is_iter_or_dict
    return _PREDICATES[type_]


def accepts(param: Param, value: Any, dialect: Dialect) -> bool:
    """True when ``value`` may be passed for ``param`` (YAQL.md 3.3, items 4, 6 and 8)."""
    if value.__class__ is Missing:
        return param.type is Type.ANY
    if value is None:
        if not param.accepts_null and param.type is not Type.LAMBDA:
            return False
        return param.check is None or param.type is not Type.ANY or param.check(None)
    if not predicate(param.type, dialect)(value):
        return False
    return param.check is None or param.check(value)


def check_source(param: Param, name: str, dialect: Dialect, names: dict[str, Any] | None = None) -> str:
    """Python source of a test that the variable ``name`` may be passed for ``param``; ``True`` when everything may.

    Evaluate it with `CHECK_NAMES` among the globals. A parameter with a ``check`` of its own needs ``names``: the
    function is put there and the text refers to it. Raises ValueError when it is needed and absent.
    """
    type_ = param.type
    if type_ is Type.ITER and dialect.iterable_dicts:
        text = f"({name}.__class__ is tuple or _t_iter_or_dict({name}))"
    else:
        text = _SOURCES.get(type_, "True").format(name)
    if param.check is not None:
        if names is None:
            raise ValueError(f"parameter {param.name} narrows its type: pass a namespace for its check")
        key = f"_t_check_{len(names)}"
        names[key] = param.check
        text = f"{key}({name})" if text == "True" else f"({text} and {key}({name}))"
    if param.accepts_null and text != "True" and type_ is not Type.ANY:
        text = f"({name} is None or {text})"
    return text


# Which host classes stand behind the types; union types (NUM) have none and never compare.
_ABOVE: dict[Type, frozenset[Type]] = {
    Type.SEQ: frozenset({Type.ITER}),
    Type.ITERATOR: frozenset({Type.ITER}),
    Type.SET: frozenset({Type.ITER}),
    Type.DICT: frozenset({Type.ITER}),
    Type.ORDERED: frozenset({Type.ITER}),
    Type.STR: frozenset({Type.ITER}),
    Type.BOOL: frozenset({Type.INT, Type.INTEGER}),
}
_UNCOMPARED = frozenset({Type.NUM, Type.LAMBDA, Type.KEYWORD})


def strict_subtype(a: Type, b: Type) -> bool:
    """True when every ``a`` is a ``b`` but not the other way round, as the host's classes have it."""
    if a is b or a in _UNCOMPARED or b in _UNCOMPARED:
        return False
    return b is Type.ANY or b in _ABOVE.get(a, frozenset())


def specific_by_types(pairs: list[tuple[Type, Type]]) -> bool:
    """Rule 7 of YAQL.md 3.3 for the parameter types that the arguments meet in overloads A and B."""
    better = False
    for a, b in pairs:
        if strict_subtype(b, a):
            return False
        better = better or strict_subtype(a, b)
    return better


_ITERS = frozenset({"list", "set", "iterator", "ordered", "iterable"})
_EVERY = _ITERS | {"bool", "int", "float", "str", "dict", "span", "dt", "regex", "callable", "context", "host", "other"}
_KINDS: dict[Type, frozenset[str]] = {
    Type.STR: frozenset({"str"}),
    Type.INT: frozenset({"bool", "int"}),
    Type.INTEGER: frozenset({"int"}),
    Type.NUM: frozenset({"int", "float"}),
    Type.BOOL: frozenset({"bool"}),
    Type.ITER: _ITERS,
    Type.SEQ: frozenset({"list"}),
    Type.DICT: frozenset({"dict"}),
    Type.SET: frozenset({"set"}),
    Type.SPAN: frozenset({"span"}),
    Type.DATETIME: frozenset({"dt"}),
    Type.REGEX: frozenset({"regex"}),
    Type.ITERATOR: frozenset({"iterator"}),
    Type.ORDERED: frozenset({"ordered"}),
    Type.CALLABLE: frozenset({"callable"}),
    Type.CONTEXT: frozenset({"context"}),
    Type.KEYWORD: frozenset({"str"}),
    Type.HOST: frozenset({"host"}),
}


def overlap(a: Param, b: Param, dialect: Dialect) -> bool:
    """False only when no value can be passed for both parameters."""
    if a.accepts_null and b.accepts_null:
        return True
    left, right = _KINDS.get(a.type, _EVERY), _KINDS.get(b.type, _EVERY)
    if dialect.iterable_dicts:
        left = left | {"dict"} if a.type is Type.ITER else left
        right = right | {"dict"} if b.type is Type.ITER else right
    return not left.isdisjoint(right)


def describe(value: Any) -> str:
    """The type of a value in the words of the language, for messages."""
    if value is None:
        return "null"
    if isinstance(value, (bool, int, float, str)):
        return next(cls for cls in (bool, int, float, str) if isinstance(value, cls)).__name__
    if isinstance(value, HostObject):
        return repr(value)[:80]
    for name, test in _NAMED:
        if test(value):
            return name
    return type(value).__name__


def describe_class(cls: type) -> str:
    """The type of constants of a class in the words of the language."""
    return "null" if cls is type(None) else "no value" if cls is Missing else cls.__name__


_NAMED: tuple[tuple[str, Predicate], ...] = (
    ("list", is_sequence),
    ("dict", _instance_of(dict)),
    ("set", is_set),
    ("iterator", is_iterator),
    ("ordered list", _PREDICATES[Type.ORDERED]),
    ("timespan", _PREDICATES[Type.SPAN]),
    ("datetime", _PREDICATES[Type.DATETIME]),
    ("regex", _PREDICATES[Type.REGEX]),
    ("context", _PREDICATES[Type.CONTEXT]),
    ("no value", _instance_of(Missing)),
    ("iterable", is_iterable),
    ("function", is_callable),
)
