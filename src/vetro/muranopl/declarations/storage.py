"""Declarations as plain data for the compile cache, and back (docs/internals.md, "The cache").

Everything a linked class needs is kept: names, usages, contracts, defaults, arguments. Expressions come back with their
text and are parsed only when somebody looks at the tree; method bodies come back only by reading the file again, which
happens when a method is not in the code cache. `marshal` can hold the result. What of a member is wanted late is
marshalled on its own: thousands of tuples would be made, and walked by the garbage collector, that nobody looks at.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from vetro.muranopl.contracts.model import Chain, ContractExpression, ContractList, ContractMap
from vetro.muranopl.contracts.resolver import chain_of
from vetro.muranopl.declarations import tree as d
from vetro.yaql import ast
from vetro.yaql.parser import MURANO, parse
from vetro.yaql.values import SCALARS, freeze, thaw

#: Part of the cache key: change it with the shape of the data.
VERSION = 5


class StoredExpression(d.Expression):
    """An expression whose tree is made when first read."""

    __slots__ = ()

    @property
    def node(self) -> ast.Node:
        """The syntax tree."""
        return _parsed(self.text)


class StoredContract(ContractExpression):
    """A contract's expression whose tree and steps are made when first read."""

    __slots__ = ()

    @property
    def node(self) -> ast.Node:
        """The syntax tree."""
        return _parsed(self.text)

    @property
    def chain(self) -> Chain | None:
        """The steps."""
        return chain_of(_parsed(self.text))


@lru_cache(maxsize=50_000)
def _parsed(text: str) -> ast.Node:
    return parse(text, MURANO)


class _Late:
    """A field of a declaration that is decoded when first read; the parent's slot keeps it."""

    __slots__ = ("_make", "_slot")

    def __init__(self, base: type, name: str, make: Callable[[Any], Any]) -> None:
        self._slot: Any = base.__dict__[name]
        self._make = make

    def __get__(self, decl: Any, owner: type | None = None) -> Any:
        if decl is None:
            return self
        try:
            return self._slot.__get__(decl, owner)
        except AttributeError:
            made = self._make(decl)
            self._slot.__set__(decl, made)
            return made

    def __set__(self, decl: Any, value: Any) -> None:
        self._slot.__set__(decl, value)


class StoredProperty(d.PropertyDecl):
    """A property of which only name and usage are there at first."""

    __slots__ = ("_decoder", "_details", "bare")
    _decoder: _Decoder
    _details: bytes
    #: Without meta, as can be seen without decoding.
    bare: bool

    contract = _Late(d.PropertyDecl, "contract", lambda p: p._decoder.value(marshal.loads(p._details)[0]))
    default = _Late(d.PropertyDecl, "default", lambda p: p._decoder.value(marshal.loads(p._details)[1]))
    meta = _Late(d.PropertyDecl, "meta", lambda p: p._decoder.meta(marshal.loads(p._details)[2]))
    position = _Late(d.PropertyDecl, "position", lambda p: p._decoder.position(marshal.loads(p._details)[3]))


class StoredMethod(d.MethodDecl):
    """A method of which only name, usage and scope are there at first; its body is read from the file."""

    __slots__ = ("_body", "_decoder", "_details", "_owner", "bare")
    _body: d.Block | None
    _decoder: _Decoder
    _details: bytes
    _owner: str
    #: Without meta, also of its arguments, as can be seen without decoding.
    bare: bool

    arguments = _Late(
        d.MethodDecl, "arguments", lambda m: tuple(map(m._decoder.argument, marshal.loads(m._details)[0]))
    )
    meta = _Late(d.MethodDecl, "meta", lambda m: m._decoder.meta(marshal.loads(m._details)[1]))
    position = _Late(d.MethodDecl, "position", lambda m: m._decoder.position(marshal.loads(m._details)[2]))

    @property
    def body(self) -> d.Block:
        """The instructions, from the class file."""
        if self._body is None:
            found = self._decoder.read().classes[self._owner].methods[self.name].body
            object.__setattr__(self, "_body", found)
        assert self._body is not None
        return self._body


# -- to plain data -----------------------------------------------------------------------------------------------------


def _position(position: d.Position) -> tuple[int, int, int, int]:
    return position.line, position.column, position.end_line, position.end_column


def _plain(value: Any) -> Any:
    """A template or contract as nested tuples; the first item tells the kind."""
    if isinstance(value, d.Expression):
        return (
            "C" if isinstance(value, ContractExpression) else "E",
            value.text,
            _position(value.position),
            value.offsets,
        )
    if isinstance(value, d.Literal):
        return "L", value.value if value.value.__class__ in SCALARS else thaw(value.value), _position(value.position)
    if isinstance(value, d.ListTemplate):
        return "T", tuple(map(_plain, value.items)), _position(value.position)
    if isinstance(value, d.MapTemplate):
        return "M", tuple((_plain(k), _plain(v)) for k, v in value.pairs), _position(value.position)
    if isinstance(value, ContractList):
        return "l", tuple(map(_plain, value.items)), value.minimum, value.maximum, _position(value.position)
    if isinstance(value, ContractMap):
        entries = tuple((k, _plain(c)) for k, c in value.entries)
        rest = tuple((_plain(k), _plain(c)) for k, c in value.rest)
        return "m", entries, rest, value.open, _position(value.position)
    return None


def _meta(metas: tuple[d.MetaDecl, ...]) -> tuple[Any, ...]:
    return tuple((m.name, tuple((n, _plain(v)) for n, v in m.properties.items()), _position(m.position)) for m in metas)


def _slot(decl: d.PropertyDecl | d.ArgumentDecl) -> tuple[Any, ...]:
    return (
        decl.name,
        decl.usage.value,
        _plain(decl.contract),
        _plain(decl.default),
        _meta(decl.meta),
        _position(decl.position),
    )


