"""What can go wrong in an expression.

Every class has a ``kind`` (the vocabulary of the conformance cases), a stable ``code`` that `docs/errors.md` lists,
and ``aliases``: dotted names of the retired engine under which packages catch it (SEMANTICS 10.6). Host exceptions
raised by function bodies (`KeyError`, `ValueError`…) pass through unchanged; `kind_of` classifies them.
"""

from __future__ import annotations

from typing import ClassVar

from vetro.yaql.redact import current

OLD = "yaql.language.exceptions."
#: Characters of a message; what is beyond is cut off.
LONGEST_MESSAGE = 4000


class VetroError(Exception):
    """Root of every error that Vetro raises on purpose."""

    kind: ClassVar[str] = "error"
    code: ClassVar[str] = "VET000"
    aliases: ClassVar[tuple[str, ...]] = ()
    #: Says how to mend it; rendered below the message.
    hint: str | None = None

    def __init__(self, *args: object) -> None:
        if args and isinstance(args[0], str) and len(args[0]) > LONGEST_MESSAGE:
            # Names and keys that packages make up may have megabytes. Half a secret is not found any more.
            args = (current().text(args[0])[:LONGEST_MESSAGE] + "…", *args[1:])
        super().__init__(*args)

    @property
    def message(self) -> str:
        """The text without class name and position."""
        return str(self.args[0]) if self.args else self.__class__.__name__


class YaqlError(VetroError):
    """Root of the expression language's errors."""

    code = "YAQ000"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "YaqlException",)


class ParsingError(YaqlError):
    """The text is no expression. ``position`` is an offset into it, or None at its end."""

    kind = "syntax"
    code = "YAQ100"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "YaqlParsingException", OLD + "YaqlException")

    def __init__(self, message: str, *, value: object = None, position: int | None = None, text: str = "") -> None:
        super().__init__(message)
        self.value = value
        self.position = position
        self.text = text


class LexicalError(ParsingError):
    """A character that begins no token."""

    code = "YAQ101"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "YaqlLexicalException", *ParsingError.aliases)


class GrammarError(ParsingError):
    """A token where none of its kind may stand."""

    code = "YAQ102"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "YaqlGrammarException", *ParsingError.aliases)


class UnresolvedCall(YaqlError):
    """No function, method or overload fits a call, or several do."""

    kind = "unresolved-call"
    code = "YAQ200"


class NoFunctionRegistered(UnresolvedCall):
    """A function name nobody defined."""

    code = "YAQ201"
    aliases: ClassVar[tuple[str, ...]] = (
        OLD + "NoFunctionRegisteredException",
        OLD + "FunctionResolutionError",
        OLD + "YaqlException",
    )
    #: The name behind the dot, where an attribute was read and no function was called.
    attribute: str | None = None


class NoMethodRegistered(UnresolvedCall):
    """A method name nobody defined for this receiver."""

    code = "YAQ202"
    aliases: ClassVar[tuple[str, ...]] = (
        OLD + "NoMethodRegisteredException",
        OLD + "MethodResolutionError",
        OLD + "YaqlException",
    )


class NoMatchingFunction(UnresolvedCall):
    """The function exists, the arguments fit none of its overloads."""

    code = "YAQ203"
    aliases: ClassVar[tuple[str, ...]] = (
        OLD + "NoMatchingFunctionException",
        OLD + "FunctionResolutionError",
        OLD + "YaqlException",
    )


class NoMatchingMethod(UnresolvedCall):
    """The method exists, receiver or arguments fit none of its overloads."""

    code = "YAQ204"
    aliases: ClassVar[tuple[str, ...]] = (
        OLD + "NoMatchingMethodException",
        OLD + "MethodResolutionError",
        OLD + "YaqlException",
    )


class AmbiguousFunction(UnresolvedCall):
    """Several overloads of a function fit equally well."""

    code = "YAQ205"
    aliases: ClassVar[tuple[str, ...]] = (
        OLD + "AmbiguousFunctionException",
        OLD + "FunctionResolutionError",
        OLD + "YaqlException",
    )


class AmbiguousMethod(UnresolvedCall):
    """Several overloads of a method fit equally well."""

    code = "YAQ206"
    aliases: ClassVar[tuple[str, ...]] = (
        OLD + "AmbiguousMethodException",
        OLD + "MethodResolutionError",
        OLD + "YaqlException",
    )


class MappingTranslation(YaqlError):
    """The left side of ``=>`` in a call is no bare word."""

    kind = "unresolved-call"
    code = "YAQ207"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "MappingTranslationException", OLD + "YaqlException")


class NoItems(YaqlError):
    """A query wanted an item and the collection had none (or not exactly one)."""

    kind = "value-error"
    code = "YAQ300"
    aliases: ClassVar[tuple[str, ...]] = ("StopIteration",)


class LimitExceeded(YaqlError):
    """A budget (items, text, integers, nesting, steps, time) ran out."""

    kind = "limit-exceeded"
    code = "LIM100"


class CollectionTooLarge(LimitExceeded):
    """A collection has more items than the limit."""

    code = "LIM101"
    hint = "take only what is needed (limit, where, first), or raise max_sequence"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "CollectionTooLargeException", OLD + "YaqlException")


class MemoryQuotaExceeded(LimitExceeded):
    """A value would need more memory than the limit."""

    code = "LIM102"
    hint = "build less at once, or raise max_expression_memory"
    aliases: ClassVar[tuple[str, ...]] = (OLD + "MemoryQuotaExceededException", OLD + "YaqlException")


class NestingTooDeep(LimitExceeded):
    """Calls or values are nested deeper than the limit."""

    code = "LIM103"
    aliases: ClassVar[tuple[str, ...]] = ("RecursionError",)


class Stop(BaseException):
    """A budget that package code may not outlive: never caught by `Catch`, see docs/internals.md, "Budgets"."""

    kind: ClassVar[str] = "limit-exceeded"
    code: ClassVar[str] = "LIM200"


class StepsExceeded(Stop):
    """The task used up its steps."""

    code = "LIM201"
    hint = "look for a loop that never ends, or raise max_steps"


class TimeExceeded(Stop):
    """The task used up its time."""

    code = "LIM202"
    hint = "look for a loop that never ends, or raise max_seconds"


class Cancelled(Stop):
    """Somebody cancelled the task."""

    kind = "cancelled"
    code = "LIM203"


#: Kind of the host exceptions that function bodies may raise.
HOST_KINDS: dict[type[BaseException], str] = {
    KeyError: "key-error",
    IndexError: "index-error",
    ZeroDivisionError: "zero-division",
    AssertionError: "assertion-failed",
    RecursionError: "limit-exceeded",
    MemoryError: "limit-exceeded",
    ValueError: "value-error",
    OverflowError: "value-error",
    TypeError: "bad-argument",
    AttributeError: "bad-argument",
}


def kind_of(error: BaseException) -> str:
    """The conformance kind of any exception; ``error`` where nothing more exact is known."""
    own = getattr(error, "kind", None)
    if isinstance(own, str):
        return own
    for cls in type(error).__mro__:
        if cls in HOST_KINDS:
            return HOST_KINDS[cls]
    return "error"
