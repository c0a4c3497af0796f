"""What names, texts and values have to be before they are stored: short enough, flat enough, writable everywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from vetro.diagnostics import Text
from vetro.model.environment import applications_of
from vetro.model.header import class_of, id_of
from vetro.model.tree import objects
from vetro.muranopl.runtime.stacks import deep_calls
from vetro.server.errors import Invalid, TooLarge

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
#: Objects of a model that a request compares or draws.
MOST_COMPARED: Final = 10_000


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


def check_comparable(*roots: Any) -> None:
    """Raises `TooLarge` where one of the models has more objects than a request may compare or draw.

    The work is linear, but all of it holds the interpreter, and with it every other request of the process.
    """
    for root in roots:
        if next(islice(objects(root), MOST_COMPARED, None), None) is not None:
            raise TooLarge(
                Text(
                    "the model has more than {most_compared:,} objects, too many to be compared or drawn",
                    most_compared=MOST_COMPARED,
                ),
                hint=Text("read the model itself, or let a task plan the deployment"),
            )


def check_services(given: Any) -> list[dict[str, Any]]:
    """Applications as a list, if each of them is an object with a class. Raises `Invalid`."""
    services = given if isinstance(given, list) else [given]
    for service in services:
        if not class_of(service):
            raise Invalid(
                Text("an application must be an object with a header '?' that names its class"),
                hint=Text('for example {{"?": {{"type": "com.example.App", "id": "…"}}, "name": "my app"}}'),
            )
    _check_texts(services)
    return services


def check_objects(root: Mapping[str, Any]) -> None:
    """Raises `Invalid` for ids in a model's applications that are no texts, and for one id of two objects."""
    _check_texts(applications_of(root))
    check_ids(root)


def _check_texts(value: Any) -> None:
    for obj in objects(value):
        own = obj["?"].get("id")
        if own is not None and (not isinstance(own, str) or not own or len(own) > 255):
            raise Invalid(Text("the id of an object must be text of at most 255 characters"))
        if own is not None:
            writable(own, Text("the id of an object"))


def check_ids(root: Mapping[str, Any]) -> None:
    """Raises `Invalid` when two objects of a model have the same id."""
    seen: set[str] = set()
    for obj in objects(root):
        own = id_of(obj)
        if own in seen:
            raise Invalid(
                Text("two objects of the model have the id '{own}'", own=own),
                hint=Text("give each object an id of its own"),
            )
        if own is not None:
            seen.add(own)
