"""JSON Schema of classes and methods (SEMANTICS 17), in draft-04 as the v1 API has it.

Made from declarations and contract trees directly: no contract is run. What needs the running engine comes in through
two functions: `Hints` gives attached meta objects, `EvaluateIn` the value of an expression that does not use ``$``
(the members of an enumeration, say, through a static method).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from vetro.data_classes import dataclass
from vetro.muranopl.contracts.schema import FormTranslator
from vetro.muranopl.contracts.schema_v1 import ContractTranslator, Fallible
from vetro.muranopl.declarations.tree import (
    NO_DEFAULT,
    ArgumentDecl,
    ArgumentUsage,
    Expression,
    Literal,
    MethodDecl,
    MethodUsage,
    PropertyDecl,
    PropertyUsage,
    Template,
    _NoDefault,
)
from vetro.muranopl.package_protocols import CORE_LIBRARY
from vetro.muranopl.schema_draft import DRAFT_2020_12
from vetro.muranopl.schema_hints import Hint, control_hints, field_hints, form_presets, form_sections, text_hints
from vetro.yaql import ast
from vetro.yaql.values import SCALARS, thaw

DRAFT_04: Final = "http://json-schema.org/draft-04/schema#"
MODEL_BUILDER: Final = "io.murano.metadata.ModelBuilder"
_SHOWN = frozenset({PropertyUsage.IN, PropertyUsage.IN_OUT})


class PropertyLike(Protocol):
    """A declared property and the class that declares it."""

    decl: PropertyDecl
    declaring: Any


class MethodLike(Protocol):
    """A method; ``decl`` is None for native ones."""

    decl: MethodDecl | None
    declaring: Any


class TypeLike(Protocol):
    """A linked class (`types.MuranoType`)."""

    name: str
    package: Any

    @property
    def ancestors(self) -> Sequence[Any]:
        """Itself first, then every ancestor once."""

    @property
    def properties(self) -> Mapping[str, Any]:
        """Name -> `PropertyLike`, inherited ones included."""

    @property
    def methods(self) -> Mapping[str, Any]:
        """Name -> `MethodLike`, inherited ones included."""

    def resolve_class(self, name: str, version_spec: str | None = None) -> Any:
        """The class that ``name`` means in this class's file."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument as a thing that meta is attached to."""

    method: Any
    decl: ArgumentDecl


#: The meta objects of a class, property, method or `Argument`, inherited ones included.
Hints = Callable[[Any], Iterable[Hint]]
#: Value of an expression without ``$`` in the names of a class, ``$this`` being the type object; may raise.
EvaluateIn = Callable[[ast.Node, Any], Any]


def class_schemas(
    type_: TypeLike, methods: Iterable[str] | None = None, *, hints: Hints, evaluate: EvaluateIn, form: bool = False
) -> dict[str, dict[str, Any]]:
    """Schemas by method name; the class itself stands under ``''``.

    Without ``methods``: the class and its model builders. With names: each public method that is named, ``''`` for
    the class; unknown and non-public names are left out (SEMANTICS 17.1). ``form``: draft 2020-12 with all that a
    form wants to know (`contracts.schema`, docs/forms/schema.md). Raises what resolving the classes of contracts
    raises, `ClassNotFound` above all.
    """
    maker: _Maker = _FormMaker(type_, hints, evaluate) if form else _Maker(type_, hints, evaluate)
    result: dict[str, dict[str, Any]] = {}
    if methods is None:
        result[""] = maker.of_class()
        for name, method in type_.methods.items():
            if maker.is_builder(method):
                result[name] = maker.of_method(method, builder=True)
        return result
    for name in methods:
        if name == "":
            result[""] = maker.of_class()
            continue
        method = type_.methods.get(name)
        if method is not None and method.decl is not None and method.decl.public and not name.startswith("."):
            result[name] = maker.of_method(method, builder=maker.is_builder(method))
    return result


