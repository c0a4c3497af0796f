"""What an object says of itself: its id, its class and its name.

A definition has one of two forms (SEMANTICS 11.1): a header under ``?`` with the properties beside it, or one key that
is the class (``:Item``, ``p:Item/1.0@package``) with the properties below it and the header beside it. Stored models
have the first form. The second one stands in packages, and in what clients may send: only classes can say what the
prefix of a namespace means there (`vetro.muranopl.tools.definitions`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

_CLASS_KEY: Final = re.compile(r"(?:[A-Za-z_]\w*)?:[A-Za-z_][\w.]*(?:/[^@]*)?(?:@[\w.]+)?")


class TypeText(NamedTuple):
    """``Name[/version][@package]`` taken apart."""

    name: str
    version: str | None
    package: str | None


def parse_type_text(text: str) -> TypeText:
    """Splits the text of a header's ``type``; blanks around the parts are ignored."""
    rest, _, package = text.partition("@")
    name, _, version = rest.partition("/")
    return TypeText(name.strip(), version.strip() or None, package.strip() or None)


def is_class_key(text: str) -> bool:
    """Whether a key names the class of a definition in the second form, if a mapping or null is below it."""
    return _CLASS_KEY.fullmatch(text) is not None


def header_of(value: Any) -> Mapping[str, Any] | None:
    """The header of an object; None for everything else."""
    header = value.get("?") if isinstance(value, Mapping) else None
    return header if isinstance(header, Mapping) else None


def id_of(value: Any) -> str | None:
    """The id of an object; None for what has none. A number is read as text, as when a model is loaded."""
    header = header_of(value)
    found = None if header is None else header.get("id")
    if isinstance(found, str):
        return found or None
    return str(found) if isinstance(found, int) and not isinstance(found, bool) else None


def type_of(value: Any) -> str:
    """The ``type`` of an object, with the version and the package that stand beside it; '' where there is none."""
    header = header_of(value)
    written = None if header is None else header.get("type")
    if header is None or not isinstance(written, str) or not written:
        return ""
    version, package = header.get("classVersion"), header.get("package")
    if version is None and package is None:
        return written
    name, own_version, own_package = parse_type_text(written)
    version, package = own_version or version, own_package or package
    return name + ("" if version in (None, "") else f"/{version}") + (f"@{package}" if package else "")


def class_name(type_text: Any) -> str:
    """The class in a ``type``, without version and package."""
    return parse_type_text(type_text).name if isinstance(type_text, str) else ""


def class_of(value: Any) -> str:
    """The class of an object, without version and package; '' where there is none."""
    return class_name(type_of(value))


def name_of(value: Any) -> str:
    """The name in an object's header, else its property ``name``; '' where neither is a text."""
    header = header_of(value)
    if header is not None:
        for found in (header.get("name"), value.get("name")):
            if isinstance(found, str) and found.strip():
                return found
    return ""


def label_of_type(type_text: Any) -> str:
    """The last word of a class."""
    return class_name(type_text).rpartition(".")[2] or "?"


def label_of(value: Any) -> str:
    """What people call an object: its name, else the last word of its class."""
    return name_of(value) or label_of_type(type_of(value))
