"""What names, texts and values have to be before they are stored: short enough, flat enough, writable everywhere."""

from __future__ import annotations

import json
from typing import Any, Final

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
        raise Invalid(f"{what} must not contain the character U+0000")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Invalid(f"{what} must not contain half of a surrogate pair") from None
    return text


def name_of(value: Any, missing: str, what: str) -> str:
    """A name. Raises `Invalid`: with the text ``missing`` for none, ``what`` names the thing in the others."""
    if value is None or (isinstance(value, str) and not value.strip()):
        raise Invalid(missing)
    if not isinstance(value, str):
        raise Invalid(f"{what} name must be text, not {type(value).__name__}")
    if len(value) > LONGEST_NAME:
        raise Invalid(f"{what} name should be {LONGEST_NAME} characters maximum")
    return writable(value, f"{what} name")


def text_of(value: Any, what: str, longest: int = LONGEST_TEXT) -> str:
    """A text that may be missing. Raises `Invalid`."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Invalid(f"'{what}' must be text, not {type(value).__name__}")
    if len(value) > longest:
        raise Invalid(f"'{what}' should be {longest} characters maximum")
    return writable(value, f"'{what}'")


def check_depth(value: Any, what: str) -> None:
    """Raises `Invalid` for a value nested deeper than `DEEPEST` levels."""
    level: list[Any] = [value]
    depth = 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise Invalid(f"{what} is nested deeper than {DEEPEST} levels")
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
        raise Invalid(f"{what} has {count:,} parts, {most:,} at most")
    return count


def check_model(model: Any, what: str = "the model") -> int:
    """The characters of a model. Raises `Invalid` for one that is nested too deeply or too large."""
    check_depth(model, what)
    with deep_calls():
        size = len(json.dumps(model, ensure_ascii=False))
    if size > LARGEST_MODEL:
        raise Invalid(f"{what} has {size:,} characters, {LARGEST_MODEL:,} at most", hint="remove what is not needed")
    return size
