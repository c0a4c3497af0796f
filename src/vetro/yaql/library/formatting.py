"""``format`` for texts (YAQL.md 4.9): own and small, because Python's reaches attributes and items of live objects.

Fields are ``{}``, ``{0}`` and ``{name}``, with an optional ``!s`` or ``!r`` and a format spec, in which fields may
stand once more (``{0:>{1}}``). Attributes and indexes (``{0.x}``, ``{0[x]}``) are refused. Specs work on plain values
only, and a width or precision is measured before Python builds the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from vetro.yaql.context import CodeContext
from vetro.yaql.library._support import varargs
from vetro.yaql.library._text import host_text, int_text
from vetro.yaql.resolve.signature import Kind, Param, Type, function
from vetro.yaql.types import describe
from vetro.yaql.values import SCALARS

_FIELD = re.compile(r"(?P<name>[^{}!:]*)(?:!(?P<conversion>[^:{}]*))?(?P<colon>:)?")
_SPEC = re.compile(r"(?:.?[<>=^])?[-+ ]?z?#?0?(?P<width>\d*)[_,]?(?:\.(?P<precision>\d+))?[a-zA-Z%]?", re.DOTALL)
_BRACE = re.compile("[{}]")
_WIDEST = 1 << 31


def format_text(cx: CodeContext, template: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """``template`` with its fields replaced by values.

    Raises IndexError and KeyError for fields without a value, ValueError for bad templates and for fields that reach
    into a value, TypeError for a spec on a value that is not plain, `MemoryQuotaExceeded` for a text that would be too
    long.
    """
    return _Formatter(cx, args, kwargs).render(template)


class _Formatter:
    def __init__(self, cx: CodeContext, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self.cx = cx
        self.args = args
        self.kwargs = kwargs
        #: Number of the next `{}`; None once a number was written out.
        self.automatic: int | None = 0
        self.numbered = False
        self.size = 0

    def render(self, template: str, nested: bool = False) -> str:
        parts: list[str] = []
        position = 0
        while position < len(template):
            stop = _next_brace(template, position)
            parts.append(template[position:stop])
            position = stop
            if position >= len(template):
                break
            brace = template[position]
            if template[position : position + 2] == brace * 2 and not nested:
                parts.append(brace)
                position += 2
            elif brace == "}":
                raise ValueError("format(): single '}' in the template; write '}}' for the character")
            else:
                text, position = self.field(template, position + 1, nested)
                parts.append(text)
                self.size += len(text)
                self.cx.rt.check_memory(self.size)
        text = "".join(parts)
        self.cx.rt.check_memory(len(text))
        return text

    def field(self, template: str, start: int, nested: bool) -> tuple[str, int]:
        """The text for the field that begins at ``start``, and where the template goes on."""
        head = _FIELD.match(template, start)
        assert head is not None  # every part of the pattern may be empty
        position = head.end()
        spec = ""
        if head["colon"]:
            stop = _closing(template, position)
            spec = template[position:stop]
            position = stop
        if template[position : position + 1] != "}":
            raise ValueError("format(): a field is not closed; write '{{' for the character")
        value = self.value(head["name"])
        if "{" in spec:
            if nested:
                raise ValueError("format(): fields are nested too deeply")
            spec = self.render(spec, nested=True)
        return self.show(value, head["conversion"], spec), position + 1

    def value(self, name: str) -> Any:
        if not name:
            if self.numbered or self.automatic is None:
                raise ValueError("format(): {} and {0} cannot be mixed")
            name = str(self.automatic)
            self.automatic += 1
        elif name.isascii() and name.isdigit():
            if self.automatic:
                raise ValueError("format(): {} and {0} cannot be mixed")
            self.numbered = True
        if name.isascii() and name.isdigit():
            if len(name) > 9 or int(name) >= len(self.args):
                raise IndexError(f"format(): there is no argument {name[:20]}")
            return self.args[int(name)]
        if "." in name or "[" in name:
            raise ValueError(f"format(): {{{name:.40}}} reaches into a value; only {{0}} and {{name}} are allowed")
        if name not in self.kwargs:
            raise KeyError(name)
        return self.kwargs[name]

    def show(self, value: Any, conversion: str | None, spec: str) -> str:
        if conversion is not None:
            value = self.converted(value, conversion)
        if not spec:
            return host_text(self.cx, value, plain=True)
        if value.__class__ not in SCALARS and not isinstance(value, (str, int, float)):
            raise TypeError(f"format(): a format spec works on plain values, not on {describe(value)}")
        self.measure(value, spec)
        if value is None:
            raise TypeError("format(): a format spec does not work on null")
        if isinstance(value, int) and value.bit_length() > 10_000 and spec[-1] not in "boxXeEfFgG%c":
            # Python refuses to print long integers in decimal; their digits are padded like any text.
            return format(int_text(value), spec.removesuffix("d"))
        return format(value, spec)

    def converted(self, value: Any, conversion: str) -> str:
        if conversion == "s":
            return host_text(self.cx, value, plain=True)
        if conversion == "r":
            if isinstance(value, str):
                self.cx.rt.check_memory(len(value))
                return repr(value)
            return host_text(self.cx, value, plain=True)
        raise ValueError(f"format(): unknown conversion !{conversion[:10]}; there are !s and !r")

    def measure(self, value: Any, spec: str) -> None:
        """Refuses specs whose text would be too long, before it is built."""
        found = _SPEC.fullmatch(spec)
        if found is None:
            bad_spec(spec, value)
        width, precision = (_number(found[name]) for name in ("width", "precision"))
        digits = 310 if isinstance(value, float) else len(value) if isinstance(value, str) else 0
        self.cx.rt.check_memory(max(width, (0 if isinstance(value, str) else precision) + digits))


def bad_spec(spec: str, value: Any) -> NoReturn:
    """Raises ValueError."""
    raise ValueError(f"format(): bad format spec {spec[:40]!r} for {describe(value)}")


def _number(text: str | None) -> int:
    if not text:
        return 0
    return int(text) if len(text) < 10 else _WIDEST


def _next_brace(text: str, start: int) -> int:
    found = _BRACE.search(text, start)
    return len(text) if found is None else found.start()


def _closing(text: str, start: int) -> int:
    """Where the brace is that closes the field whose spec begins at ``start``."""
    depth = 0
    for position in range(start, len(text)):
        if text[position] == "{":
            depth += 1
        elif text[position] == "}":
            if not depth:
                return position
            depth -= 1
    return len(text)


@function(
    "format",
    style="FM",
    params=(Param("template", Type.STR), varargs("args"), Param("kwargs", kind=Kind.KWARGS)),
)
def format_(cx: CodeContext, template: str, /, *args: Any, **kwargs: Any) -> str:
    """``template`` with ``{}``, ``{0}`` and ``{name}`` replaced by the arguments; ``{{`` and ``}}`` are braces.

    Raises IndexError and KeyError for fields without a value, ValueError for bad templates, TypeError for a format spec
    on a list, mapping or object, `MemoryQuotaExceeded` for a text that would be too long.
    """
    return format_text(cx, template, args, kwargs)
