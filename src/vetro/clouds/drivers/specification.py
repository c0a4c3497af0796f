"""Specifications that cannot hold a wrong value: each field is parsed when one is made, by the type it is declared as.

So what a driver gets is typed whoever made it: the cloud from its records, a driver from the files that it wrote, an
older version's among them, or a test.
"""

from __future__ import annotations

import collections.abc
import functools
import types
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from vetro.clouds.drivers.values import Name, ValueInvalid, short
from vetro.clouds.interface import Owner

Parser = Callable[[Any], Any]


class Specification:
    """Root of the specifications, which are dataclasses. Making one raises `ValueInvalid` with the field's name."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Every field becomes what it is declared as."""
        kind: Any = type(self)
        for name, parse in _parsers(kind):
            value = getattr(self, name)
            try:
                made = parse(value)
            except ValueInvalid as error:
                raise ValueInvalid(f"{name}: {error}") from None
            if made is not value:
                object.__setattr__(self, name, made)


@functools.cache
def _parsers(kind: type) -> tuple[tuple[str, Parser], ...]:
    return tuple((name, parser(hint)) for name, hint in get_type_hints(kind, include_extras=True).items())


def parser(hint: Any) -> Parser:
    """What makes a value of this type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return arguments[1]  # type: ignore[no-any-return]
    if origin in (Union, types.UnionType):
        (rest,) = (one for one in arguments if one is not type(None))
        inner = parser(rest)
        # Older records have '' where there is nothing.
        return lambda value: None if value is None or value == "" else inner(value)
    if origin is Literal:
        return functools.partial(_one_of, arguments)
    if origin is collections.abc.Sequence:
        return functools.partial(_sequence, parser(arguments[0]))
    if origin is tuple:
        return functools.partial(_tuple, tuple(map(parser, arguments)))
    if origin is collections.abc.Mapping:
        return functools.partial(_mapping, parser(arguments[0]), parser(arguments[1]))
    if hint is Any:
        return lambda value: value
    if hint in (str, bool, int):
        return functools.partial(_plain, hint)
    if issubclass(hint, (Specification, Owner)):
        return functools.partial(_record, hint)
    return hint  # type: ignore[no-any-return]


def _plain(kind: type, value: Any) -> Any:
    if value.__class__ is not kind:
        raise ValueInvalid(f"{short(value)} is no {kind.__name__}")
    return value


def _one_of(known: tuple[Any, ...], value: Any) -> Any:
    if value not in known:
        raise ValueInvalid(f"{short(value)} is none of {', '.join(map(str, known))}")
    return value


def _sequence(item: Parser, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueInvalid(f"{short(value)} is no list")
    return tuple(map(item, value))


def _tuple(items: tuple[Parser, ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)) or len(value) != len(items):
        raise ValueInvalid(f"{short(value)} is no list of {len(items)}")
    return tuple(parse(one) for parse, one in zip(items, value, strict=True))


def _mapping(key: Parser, item: Parser, value: Any) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        raise ValueInvalid(f"{short(value)} is no mapping")
    return {key(name): item(one) for name, one in value.items()}


def _record(kind: type, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise ValueInvalid(f"{short(value)} is no {kind.__name__}")
    try:
        # An owner is no specification and takes anything.
        return kind(**({name: Name(one) for name, one in value.items()} if kind is Owner else value))
    except TypeError:
        # What is said by Python has the names in it that somebody gave, however long and with whatever in them.
        known = {item.name for item in fields(kind)}
        strange = next((short(name) for name in value if name not in known), "fields that lack")
        raise ValueInvalid(f"no {kind.__name__} can be made with {strange}") from None
