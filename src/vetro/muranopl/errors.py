"""What can go wrong in MuranoPL: one class a kind, with code, old aliases and the position where known.

Codes and kinds are stable and listed in `docs/errors.md`; the aliases are the dotted names of the retired engine that
packages name in ``Catch`` (SEMANTICS 10.6).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from vetro.diagnostics import Text
from vetro.yaql.brief import brief
from vetro.yaql.errors import VetroError
from vetro.yaql.values import MISSING

OLD = "murano.dsl.exceptions."
#: Characters of a thrown message that are shown; code sees all of it.
SHOWN_TEXT = 4000


class MuranoError(VetroError):
    """Root of the language's own errors. ``position`` is a `expressions.Position` where one is known."""

    code = "MPL000"
    position: Any = None
    #: ``error``, or ``warning`` for what `vetro check` reports though nothing breaks.
    severity: str = "error"

    def __init__(self, message: str = "", *, position: Any = None, hint: str | None = None) -> None:
        super().__init__(message or (self.__doc__ or "").split("\n")[0])
        self.position = position
        if hint is not None:
            self.hint = hint


class DslSyntaxError(MuranoError):
    """A declaration or instruction is malformed."""

    kind = "syntax"
    code = "MPL100"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "DslSyntaxError", "SyntaxError")


class DeclarationError(MuranoError):
    """A declaration lacks a mandatory key or has a value that is not allowed."""

    kind = "value-error"
    code = "MPL101"
    aliases: ClassVar[tuple[str, ...]] = ("ValueError",)


class MissingKey(DeclarationError):
    """A mandatory key is missing."""

    kind = "key-error"
    code = "MPL102"
    aliases: ClassVar[tuple[str, ...]] = ("KeyError",)


class SourceError(MuranoError):
    """The file is no valid YAML, or holds what package files may not hold."""

    kind = "syntax"
    code = "MPL103"


class UnknownPrefix(MuranoError):
    """A namespace prefix that the class does not declare."""

    kind = "key-error"
    code = "MPL104"
    aliases: ClassVar[tuple[str, ...]] = ("KeyError",)

    def __init__(self, prefix: str, name: str) -> None:
        super().__init__(
            Text("unknown namespace prefix '{prefix}' in '{name}'", prefix=prefix, name=name),
            hint=Text("declare it under Namespaces"),
        )


class ContractSyntax(MuranoError):
    """A contract that cannot be one, found when it is used."""

    kind = "contract-syntax"
    code = "MPL110"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "DslContractSyntaxError",)


class InvalidInheritance(MuranoError):
    """A class extends what it may not."""

    kind = "invalid-inheritance"
    code = "MPL111"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "InvalidInheritanceError",)


class InvalidAssignmentTarget(MuranoError):
    """The left side of an assignment cannot be assigned to."""

    kind = "invalid-assignment-target"
    code = "MPL112"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "InvalidLhsTargetError",)


class AssignmentToThis(InvalidAssignmentTarget):
    """``$``, ``$this``, an unset variable or a scalar stand where something assignable must."""

    kind = "value-error"
    code = "MPL113"
    hint = Text("assign to a variable ($name) or to a property ($.name)")
    aliases: ClassVar[tuple[str, ...]] = (OLD + "InvalidLhsTargetError", "ValueError")


class AssignmentToCall(InvalidAssignmentTarget):
    """A call, an operator or a literal stands on the left side."""

    kind = "unresolved-call"
    code = "MPL114"
    hint = Text("put the result into a variable first, then assign to $variable.key")
    aliases: ClassVar[tuple[str, ...]] = (
        OLD + "InvalidLhsTargetError",
        "yaql.language.exceptions.NoFunctionRegisteredException",
    )


class InvalidExceptionName(MuranoError):
    """A name in ``Throw`` that cannot be one."""

    kind = "value-error"
    code = "MPL401"
    hint = Text("write words of letters and digits, with dots between them")
    aliases: ClassVar[tuple[str, ...]] = ("ValueError",)


