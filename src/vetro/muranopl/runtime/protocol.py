"""`Runtime`: what compiled code, linked classes and objects may ask of the run that they belong to.

`vetro.muranopl.session.Session` is the one class that has all of it; everything below the session knows these protocols
only. So classes need not import the compiler that compiles them, objects not the store that makes them, and neither
of them the session. Nothing is tested against the protocols at run time.

`MuranoContext` is what compiled code has of them: its class and its run, the ``cx`` of every library function called
from that class's code (SEMANTICS 2.3: names are resolved in the class that contains the code, not in the object's).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from vetro.data_classes import dataclass
from vetro.muranopl.errors import ClassNotFound
from vetro.yaql.context import CodeContext

if TYPE_CHECKING:
    from vetro.muranopl.contracts.model import Contract
    from vetro.muranopl.declarations.tree import ArgumentDecl, ClassDecl, MethodDecl, PropertyDecl, PropertyUsage
    from vetro.muranopl.package_resolver import PackageResolver
    from vetro.muranopl.runtime.execution import MuranoExecution
    from vetro.muranopl.runtime.scheduler import Scheduler
    from vetro.yaql.context import Dialect
    from vetro.yaql.parser import ParserDialect
    from vetro.yaql.redact import Secrets


class LinkedProperty(Protocol):
    """A property as one class declares it (`vetro.muranopl.types.members.Property`)."""

    name: str
    attr: str
    usage: PropertyUsage
    decl: PropertyDecl

    @property
    def declaring(self) -> LinkedClass: ...
    @property
    def location(self) -> str: ...
    @property
    def writable(self) -> bool: ...
    @property
    def has_default(self) -> bool: ...
    @property
    def evaluator(self) -> Callable[[Any], Any]: ...
    @property
    def transform(self) -> Callable[[Any, Any], Any]: ...
    def default(self, this: Any) -> Any: ...
    def apply(self, value: Any, this: Any) -> Any: ...
    def validate(self, value: Any, this: Any) -> None: ...


class LinkedMethod(Protocol):
    """A method as one class has it (`vetro.muranopl.types.members.Method`)."""

    name: str
    decl: MethodDecl | None
    native: Any

    @property
    def declaring(self) -> LinkedClass: ...
    @property
    def public(self) -> bool: ...
    @property
    def static(self) -> bool: ...
    @property
    def extension(self) -> bool: ...
    @property
    def arguments(self) -> tuple[ArgumentDecl, ...]: ...
    @property
    def function(self) -> Callable[..., Any]: ...
    def invoke(self, receiver: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None) -> Any: ...
    def call(
        self, function: Callable[..., Any], this: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any: ...
    def call_plain(
        self, function: Callable[..., Any], this: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any: ...
    def check_given(self, this: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None: ...
    def mismatch(self, python_text: str) -> str: ...
    def accepts_receiver(self, value: Any) -> bool: ...
    def bind_receiver(self, value: Any) -> Callable[..., Any]: ...


class LinkedClass(Protocol):
    """A class in one version, linked in one run (`vetro.muranopl.types.murano_type.MuranoType`)."""

    name: str
    key: str
    qualified: str
    decl: ClassDecl
    package: Any
    version: Any
    native: Any
    is_meta: bool

    @property
    def session(self) -> Runtime: ...
    @property
    def type_object(self) -> Any: ...
    @property
    def context(self) -> MuranoContext: ...
    @property
    def pyclass(self) -> Any: ...
    @property
    def config(self) -> Mapping[str, Any]: ...
    @property
    def parents(self) -> tuple[LinkedClass, ...]: ...
    @property
    def ancestors(self) -> tuple[LinkedClass, ...]: ...
    @property
    def own_properties(self) -> Mapping[str, LinkedProperty]: ...
    @property
    def own_methods(self) -> Mapping[str, LinkedMethod]: ...
    @property
    def property_owners(self) -> Mapping[str, tuple[LinkedClass, ...]]: ...
    @property
    def method_owners(self) -> Mapping[str, tuple[LinkedClass, ...]]: ...
    @property
    def properties(self) -> Mapping[str, LinkedProperty]: ...
    @property
    def methods(self) -> Mapping[str, LinkedMethod]: ...
    def derives_from(self, other: LinkedClass) -> bool: ...
    def find_property(self, name: str) -> LinkedProperty | None: ...
    def find_method(self, name: str) -> LinkedMethod | None: ...
    def property_chain(self, name: str) -> tuple[LinkedProperty, ...]: ...
    def method_names(self) -> Iterator[str]: ...
    def ambiguous(self, name: str) -> bool: ...
    def declared_names(self) -> frozenset[str]: ...
    def extensions(self, name: str) -> tuple[LinkedMethod, ...]: ...
    def extension_names(self) -> frozenset[str]: ...
    def resolve_class(self, name: str, version_spec: str | None = None) -> LinkedClass: ...
    def read_static(self, prop: LinkedProperty) -> Any: ...
    def write_static(self, prop: LinkedProperty, value: Any) -> None: ...


class Compiler(Protocol):
    """Python functions of methods, contracts and templates (`vetro.muranopl.compiler.compiler`)."""

    def method(self, decl: MethodDecl, owner: LinkedClass) -> Callable[..., Any]: ...
    def contract(
        self, contract: Contract, owner: LinkedClass, *, strict: bool, name: str
    ) -> Callable[[Any, Any], Any]: ...
    def default(self, default: Any, owner: LinkedClass) -> Callable[[Any], Any]: ...


class Classes(Protocol):
    """The linked classes of a run (`vetro.muranopl.types.linker.TypeRegistry`)."""

    def find_from(self, package: Any, name: str, version_spec: str | None = None) -> LinkedClass: ...
    def in_package(self, package: Any, name: str) -> LinkedClass: ...
    def core(self, name: str) -> LinkedClass: ...
    def has_values(self, linked: Any) -> None: ...


class Dialects(Protocol):
    """The dialects of expressions by package format (`vetro.muranopl.functions.dialects.DialectSet`)."""

    def get(self, version: Any, core: bool = False) -> Dialect: ...


class Objects(Protocol):
    """The objects of a run (`vetro.muranopl.objects.store.ObjectStore`). They are `Any` here: see `MuranoObject`."""

    root: Any
    removed: list[Any]
    #: What the serialiser keeps about classes.
    output_plans: dict[Any, Any]
    reference_plans: dict[Any, frozenset[str]]

    def __iter__(self) -> Iterator[Any]: ...
    def get(self, object_id: str) -> Any: ...
    def require(self, object_id: str) -> Any: ...
    def is_alive(self, object_id: str) -> bool: ...
    def pinned(self) -> Iterable[Any]: ...
    def pin(self, obj: Any) -> None: ...
    def discard(self, obj: Any) -> None: ...
    def create(
        self,
        type_: LinkedClass,
        properties: Mapping[str, Any],
        owner: Any = None,
        name: str | None = None,
        header: Mapping[Any, Any] | None = None,
        keep_id: bool = False,
    ) -> Any: ...
    def from_mapping(
        self, mapping: Mapping[Any, Any], default_type: LinkedClass | None, owner: Any, context_type: LinkedClass | None
    ) -> Any: ...
    def template_from_mapping(
        self,
        value: Mapping[Any, Any],
        cx: MuranoContext,
        this: Any,
        type_: LinkedClass,
        default: LinkedClass | None,
        spec: str | None,
        exclude: Sequence[str],
    ) -> Any: ...
    def template_from_object(self, obj: Any, exclude: Sequence[str]) -> Any: ...


class Attributes(Protocol):
    """Values that code attaches to objects (`vetro.muranopl.objects.attributes.AttributeStore`)."""

    def load(self, rows: Iterable[Any]) -> None: ...
    def rows(self, ids: Any) -> list[list[Any]]: ...
    def forget(self, object_id: str) -> None: ...


class MetaStore(Protocol):
    """The meta objects of a run (`vetro.muranopl.types.meta.MetaObjects`)."""

    def of(self, thing: Any) -> list[Any]: ...
    def declared(self, thing: Any) -> list[tuple[Any, Any]]: ...


class Runtime(Protocol):
    """One run, as everything below the session sees it."""

    rt: MuranoExecution
    #: The secret values that the run has met.
    redaction: Secrets
    scheduler: Scheduler
    resolver: PackageResolver
    natives: Any
    code_cache: Any
    functions_key: str
    tier: str
    #: Whether methods may be replaced by mocks.
    mocking: bool

    @property
    def compiler(self) -> Compiler: ...
    @property
    def dialects(self) -> Dialects: ...
    @property
    def types(self) -> Classes: ...
    @property
    def store(self) -> Objects: ...
    @property
    def attributes(self) -> Attributes: ...
    @property
    def meta_objects(self) -> MetaStore: ...

    def type_for(self, name: str, version: str | None = None, package: str | None = None) -> LinkedClass: ...
    def class_config(self, name: str, version: Any) -> Mapping[str, Any]: ...
    def meta_of(self, thing: Any) -> list[Any]: ...
    def evaluate(self, template: Any, owner: LinkedClass | None) -> Any: ...
    def new_id(self) -> str: ...
    def set_apart(self, label: str) -> AbstractContextManager[None]: ...
    def call_init(self, obj: Any, args: Mapping[str, Any]) -> None: ...
    def perform(self, kind: str, args: dict[str, Any]) -> Any: ...
    def warn(self, text: str) -> None: ...


@dataclass(slots=True, eq=False)
class MuranoContext(CodeContext):
    """The code context of one class in one session."""

    session: Runtime = None  # type: ignore[assignment]
    type: LinkedClass = None  # type: ignore[assignment]

    @property
    def grammar(self) -> ParserDialect:
        """The grammar of the class's expressions."""
        grammar: ParserDialect = self.dialect.grammar  # type: ignore[attr-defined]
        return grammar

    def resolve(self, name: Any, version_spec: str | None = None) -> LinkedClass:
        """The class ``name`` means here: text as written in the class's file, a type object, a reflection type.

        Raises `ClassNotFound` or `PackageNotFound` where the package's requirements do not reach it.
        """
        if isinstance(name, str):
            return self.type.resolve_class(name, version_spec)
        found = getattr(name, "type", None)
        if found is None or not hasattr(found, "ancestors"):
            raise ClassNotFound(str(name))
        return found  # type: ignore[no-any-return]

    def find_extension(self, name: str, receiver: Any) -> Callable[..., Any] | None:
        """An extension method visible in this class that accepts ``receiver`` (SEMANTICS 8.3), bound to it."""
        for method in self.type.extensions(name):
            if method.accepts_receiver(receiver):
                return method.bind_receiver(receiver)
        return None
