# ruff: noqa: E501 - tables of attacks read best with one attack a line
"""Attacks with files: class files, archives, and the compile cache."""

from __future__ import annotations

import io
import marshal
import os
import struct
import tempfile
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

from tests.hostile.arena import Attacks
from tests.hostile.run import healthy
from vetro.muranopl.api import Engine
from vetro.packages import memory_package, open_package
from vetro.packages.cache import DiskCache

attacks = Attacks(healthy)
MANIFEST = "Format: 1.4\nType: Library\nFullName: t\nVersion: 1.0.0\nClasses: {t.Main: Main.yaml}\n"
MAIN = "Namespaces: {=: t}\nName: Main\nMethods:\n  run: {Scope: Public, Body: [{Return: 42}]}\n"
REFUSED = (
    "syntax",
    "limit-exceeded",
    "value-error",
    "error",
    "package-format",
    "package",
    "archive",
    "key-error",
    "package-not-found",
    "method-not-found",
)


def _run(package: Any, **options: Any) -> Any:
    session = Engine([package], **options).session()
    session.load({"Objects": {"?": {"type": "t.Main", "id": "root"}}})
    return session.call("run")


def _class(text: str) -> Any:
    return _run(memory_package({"name": "t", "format": "1.4", "classes": {"t.Main": text}}))


def _manifest(text: str) -> Any:
    return _archive(_zip({"manifest.yaml": text, "Classes/Main.yaml": MAIN}))


