"""What a MuranoPL file declares, after reading and before linking.

Frozen data with positions, no behaviour beyond look-ups. `reader.py` builds it from YAML, the type linker, the
compiler, the contract compiler, the schema generator and `vetro check` read it. Names that refer to classes are kept
as written together with the namespaces they are to be resolved in (SEMANTICS 2).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Union

from vetro.data_classes import dataclass
from vetro.muranopl.contracts.model import Contract
from vetro.muranopl.errors import UnknownPrefix
from vetro.muranopl.expressions import Expression as Expression
from vetro.muranopl.expressions import ListTemplate as ListTemplate
from vetro.muranopl.expressions import Literal as Literal
from vetro.muranopl.expressions import MapTemplate as MapTemplate
from vetro.muranopl.expressions import Position as Position
from vetro.muranopl.expressions import Template as Template

EMPTY: Mapping[Any, Any] = MappingProxyType({})


# -- declarations -----------------------------------------------------------------------------------------------------


class _NoDefault:
    """Marks the absence of ``Default`` (null is a default of its own)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<no default>"

    def __bool__(self) -> bool:
        return False


NO_DEFAULT = _NoDefault()


class PropertyUsage(enum.Enum):
    """SEMANTICS 5.1."""

    IN = "In"
    OUT = "Out"
    IN_OUT = "InOut"
    CONST = "Const"
    RUNTIME = "Runtime"
    STATIC = "Static"
    CONFIG = "Config"


class ArgumentUsage(enum.Enum):
    """SEMANTICS 7.1."""

    STANDARD = "Standard"
    VAR_ARGS = "VarArgs"
    KW_ARGS = "KwArgs"


class MethodUsage(enum.Enum):
    """Seed 002, Method usage."""

    RUNTIME = "Runtime"
    STATIC = "Static"
    EXTENSION = "Extension"
    ACTION = "Action"


class MethodScope(enum.Enum):
    """Seed 002, Method scope."""

    SESSION = "Session"
    PUBLIC = "Public"