class ContractViolation(MuranoError):
    """A value does not fit the contract.

    ``location`` is the conformance form `Class.prop['a'][0]` or `Class::method(arg[0])`; ``path`` collects the keys
    while the error travels outwards, and `at` renders both.
    """

    kind = "contract-violation"
    code = "MPL200"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "ContractViolationException",)

    def __init__(self, message: str = "", *, path: Iterable[Any] = (), position: Any = None) -> None:
        super().__init__(message or Text("value violates the contract"), position=position)
        self.path: list[Any] = list(path)
        self.location: str | None = None

    def with_prefix(self, step: Any) -> ContractViolation:
        """Adds one step (index or key) in front of the path and returns the error itself; `MISSING` adds none."""
        if step is not MISSING:
            self.path.insert(0, step)
        return self

    def located(self, place: str) -> ContractViolation:
        """Names the property or argument once; ``place`` is ``Class.prop`` or ``Class::method(arg``."""
        if self.location is None:
            path = "".join(f"[{brief(step)}]" for step in self.path)
            self.location = f"{place}{path})" if "(" in place else f"{place}{path}"
        return self

    @property
    def message(self) -> str:
        text: str = str(self.args[0])
        return Text("[{location}] {message}", location=self.location, message=text) if self.location else text

    def __str__(self) -> str:
        return self.message


class StructuralViolation(ContractViolation):
    """Wrong shape, length or literal: reported for the whole property (SEMANTICS 6.6)."""

    code = "MPL201"

    def with_prefix(self, step: Any) -> ContractViolation:
        return self


class ClassNotFound(MuranoError):
    """No package that is visible here has the class."""

    kind = "class-not-found"
    code = "MPL300"
    hint = Text("check the spelling, the prefix under Namespaces, and Require in the manifest")
    aliases: ClassVar[tuple[str, ...]] = (OLD + "NoClassFound",)

    def __init__(self, name: str, packages: Iterable[str] = (), **kwargs: Any) -> None:
        where = ", ".join(packages)
        super().__init__(
            (
                Text("class '{name}' is not found in packages {where}", name=name, where=where)
                if where
                else Text("class '{name}' is not found", name=name)
            ),
            **kwargs,
        )
        self.name = name


class PackageNotFound(MuranoError):
    """No package of that name in an allowed version."""

    kind = "package-not-found"
    code = "MPL301"
    hint = Text("add a package with a fitting version, or change Require in the manifest")
    aliases: ClassVar[tuple[str, ...]] = (OLD + "NoPackageFound",)


class PackageForClassNotFound(PackageNotFound):
    """No package has the class in an allowed version."""

    code = "MPL302"
    hint = Text("add the package that has the class, or mend the 'type' in the model")
    aliases: ClassVar[tuple[str, ...]] = (OLD + "NoPackageForClassFound",)


class AmbiguousClass(MuranoError):
    """Several classes of that name."""

    kind = "ambiguous-class"
    code = "MPL303"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "AmbiguousClassName",)


class MethodNotFound(MuranoError):
    """The class has no method of that name."""

    kind = "method-not-found"
    code = "MPL310"
    hint = Text("check the spelling")
    aliases: ClassVar[tuple[str, ...]] = (OLD + "NoMethodFound",)


class AmbiguousMethodName(MuranoError):
    """Several ancestors declare the method and none overrides the others."""

    kind = "ambiguous-method"
    code = "MPL311"
    hint = Text("declare the method in the class itself and call the parents' with super")
    aliases: ClassVar[tuple[str, ...]] = (OLD + "AmbiguousMethodName",)


class MethodNotExposed(MuranoError):
    """The method is not public and cannot be called from outside."""

    kind = "not-an-action"
    code = "MPL312"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "MethodNotExposed",)