def _zip(files: dict[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


_BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(20)
)
for _name, _text in {
    "alias-bomb": _BOMB, "alias-recursion": "a: &a [*a]\n", "alias-key": "? &a {b: *a}\n: 1\n", "merge-bomb": "a: &a {x: 1}\nb: {<<: [" + "*a, " * 50000 + "*a]}\n",
    "deep-flow": "[" * 100_000, "deep-flow-closed": "[" * 100_000 + "]" * 100_000, "deep-map": "{a: " * 50_000 + "1" + "}" * 50_000,
    "deep-block": "".join(" " * i + "a:\n" for i in range(2000)), "deep-sequence": "- " * 50_000 + "1", "python-tag": "!!python/object/apply:os.system ['true']\n",
    "python-name": "a: !!python/name:os.system\n", "unknown-tag": "a: !foo 1\n", "binary-tag": "a: !!binary " + "A" * 1000 + "\n", "duplicate": "Body: 1\nBody: 2\n",
    "many-documents": "---\na: 1\n" * 1000, "null-byte": "a: \x00\n", "controls": "a: \x07\n", "surrogate": 'a: "\\ud800"\n', "huge-number": "a: " + "9" * 100_000 + "\n",
    "huge-exponent": "a: 1e999999999\n", "sexagesimal": "a: " + "1:" * 50_000 + "1\n", "huge-key": "? " + "x" * 3_000_000 + "\n: 1\n", "timestamp": "a: 9999999-99-99\n",
    "anchors": "".join(f"a{i}: &a{i} 1\n" for i in range(30_000)), "many-keys": "".join(f"k{i}: 1\n" for i in range(40_000)), "tabs": "a:\n\t- 1\n", "list": "- 1\n", "scalar": "1\n",
    "empty": "", "set": "? a\n? b\n", "long-expression": "Methods: {m: {Body: [{Return: !yaql \"" + "1 + " * 100_000 + "1\"}]}}\n", "not-utf8-escape": 'a: "\\xff\\u0000"\n',
    "deep-yaql": "Methods: {m: {Body: [{Return: !yaql \"" + "(" * 100_000 + "\"}]}}\n", "bom": "\ufeff\ufeffa: 1\n",
}.items():  # fmt: skip
    # Of 4.0, a machine of half the speed of others, which another process shared, took 4.04.
    attacks("ok", *REFUSED, seconds=6.0, mebibytes=400, name=f"class-{_name}")(
        partial(_class, MAIN + _text if not _text.startswith(("[", "- ", "!", "\ufeff")) else _text)
    )
    attacks("ok", *REFUSED, seconds=6.0, mebibytes=400, name=f"manifest-{_name}")(partial(_manifest, MANIFEST + _text))
for _name, _bad in {
    "unknown-tag": "a: !foo 1\n",
    "python-tag": "a: !!python/object/apply:os.system ['true']\n",
    "alias-bomb": _BOMB,
    "deep": "a: " + "[" * 100_000,
}.items():
    attacks("syntax", "limit-exceeded", "value-error", name=f"refused-{_name}")(partial(_class, MAIN + _bad))
attacks("syntax", name="refused-duplicate")(partial(_class, MAIN + "Name: Other\n"))

# -- archives ----------------------------------------------------------------------------------------------------------
_GOOD: dict[str, str | bytes] = {"manifest.yaml": MANIFEST, "Classes/Main.yaml": MAIN}


def _archive(data: bytes) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.zip"
        path.write_bytes(data)
        result = _run(open_package(path))
        assert sorted(os.listdir(folder)) == ["p.zip"], "something was unpacked"
        return result


def _lying(size: int) -> bytes:
    data = bytearray(_zip(_GOOD | {"big": b"\0" * 100_000}))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = data.rfind(signature)
        data[place + offset : place + offset + 4] = struct.pack("<I", size)
    return bytes(data)


attacks("ok", name="archive-good")(lambda: _archive(_zip(_GOOD)))
for _name in (
    "../evil",
    "/etc/passwd",
    "a/../../evil",
    "C:\\evil",
    "..\\evil",
    "a\0b",
    "a//b",
    "./a",
    "~/x",
    "Classes/../../x",
    "\\\\host\\share",
    "x" * 7_000,
):
    attacks("ok", *REFUSED, name=f"archive-name-{_name[:12]!r}")(
        partial(lambda name: _archive(_zip(_GOOD | {name: "evil"})), _name)
    )
attacks(*REFUSED, name="archive-bomb", seconds=5.0)(lambda: _archive(_zip(_GOOD | {"bomb": b"\0" * 100_000_000})))
attacks(*REFUSED, name="archive-many")(lambda: _archive(_zip(_GOOD | {f"f{i}": "" for i in range(30_000)})))
attacks("ok", *REFUSED, name="archive-lies-small")(lambda: _archive(_lying(10)))
attacks("ok", *REFUSED, name="archive-lies-large")(lambda: _archive(_lying(0xFFFFFFF0)))
attacks(*REFUSED, name="archive-cut")(lambda: _archive(_zip(_GOOD)[:-30]))
attacks(*REFUSED, name="archive-empty")(lambda: _archive(b""))
attacks(*REFUSED, name="archive-noise")(lambda: _archive(b"PK\x03\x04" + bytes(range(256)) * 100))
attacks("ok", *REFUSED, name="archive-twice")(lambda: _archive(_zip(_GOOD) + _zip(_GOOD)))


# -- the cache ---------------------------------------------------------------------------------------------------------


def _cache(damage: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        package = memory_package({"name": "t", "format": "1.4", "classes": {"t.Main": MAIN}})
        assert _run(package, code_cache=DiskCache(Path(folder) / "cache", writable=True)) == 42
        for path in (Path(folder) / "cache").rglob("*"):
            if path.is_file():
                damage(path)
        assert _run(package, code_cache=DiskCache(Path(folder) / "cache")) == 42


def _evil_code() -> bytes:
    code = compile("def run(self): raise SystemExit('the stranger won')", "evil", "exec")
    return marshal.dumps((code, {}))


_DAMAGE: dict[str, Any] = {
    "stranger": lambda path: path.name != "key" and path.write_bytes(_evil_code()),
    "stranger-magic": lambda path: path.name != "key" and path.write_bytes(b"VTC1" + b"\0" * 32 + _evil_code()),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:20]),
    "noise": lambda path: path.write_bytes(b"\xff" * 5000),
    "empty": lambda path: path.write_bytes(b""),
    "tail": lambda path: path.name != "key" and path.write_bytes(path.read_bytes() + b"x"),
    "writable": lambda path: path.chmod(0o666),
    "folder": lambda path: (path.unlink(), path.mkdir()),
}
for _name, _damage in _DAMAGE.items():
    attacks("ok", name=f"cache-{_name}")(partial(_cache, _damage))