class _Maker:
    """Makes the schemas of one class."""

    __slots__ = ("_distances", "_evaluate", "_hints", "_translators", "_type")

    _shown = _SHOWN
    _translator: type[ContractTranslator] = ContractTranslator

    def __init__(self, type_: TypeLike, hints: Hints, evaluate: EvaluateIn) -> None:
        self._type = type_
        self._hints = hints
        self._evaluate = evaluate
        self._distances = {id(ancestor): i for i, ancestor in enumerate(type_.ancestors)}
        self._translators: dict[int, ContractTranslator] = {}

    def of_class(self) -> dict[str, Any]:
        """Properties of usage In and InOut."""
        fields: dict[str, Any] = {}
        for name, prop in self._type.properties.items():
            decl = prop.decl
            if decl.usage in self._shown:
                marked = decl.meta or self._redeclared_with_meta(name, prop)
                fields[name] = self._field(decl, prop.declaring, self._told(prop) if marked else ())
        own = self._hints(self._type) if any(a.decl.meta for a in self._type.ancestors) else ()
        return self._root(fields, list(own))

    def _told(self, prop: PropertyLike) -> list[Hint]:
        """What is told of a property: nothing of what the standard library says, since Murano's says nothing."""
        return [hint for hint in self._hints(prop) if hint.declaring.package.name != CORE_LIBRARY]

    def of_method(self, method: MethodLike, builder: bool) -> dict[str, Any]:
        """Arguments that can be given by name; the first one of a model builder is the current model."""
        decl = method.decl
        assert decl is not None
        fields: dict[str, Any] = {}
        rest: Any = False
        for argument in decl.arguments[1 if builder else 0 :]:
            marks = self._hints(Argument(method, argument)) if argument.meta else ()
            if argument.usage is ArgumentUsage.KW_ARGS:
                rest = self._field(argument, method.declaring, ())
            elif argument.usage is ArgumentUsage.STANDARD:
                fields[argument.name] = self._field(argument, method.declaring, marks)
        schema = self._root(fields, list(self._hints(method)))
        schema["additionalProperties"] = rest
        return schema

    def is_builder(self, method: MethodLike) -> bool:
        """Public, static, marked with an enabled ModelBuilder (SEMANTICS 17)."""
        decl = method.decl
        if decl is None or decl.usage is not MethodUsage.STATIC or not decl.public:
            return False
        return any(hint.name == MODEL_BUILDER and hint.values.get("enabled", True) for hint in self._hints(method))

    def _root(self, fields: dict[str, Any], marks: list[Hint]) -> dict[str, Any]:
        schema: dict[str, Any] = {
            "$schema": DRAFT_04,
            "type": "object",
            "properties": fields,
            "additionalProperties": False,
            "formSections": form_sections(marks, self._rank) if marks else {},
        }
        if marks:
            schema.update(text_hints(marks))
        return schema

    def _field(self, decl: PropertyDecl | ArgumentDecl, declaring: Any, marks: Iterable[Hint]) -> dict[str, Any]:
        translator = self._translators.get(id(declaring))
        if translator is None:
            translator = self._translators[id(declaring)] = self._translator(declaring, self._evaluate)
        schema = translator.schema(decl.contract)
        if decl.default is not NO_DEFAULT:
            self._default(schema, decl.default, declaring)
        if marks:
            schema.update(field_hints(marks, self._rank, declaring))
        return schema

    def _default(self, schema: dict[str, Any], default: Template | _NoDefault, declaring: Any) -> None:
        """The raw Default; one with expressions counts only where their value is known without an object."""
        if isinstance(default, Literal):
            value = default.value
            schema["default"] = value if value.__class__ in SCALARS else thaw(value)
        elif isinstance(default, Expression):
            value = Fallible(self._evaluate, declaring).constant(default.node)
            if value is not Fallible.UNKNOWN:
                schema["default"] = value

    def _rank(self, index: int, declaring: Any) -> int:
        """Place of ``index`` among those of the whole hierarchy: of equal ones the inherited goes first (17.4)."""
        return (index + 1) * len(self._distances) - self._distances.get(id(declaring), 0)

    def _redeclared_with_meta(self, name: str, prop: PropertyLike) -> bool:
        """An ancestor's declaration of the same property may hand down meta."""
        for ancestor in prop.declaring.ancestors[1:]:
            declared = ancestor.decl.properties.get(name)
            if declared is not None and declared.meta:
                return True
        return False


