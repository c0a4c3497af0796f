"""What names, texts and values have to be before they are stored: short enough, flat enough, writable everywhere."""

from __future__ import annotations

import json
from typing import Any, Final

from vetro.diagnostics import Text
from vetro.muranopl.runtime.stacks import deep_calls
from vetro.server.errors import Invalid

#: Characters of a name.
LONGEST_NAME: Final = 255
#: Levels of lists and mappings in a model, and its size as JSON text, in characters.
DEEPEST: Final = 200
LARGEST_MODEL: Final = 16 << 20
#: Bytes of an archive of an environment, and of its unpacked files together.
LARGEST_ARCHIVE: Final = 512 << 20
#: Values of a JSON text, roughly. Empty lists take twenty times the memory of their brackets, so texts are looked at
#: before they are parsed; a model of the largest size has a fifth of them.
MOST_PARTS: Final = 1_000_000
#: Characters of descriptions.
LONGEST_TEXT: Final = 65_536
#: Largest whole number of a column.
LARGEST_NUMBER: Final = (1 << 63) - 1


def known_id(text: str) -> bool:
    """Whether this can be an id of ours at all; anything else need not be looked up."""
    return 0 < len(text) <= 64 and text.isascii() and text.isprintable()


def writable(text: str, what: str) -> str:
    """``text``, if every database can hold it. Raises `Invalid`."""
    if "\0" in text:
        raise Invalid(Text("{what} must not contain the character U+0000", what=what))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Invalid(Text("{what} must not contain half of a surrogate pair", what=what)) from None
    return text


def name_of(value: Any, missing: str, what: str) -> str:
    """A name. Raises `Invalid`: with the text ``missing`` for none, ``what`` names the thing in the others."""
    if value is None or (isinstance(value, str) and not value.strip()):
        raise Invalid(missing)
    if not isinstance(value, str):
        raise Invalid(Text("{what} name must be text, not {name}", what=what, name=type(value).__name__))
    if len(value) > LONGEST_NAME:
        raise Invalid(
            Text("{what} name should be {longest_name} characters maximum", what=what, longest_name=LONGEST_NAME)
        )
    return writable(value, Text("{what} name", what=what))


def text_of(value: Any, what: str, longest: int = LONGEST_TEXT) -> str:
    """A text that may be missing. Raises `Invalid`."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Invalid(Text("'{what}' must be text, not {name}", what=what, name=type(value).__name__))
    if len(value) > longest:
        raise Invalid(Text("'{what}' should be {longest} characters maximum", what=what, longest=longest))
    return writable(value, f"'{what}'")


def check_depth(value: Any, what: str) -> None:
    """Raises `Invalid` for a value nested deeper than `DEEPEST` levels."""
    level: list[Any] = [value]
    depth = 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise Invalid(Text("{what} is nested deeper than {deepest} levels", what=what, deepest=DEEPEST))
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(v for v in item.values() if isinstance(v, (dict, list)))
            elif isinstance(item, list):
                below.extend(v for v in item if isinstance(v, (dict, list)))
        level = below


def check_parts(data: bytes, what: str, most: int = MOST_PARTS) -> int:
    """How many values a JSON text has, roughly. Raises `Invalid` for too many."""
    count = data.count(b",") + data.count(b"[") + data.count(b"{")
    if count > most:
        raise Invalid(Text("{what} has {count:,} parts, {most:,} at most", what=what, count=count, most=most))
    return count


def check_model(model: Any, what: str = Text("the model")) -> int:
    """The characters of a model. Raises `Invalid` for one that is nested too deeply or too large."""
    check_depth(model, what)
    with deep_calls():
        size = len(json.dumps(model, ensure_ascii=False))
    if size > LARGEST_MODEL:
        raise Invalid(
            Text(
                "{what} has {size:,} characters, {largest_model:,} at most",
                what=what,
                size=size,
                largest_model=LARGEST_MODEL,
            ),
            hint=Text("remove what is not needed"),
        )
    return size
