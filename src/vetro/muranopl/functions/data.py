"""Functions over structures: ``bind`` and ``patch`` (SEMANTICS 16.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from vetro.yaql.brief import brief
from vetro.yaql.resolve.signature import Param, Type, function
from vetro.yaql.values import FDict, check_depth, thaw

_PLACE = re.compile(r"\{(\w+?)\}")
_MISSING = object()


# -- bind --------------------------------------------------------------------------------------------------------------


def rebuild(value: Any, leaf: Callable[[str], Any]) -> Any:
    """``value`` with every text in it (keys included) replaced by ``leaf(text)``.

    Depth costs no Python frames, and a container that is held in many places is rebuilt once.
    """
    done: list[Any] = []
    known: dict[int, Any] = {}
    # Work items: (True, value) is to be visited, (False, container) builds from the latest results.
    work: list[tuple[bool, Any]] = [(True, value)]
    while work:
        visit, item = work.pop()
        if not visit:
            count = 2 * len(item) if isinstance(item, dict) else len(item)
            parts = done[len(done) - count :]
            del done[len(done) - count :]
            made = known[id(item)] = _assembled(item, parts)
            done.append(made)
        elif isinstance(item, str):
            done.append(leaf(item))
        elif id(item) in known:
            done.append(known[id(item)])
        elif isinstance(item, dict):
            work.append((False, item))
            work.extend((True, part) for pair in reversed(item.items()) for part in reversed(pair))
        elif item.__class__ is tuple:
            work.append((False, item))
            work.extend((True, part) for part in reversed(item))
        else:
            done.append(item)
    return done[0]


def _assembled(original: Any, parts: list[Any]) -> Any:
    if not isinstance(original, dict):
        return tuple(parts)
    for key in parts[0::2]:
        check_depth(key)
    return FDict(zip(parts[0::2], parts[1::2], strict=True))


@function("bind", style="FM", params=(Param("obj", Type.ANY), Param("replacements", Type.DICT)))
def bind(cx: Any, obj: Any, replacements: Mapping[Any, Any]) -> Any:
    """A template with its parameters filled in.

    A text ``$name`` becomes the value itself (a null value leaves the text), ``$...{name}...`` is interpolated and
    loses its ``$``. Keys are bound as well. Raises `KeyError` for a name that has no value.
    """

    texts: dict[str, str | None] = {}

    def text_of(name: str) -> str | None:
        if name not in texts:
            value = replacements.get(name)
            check_depth(value)
            texts[name] = None if value is None else str(thaw(value))
        return texts[name]

    def place(match: re.Match[str]) -> str:
        found = text_of(match.group(1))
        return match.group(0) if found is None else found

    def leaf(text: str) -> Any:
        if not text.startswith("$"):
            return text
        name = text[1:]
        value = replacements.get(name, _MISSING)
        if value is not _MISSING:
            return text if value is None else value
        if _PLACE.search(name):
            cx.rt.check_memory(len(name) + sum(len(text_of(found) or "") for found in _PLACE.findall(name)))
            return _PLACE.sub(place, name)
        raise KeyError(f"no value is given for the parameter '{text}'")

    return rebuild(obj, leaf)


# -- patch -------------------------------------------------------------------------------------------------------------


def _is_patch(value: Any) -> bool:
    return value.__class__ is tuple or isinstance(value, dict)


@function("patch", style="FM", params=(Param("obj", Type.ANY), Param("patch", Type.ANY, check=_is_patch)))
def patch(cx: Any, obj: Any, patch: Any) -> Any:  # the parameter name is MuranoPL's
    """``obj`` with a JSON patch (RFC 6902) applied: a list of steps, or a single one.

    Raises `KeyError` or `IndexError` for a path that does not exist, `ValueError` for a malformed patch and
    `AssertionError` for a failed ``test``.
    """
    for step in (patch,) if isinstance(patch, dict) else patch:
        if not isinstance(step, dict):
            raise ValueError("each step of a patch is a mapping")
        operation = _OPERATIONS.get(step.get("op"))
        if operation is None:
            raise ValueError(f"unknown patch operation {brief(step.get('op'))}")
        obj = operation(obj, step)
    return obj


def _pointer(step: Mapping[Any, Any], key: str = "path") -> list[str]:
    text = step.get(key, _MISSING)
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise ValueError(f"a patch step needs a '{key}' that is empty or begins with '/'")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _value(step: Mapping[Any, Any]) -> Any:
    if "value" not in step:
        raise ValueError(f"patch operation '{step['op']}' needs a value")
    return step["value"]


def _index(items: tuple[Any, ...], part: str, *, end: bool = False) -> int:
    if end and part == "-":
        return len(items)
    if not part.isdecimal() or (len(part) > 1 and part[0] == "0"):
        raise IndexError(f"'{part}' is no position in a list")
    position = int(part[:20])
    if position > len(items) - (0 if end else 1):
        raise IndexError(f"position {part} is beyond the end of the list")
    return position


def _child(parent: Any, part: str) -> Any:
    if isinstance(parent, dict):
        if part not in parent:
            raise KeyError(f"path leads to a missing key '{part}'")
        return parent[part]
    if parent.__class__ is tuple:
        return parent[_index(parent, part)]
    raise KeyError(f"path leads into a plain value at '{part}'")


def _get(document: Any, path: list[str]) -> Any:
    for part in path:
        document = _child(document, part)
    return document


def _update(document: Any, path: list[str], change: Callable[[Any, str], Any]) -> Any:
    """Rebuilds the containers along ``path``, the last of them by ``change(container, last part)``."""
    parents = [document]
    for part in path[:-1]:
        parents.append(_child(parents[-1], part))
    result = change(parents[-1], path[-1])
    for parent, part in zip(reversed(parents[:-1]), reversed(path[:-1]), strict=True):
        result = _put(parent, part, result)
    return result


def _put(parent: Any, part: str, value: Any) -> Any:
    if isinstance(parent, dict):
        return FDict({**parent, part: value})
    position = _index(parent, part)
    return (*parent[:position], value, *parent[position + 1 :])


def _insert(document: Any, path: list[str], value: Any) -> Any:
    def change(parent: Any, part: str) -> Any:
        if isinstance(parent, dict):
            return FDict({**parent, part: value})
        if parent.__class__ is not tuple:
            raise KeyError(f"path leads into a plain value at '{part}'")
        position = _index(parent, part, end=True)
        return (*parent[:position], value, *parent[position:])

    return _update(document, path, change) if path else value


def _drop(document: Any, path: list[str]) -> Any:
    def change(parent: Any, part: str) -> Any:
        _child(parent, part)
        if isinstance(parent, dict):
            return FDict({key: value for key, value in parent.items() if key != part})
        position = _index(parent, part)
        return (*parent[:position], *parent[position + 1 :])

    return _update(document, path, change) if path else None


def _add(document: Any, step: Mapping[Any, Any]) -> Any:
    return _insert(document, _pointer(step), _value(step))


def _remove(document: Any, step: Mapping[Any, Any]) -> Any:
    return _drop(document, _pointer(step))


def _replace(document: Any, step: Mapping[Any, Any]) -> Any:
    path, value = _pointer(step), _value(step)
    _get(document, path)
    return _update(document, path, lambda parent, part: _put(parent, part, value)) if path else value


def _move(document: Any, step: Mapping[Any, Any]) -> Any:
    source, target = _pointer(step, "from"), _pointer(step)
    if len(target) > len(source) and target[: len(source)] == source:
        raise ValueError("a value cannot be moved into itself")
    value = _get(document, source)
    return document if source == target else _insert(_drop(document, source), target, value)


def _copy(document: Any, step: Mapping[Any, Any]) -> Any:
    return _insert(document, _pointer(step), _get(document, _pointer(step, "from")))


def _test(document: Any, step: Mapping[Any, Any]) -> Any:
    found, wanted = _get(document, _pointer(step)), _value(step)
    check_depth(found)
    check_depth(wanted)
    if found != wanted:
        raise AssertionError(f"patch test failed at '{step['path']}'")
    return document


_OPERATIONS: dict[Any, Callable[[Any, Mapping[Any, Any]], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