class _FormMaker(_Maker):
    """Makes the schemas that forms are made of."""

    __slots__ = ("_declarations",)

    _shown = _SHOWN | {PropertyUsage.CONST}
    _translator = FormTranslator

    def __init__(self, type_: TypeLike, hints: Hints, evaluate: EvaluateIn) -> None:
        super().__init__(type_, hints, evaluate)
        #: How many classes of the hierarchy declare a property.
        self._declarations = Counter(name for a in type_.ancestors for name in a.decl.properties)

    def _told(self, prop: PropertyLike) -> list[Hint]:
        return list(self._hints(prop))

    def of_class(self) -> dict[str, Any]:
        schema = super().of_class()
        type_ = self._type
        fields = schema["properties"]
        for name, prop in type_.properties.items():
            if name in fields:
                self._complete(name, prop, fields[name])
        schema["muranoClass"] = {
            "name": type_.name,
            "version": str(type_.package.version),
            "package": type_.package.name,
            "ancestors": [[a.name, str(a.package.version)] for a in type_.ancestors],
        }
        return schema

    def of_method(self, method: MethodLike, builder: bool) -> dict[str, Any]:
        schema = super().of_method(method, builder)
        decl = method.decl
        assert decl is not None
        schema["muranoMethod"] = {
            "name": decl.name,
            "class": self._type.name,
            "version": str(self._type.package.version),
            "package": self._type.package.name,
            "static": decl.usage is MethodUsage.STATIC,
            "builder": builder,
        }
        if builder and decl.arguments:
            schema["muranoMethod"]["model"] = decl.arguments[0].name
        return schema

    def _root(self, fields: dict[str, Any], marks: list[Hint]) -> dict[str, Any]:
        schema = super()._root(fields, marks)
        schema["$schema"] = DRAFT_2020_12
        presets = form_presets(marks, self._rank)
        return {**schema, "formPresets": presets} if presets else schema

    def _field(self, decl: PropertyDecl | ArgumentDecl, declaring: Any, marks: Iterable[Hint]) -> dict[str, Any]:
        if not marks:
            return super()._field(decl, declaring, ())
        marks = list(marks)
        return {**super()._field(decl, declaring, marks), **control_hints(marks)}

    def _complete(self, name: str, prop: PropertyLike, schema: dict[str, Any]) -> None:
        """What only a property has: its usage, its configured default, its other declarations."""
        if prop.decl.usage is PropertyUsage.CONST:
            schema["usage"] = "Const"
        configured = getattr(prop.declaring, "config", None) or {}
        if name in configured:  # class configuration replaces the Default (SEMANTICS 5.7)
            schema.pop("defaultExpression", None)
            schema["default"] = thaw(configured[name])
        if self._declarations[name] > 1:
            self._redeclared(schema, name, prop)

    def _redeclared(self, schema: dict[str, Any], name: str, prop: PropertyLike) -> None:
        """Contracts of other declarations of the property test the outcome, too (SEMANTICS 5.3)."""
        tests = []
        for ancestor in self._type.ancestors:
            decl = ancestor.decl.properties.get(name)
            if decl is None or ancestor is prop.declaring:
                continue
            other = self._field(decl, ancestor, ())
            if other.pop("serverChecks", False):
                schema["serverChecks"] = True
            for key in ("default", "defaultExpression"):
                other.pop(key, None)
            if any(schema.get(key) != value for key, value in other.items()):
                tests.append(other)
        if tests:
            schema["allOf"] = [*schema.get("allOf", ()), *tests]

    def _default(self, schema: dict[str, Any], default: Template | _NoDefault, declaring: Any) -> None:
        otherwise = schema.pop("default", None)  # what the contract makes of nothing
        super()._default(schema, default, declaring)
        if "default" not in schema and default is not NO_DEFAULT:
            schema["defaultExpression"] = default.text if isinstance(default, Expression) else ""
        elif schema.get("default") is None and otherwise is not None:
            schema["default"] = otherwise
