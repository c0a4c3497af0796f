"""Plain data in and out: reading JSON and YAML files of people, writing JSON and YAML."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: More is no model or data file; `/dev/zero` and logs end here instead of filling memory.
MAX_BYTES = 256 * 1024 * 1024
#: Levels of JSON: far beyond what people write, far below where the stack ends.
MAX_LEVELS = 12_000


class DataError(Exception):
    """A file that holds no usable data."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def load_data(path: str) -> Any:
    """Data of a JSON or YAML file; ``-`` is standard input. Raises `DataError`."""
    name = _name_of(path)
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{name} is no UTF-8 text", "the data is a JSON or YAML file") from None
    return parse_data(text, name)


def read_bytes(path: str) -> bytes:
    """What a file holds; ``-`` is standard input. Raises `DataError`."""
    name = _name_of(path)
    try:
        if path == "-":
            content = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(path, "rb") as file:
                content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DataError(f"cannot read {name}: {error.strerror}") from None
    except ValueError:  # a NUL in the name
        raise DataError(f"{name!r} is no file name") from None
    if len(content) > MAX_BYTES:
        raise DataError(f"{name} has more than {MAX_BYTES // 1024 // 1024} MiB")
    return content


def _name_of(path: str) -> str:
    return "standard input" if path == "-" else path


def write_private(path: str, content: bytes) -> None:
    """Writes a file that only its owner can read: there may be secrets. It is there as a whole or not at all."""
    draft = Path(path).with_name(f".{Path(path).name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def parse_data(text: str, name: str) -> Any:
    """The data in ``text``. Raises `DataError`, naming line and column of what is wrong."""
    problem = None
    if text.lstrip()[:1] in ("{", "["):
        try:
            return _json(text)
        except RecursionError:
            raise DataError(f"{name} is nested too deeply") from None
        except json.JSONDecodeError as error:  # flow-style YAML looks like JSON
            problem = f"{name}:{error.lineno}:{error.colno}: {error.msg}"
        except ValueError as error:  # digits beyond what Python converts
            raise DataError(f"{name}: {error}") from None
    from vetro.packages import yamltree

    if len(text) > yamltree.MAX_BYTES:
        if problem is not None:
            raise DataError(problem)
        raise DataError(
            f"{name} has more than {yamltree.MAX_BYTES // 1024 // 1024} MiB of YAML", "write data of this size as JSON"
        )
    try:
        documents = yamltree.read_documents(text, name)
        if len(documents) > 1:
            raise DataError(f"{documents[1].position}: a second document begins, only one is expected")
        return yamltree.plain(documents[0]) if documents else None
    except yamltree.TreeError as error:
        if problem is not None and name.endswith(".json"):
            raise DataError(problem) from None
        raise DataError(f"{error.position}: {error.message}", error.hint) from None


def _json(text: str) -> Any:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, MAX_LEVELS))
    try:
        return json.loads(text)
    finally:
        sys.setrecursionlimit(before)


def plain_data(value: Any) -> Any:
    """``value`` of an expression as JSON-like data: sets as lists, dates and everything unknown as text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {_key(k): plain_data(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain_data(v) for v in value]
    isoformat = getattr(value, "isoformat", None)
    return isoformat() if callable(isoformat) else str(value)


def _key(key: Any) -> Any:
    return key if key is None or isinstance(key, (bool, int, float, str)) else str(key)


def json_text(data: Any) -> str:
    """Indented JSON. Needs no Python stack, so models may be nested as deeply as they like."""
    parts: list[str] = []
    stack: list[Any] = [("", data, 0)]
    while stack:
        item = stack.pop()
        if item.__class__ is str:
            parts.append(item)
            continue
        before, value, level = item
        parts.append(before)
        pad = "\n" + "  " * (level + 1)
        if isinstance(value, Mapping) and value:
            parts.append("{")
            stack.append("\n" + "  " * level + "}")
            pairs = [(pad + _json_key(k) + ": ", v, level + 1) for k, v in value.items()]
            stack.extend(_separated(pairs))
        elif isinstance(value, (list, tuple)) and value:
            parts.append("[")
            stack.append("\n" + "  " * level + "]")
            stack.extend(_separated([(pad, v, level + 1) for v in value]))
        else:
            parts.append(json.dumps(value, ensure_ascii=False, default=str))
    return "".join(parts)


def _separated(items: list[tuple[str, Any, int]]) -> list[tuple[str, Any, int]]:
    """Items with commas between them, last first: the order of a stack."""
    made = [items[0], *(("," + before, value, level) for before, value, level in items[1:])]
    made.reverse()
    return made


def _json_key(key: Any) -> str:
    if not isinstance(key, str):
        key = key if key is None or isinstance(key, (bool, int, float)) else str(key)
        key = json.dumps(key)
    return json.dumps(key, ensure_ascii=False)


def yaml_text(data: Any) -> str:
    """YAML in the order of the data, without aliases and without a final line end."""
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    # Messages are texts, too.
    Dumper.add_multi_representer(str, lambda dumper, text: dumper.represent_str(str.__str__(text)))
    text = yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100, default_flow_style=False)
    return text.removesuffix("\n").removesuffix("\n...")