class PropertyNotFound(MuranoError):
    """The class has no property of that name."""

    kind = "property-not-found"
    code = "MPL320"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "NoPropertyFound",)


class AmbiguousPropertyName(MuranoError):
    """Several ancestors declare the property and none overrides the others."""

    kind = "ambiguous-property"
    code = "MPL321"
    hint = Text("declare the property in the class itself")
    aliases: ClassVar[tuple[str, ...]] = (OLD + "AmbiguousPropertyNameError",)


class PropertyReadError(MuranoError):
    """The property cannot be read from here."""

    kind = "property-not-readable"
    code = "MPL322"
    hint = Text("declare it under Properties of its class; what is not declared is private to the code that sets it")
    aliases: ClassVar[tuple[str, ...]] = (OLD + "PropertyReadError", OLD + "PropertyAccessError")


class PropertyWriteError(MuranoError):
    """The property cannot be written from here."""

    kind = "property-not-writable"
    code = "MPL323"
    hint = Text("only objects and classes have properties")
    aliases: ClassVar[tuple[str, ...]] = (OLD + "PropertyWriteError", OLD + "PropertyAccessError")


class NoWriteAccess(MuranoError):
    """The property's usage does not let code write it."""

    kind = "no-write-access"
    code = "MPL324"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "NoWriteAccessError", OLD + "PropertyAccessError")


class UninitializedProperty(MuranoError):
    """The property has no value yet."""

    kind = "uninitialized-property"
    code = "MPL325"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "UninitializedPropertyAccessError", OLD + "PropertyAccessError")


class CircularDefaults(MuranoError):
    """Defaults depend on each other in a circle."""

    kind = "circular-defaults"
    code = "MPL326"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "CircularExpressionDependenciesError",)


class ObjectNotFound(MuranoError):
    """No object has that id."""

    kind = "object-not-found"
    code = "MPL330"
    hint = Text("give the id of an object that the model defines")
    aliases: ClassVar[tuple[str, ...]] = (OLD + "NoObjectFoundError",)


class ObjectDestroyed(MuranoError):
    """The object is destroyed."""

    kind = "object-destroyed"
    code = "MPL331"
    hint = Text("forget references to an object in the handler of its destruction, or ask GC.isDestroyed first")
    aliases: ClassVar[tuple[str, ...]] = (OLD + "ObjectDestroyedError",)


class InvalidOperation(MuranoError):
    """Not possible in this state."""

    kind = "invalid-operation"
    code = "MPL340"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "DslInvalidOperationError",)


class LoopControlOutside(InvalidOperation):
    """Break or Continue outside a loop."""

    code = "MPL341"
    hint = Text("Break and Continue belong into For, While or Repeat; Return leaves a method")


class NestingLimit(MuranoError):
    """Calls or owned objects are nested deeper than the limit."""

    kind = "limit-exceeded"
    code = "LIM110"
    hint = Text("look for a call that leads back to itself without a condition that ends it")
    aliases: ClassVar[tuple[str, ...]] = ("RecursionError",)


class Thrown(MuranoError):
    """Raised by ``Throw``: names (full), message of any type, extra mapping, cause."""

    #: Throwing is on the hot path of loops: making a mapping of attributes takes a third of it.
    __slots__ = ("cause", "extra", "names", "value")

    kind = "thrown"
    code = "MPL400"

    def __init__(self, names: tuple[str, ...], message: Any = None, extra: Any = None, cause: Any = None) -> None:
        # No call of the base initialiser: the text is made when it is read.
        self.names = names
        self.value = message
        self.extra = extra
        self.cause = cause

    @property
    def message(self) -> str:
        value = self.value
        if isinstance(value, str):
            shown = value if len(value) <= SHOWN_TEXT else value[:SHOWN_TEXT] + "…"
        else:
            shown = brief(value)  # a whole structure as text may be endless
        return f"[{', '.join(self.names)[:SHOWN_TEXT]}]: {shown}"

    def __str__(self) -> str:
        return self.message