class ClassUsage(enum.Enum):
    """Ordinary classes and meta-classes (SEMANTICS 4.1, 14)."""

    CLASS = "Class"
    META = "Meta"


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Prefix -> dotted namespace; ``=`` is the default one. Null namespaces are kept as ''."""

    prefixes: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    def resolve(self, name: str) -> str:
        """The full class name for ``name`` by SEMANTICS 2.2. Raises `muranopl.errors.UnknownPrefix`."""
        if ":" in name:
            prefix, short = name.split(":", 1)
            if not prefix:
                prefix = "="
            if prefix not in self.prefixes:
                if prefix == "=":
                    return short
                raise UnknownPrefix(prefix, name)
            space = self.prefixes[prefix]
        elif "." in name:
            return name
        else:
            short, space = name, self.prefixes.get("=", "")
        return f"{space}.{short}" if space else short


@dataclass(frozen=True, slots=True)
class MetaDecl:
    """One attached meta object: class name as written and its property values."""

    name: str
    properties: Mapping[str, Template]
    position: Position


@dataclass(frozen=True, slots=True)
class PropertyDecl:
    """A declared property."""

    name: str
    usage: PropertyUsage
    contract: Contract
    default: Template | _NoDefault
    meta: tuple[MetaDecl, ...]
    position: Position


@dataclass(frozen=True, slots=True)
class ArgumentDecl:
    """A declared method argument."""

    name: str
    usage: ArgumentUsage
    contract: Contract
    default: Template | _NoDefault
    meta: tuple[MetaDecl, ...]
    position: Position


@dataclass(frozen=True, slots=True)
class MethodDecl:
    """A declared method. ``.init``/``.destroy`` carry those names."""

    name: str
    usage: MethodUsage
    scope: MethodScope
    arguments: tuple[ArgumentDecl, ...]
    body: Block
    meta: tuple[MetaDecl, ...]
    position: Position

    @property
    def static(self) -> bool:
        """Callable without an object."""
        return self.usage in (MethodUsage.STATIC, MethodUsage.EXTENSION)

    @property
    def public(self) -> bool:
        """Callable from outside (SEMANTICS 7.5)."""
        return self.scope is MethodScope.PUBLIC or self.usage is MethodUsage.ACTION


@dataclass(frozen=True, slots=True)
class ClassDecl:
    """One class document of a file, with its full name."""

    name: str
    namespaces: Namespaces
    usage: ClassUsage
    #: Names as written; empty means io.murano.Object.
    extends: tuple[str, ...]
    properties: Mapping[str, PropertyDecl]
    methods: Mapping[str, MethodDecl]
    imports: tuple[str, ...]
    meta: tuple[MetaDecl, ...]
    position: Position
    #: Meta-classes only: 'One' | 'Many', the places it may be applied to, and whether it is inherited.
    cardinality: str = "One"
    applies: frozenset[str] = frozenset({"All"})
    inherited: bool = False
    #: Content hash of the whole file (hex), for the compile cache.
    digest: str = ""


# -- instructions (SEMANTICS 9) ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Evaluate:
    """An expression run for its effects."""

    expression: Expression
    position: Position


@dataclass(frozen=True, slots=True)
class Assign:
    """``target: value``; the target is checked for being assignable when it is compiled."""

    target: Expression
    value: Template
    position: Position


@dataclass(frozen=True, slots=True)
class Do:
    body: Block
    position: Position


@dataclass(frozen=True, slots=True)
class Return:
    value: Template
    position: Position


@dataclass(frozen=True, slots=True)
class Break:
    position: Position


@dataclass(frozen=True, slots=True)
class Continue:
    position: Position


@dataclass(frozen=True, slots=True)
class If:
    condition: Template
    then: Block
    orelse: Block
    position: Position


@dataclass(frozen=True, slots=True)
class While:
    condition: Expression
    body: Block
    position: Position


@dataclass(frozen=True, slots=True)
class For:
    variable: str
    collection: Template
    body: Block
    position: Position


@dataclass(frozen=True, slots=True)
class Repeat:
    count: Template
    body: Block
    position: Position


@dataclass(frozen=True, slots=True)
class LazyBlock:
    """A branch body of Match or Switch: parsed when first executed (SEMANTICS 4.3).

    ``parse()`` gives the block or raises the syntax error; the result is kept.
    """

    source: Any
    parse: Any  # Callable[[], Block]
    position: Position


@dataclass(frozen=True, slots=True)
class Match:
    value: Template
    #: (literal key, branch)
    cases: tuple[tuple[Any, LazyBlock], ...]
    default: LazyBlock | None
    position: Position


@dataclass(frozen=True, slots=True)
class Switch:
    #: (condition, branch), in file order
    cases: tuple[tuple[Template, LazyBlock], ...]
    default: LazyBlock | None
    position: Position


@dataclass(frozen=True, slots=True)
class Parallel:
    body: Block
    limit: Template | None
    position: Position


@dataclass(frozen=True, slots=True)
class Throw:
    #: A name or a list of names (or expressions giving them).
    names: Template
    message: Template | None
    extra: Template | None
    cause: Template | None
    position: Position


@dataclass(frozen=True, slots=True)
class Handler:
    """One ``Catch`` entry; no names catches everything."""

    names: tuple[str, ...]
    variable: str | None
    body: Block | None
    position: Position


@dataclass(frozen=True, slots=True)
class Try:
    body: Block
    handlers: tuple[Handler, ...]
    orelse: Block
    final: Block
    position: Position


@dataclass(frozen=True, slots=True)
class Rethrow:
    position: Position


Instruction = Union[
    Evaluate, Assign, Do, Return, Break, Continue, If, While, For, Repeat, Match, Switch, Parallel, Throw, Try, Rethrow
]
Block = tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """All classes of one file, by full name, in document order."""

    file: str
    classes: Mapping[str, ClassDecl] = field(default_factory=dict)
    #: Whether a class without Name has the name that was looked for; else the file says the same to whoever looks.
    nameless: bool = False