def _property(decl: d.PropertyDecl) -> tuple[Any, ...]:
    name, usage, *details = _slot(decl)
    return name, usage, not decl.meta, marshal.dumps(details)


def _method(decl: d.MethodDecl) -> tuple[Any, ...]:
    details = tuple(map(_slot, decl.arguments)), _meta(decl.meta), _position(decl.position)
    bare = not decl.meta and not any(argument.meta for argument in decl.arguments)
    return decl.name, decl.usage.value, decl.scope.value, bare, marshal.dumps(details)


def encode(source: d.SourceFile) -> tuple[bool, tuple[Any, ...]]:
    """All declarations of a file as data that `marshal` takes."""
    classes = []
    for decl in source.classes.values():
        classes.append(
            (
                decl.name,
                tuple(decl.namespaces.prefixes.items()),
                decl.usage.value,
                decl.extends,
                tuple(map(_property, decl.properties.values())),
                tuple(map(_method, decl.methods.values())),
                decl.imports,
                _meta(decl.meta),
                _position(decl.position),
                decl.cardinality,
                tuple(sorted(decl.applies)),
                decl.inherited,
            )
        )
    return source.nameless, tuple(classes)


# -- and back ----------------------------------------------------------------------------------------------------------

_set = object.__setattr__
_PROPERTY_USAGES = {usage.value: usage for usage in d.PropertyUsage}
_ARGUMENT_USAGES = {usage.value: usage for usage in d.ArgumentUsage}
_METHOD_USAGES = {usage.value: usage for usage in d.MethodUsage}
_METHOD_SCOPES = {scope.value: scope for scope in d.MethodScope}


class _Decoder:
    def __init__(self, file: str, read: Callable[[], d.SourceFile], digest: str) -> None:
        self.file = file
        self.read = read
        self.digest = digest

    def position(self, data: tuple[int, int, int, int]) -> d.Position:
        return d.Position(self.file, *data)

    def value(self, data: Any) -> Any:
        """A template or contract."""
        if data is None:
            return d.NO_DEFAULT
        kind = data[0]
        if kind in ("E", "C"):
            cls = StoredExpression if kind == "E" else StoredContract
            made: d.Expression = cls.__new__(cls)
            _set(made, "text", data[1])
            _set(made, "position", self.position(data[2]))
            _set(made, "offsets", data[3])
            return made
        if kind == "L":
            return d.Literal(freeze(data[1]), self.position(data[2]))
        if kind == "T":
            return d.ListTemplate(tuple(map(self.value, data[1])), self.position(data[2]))
        if kind == "M":
            pairs = tuple((self.value(k), self.value(v)) for k, v in data[1])
            return d.MapTemplate(pairs, self.position(data[2]))
        if kind == "l":
            return ContractList(tuple(map(self.value, data[1])), data[2], data[3], self.position(data[4]))
        entries = tuple((k, self.value(c)) for k, c in data[1])
        rest = tuple((self.value(k), self.value(c)) for k, c in data[2])
        return ContractMap(entries, rest, data[3], self.position(data[4]))

    def meta(self, data: tuple[Any, ...]) -> tuple[d.MetaDecl, ...]:
        if not data:
            return ()
        return tuple(
            d.MetaDecl(name, {n: self.value(v) for n, v in properties}, self.position(place))
            for name, properties, place in data
        )

    def property(self, data: tuple[Any, ...]) -> d.PropertyDecl:
        made = StoredProperty.__new__(StoredProperty)
        _set(made, "name", data[0])
        _set(made, "usage", _PROPERTY_USAGES[data[1]])
        _set(made, "bare", data[2])
        _set(made, "_details", data[3])
        _set(made, "_decoder", self)
        return made

    def argument(self, data: tuple[Any, ...]) -> d.ArgumentDecl:
        name, usage, contract, default, meta, place = data
        return d.ArgumentDecl(
            name,
            _ARGUMENT_USAGES[usage],
            self.value(contract),
            self.value(default),
            self.meta(meta),
            self.position(place),
        )

    def method(self, class_name: str, data: tuple[Any, ...]) -> d.MethodDecl:
        made = StoredMethod.__new__(StoredMethod)
        _set(made, "name", data[0])
        _set(made, "usage", _METHOD_USAGES[data[1]])
        _set(made, "scope", _METHOD_SCOPES[data[2]])
        _set(made, "bare", data[3])
        _set(made, "_details", data[4])
        _set(made, "_body", None)
        _set(made, "_decoder", self)
        _set(made, "_owner", class_name)
        return made

    def declaration(self, data: tuple[Any, ...]) -> d.ClassDecl:
        name, prefixes, usage, extends, properties, methods, imports, meta, place, cardinality, applies, inherited = (
            data
        )
        return d.ClassDecl(
            name=name,
            namespaces=d.Namespaces(dict(prefixes)),
            usage=d.ClassUsage(usage),
            extends=extends,
            properties={p[0]: self.property(p) for p in properties},
            methods={m[0]: self.method(name, m) for m in methods},
            imports=imports,
            meta=self.meta(meta),
            position=self.position(place),
            cardinality=cardinality,
            applies=frozenset(applies),
            inherited=inherited,
            digest=self.digest,
        )


def decode(
    data: tuple[bool, tuple[Any, ...]], file: str, digest: str, read: Callable[[], d.SourceFile]
) -> d.SourceFile:
    """The declarations that `encode` was given; ``read`` reads the file itself when a body is wanted."""
    decoder = _Decoder(file, read, digest)
    nameless, classes = data
    made = [decoder.declaration(c) for c in classes]
    return d.SourceFile(file, {decl.name: decl for decl in made}, nameless)
