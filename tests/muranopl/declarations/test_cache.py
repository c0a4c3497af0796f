"""Declarations in the code cache: one entry a package, of which only what is of the files as they are now is used."""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from typing import Any

import pytest

from vetro.muranopl.api import Engine
from vetro.muranopl.code_cache import MemoryCache, file_of
from vetro.muranopl.reader import files
from vetro.muranopl.types import linker
from vetro.packages.memory import memory_package

CLASSES = {f"t.C{i}": f"Name: t.C{i}\nProperties:\n  p: {{Contract: $.int(), Default: {i}}}\n" for i in range(20)}


class Counted(MemoryCache):
    """Tells what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.put_keys: list[str] = []
        self.got_keys: list[str] = []

    def get(self, key: str) -> bytes | None:
        self.got_keys.append(key)
        return super().get(key)

    def put(self, key: str, data: bytes) -> None:
        self.put_keys.append(key)
        super().put(key, data)

    def of_package(self, keys: list[str]) -> list[str]:
        return [key for key in keys if file_of(key).startswith("t-1.0.0/")]


def link(cache: MemoryCache, classes: Mapping[str, str] = CLASSES) -> list[str]:
    """Links all classes in a session of its own; their properties with defaults, as positions and texts."""
    package = memory_package({"name": "t", "version": "1.0.0", "format": "1.4", "classes": classes})
    session = Engine([package], code_cache=cache).session()
    try:
        linked = [session.types.in_package(package, name) for name in classes]
        return [f"{name} {p.decl.default} {p.decl.position}" for k in linked for name, p in k.properties.items()]
    finally:
        session.close()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of classes whose files were parsed."""
    names: list[str] = []
    original = linker.read_source

    def read_source(text: str, file: str, version: tuple[int, int], name: str, digest: str) -> object:
        names.append(name)
        return original(text, file, version, name, digest)

    monkeypatch.setattr(linker, "read_source", read_source)
    return names


def test_a_package_is_one_entry_that_is_opened_once(read: list[str]) -> None:
    cache = Counted()
    first = link(cache)
    assert set(CLASSES) <= set(read)
    assert len(cache.of_package(cache.put_keys)) == 1
    read.clear()
    cache.put_keys.clear()
    cache.got_keys.clear()
    assert link(cache) == first
    assert read == [] and cache.put_keys == []
    assert len(cache.of_package(cache.got_keys)) == 1


def test_only_what_changed_is_read_again(read: list[str]) -> None:
    cache = Counted()
    link(cache)
    read.clear()
    changed = {**CLASSES, "t.C3": CLASSES["t.C3"].replace("Default: 3", "Default: 33")}
    assert "33" in " ".join(link(cache, changed))
    assert read == ["t.C3"]
    read.clear()
    link(cache, changed)
    assert read == []


def test_a_part_of_a_package_adds_to_what_others_left(read: list[str]) -> None:
    cache = Counted()
    package = memory_package({"name": "t", "version": "1.0.0", "format": "1.4", "classes": CLASSES})
    for name in ("t.C1", "t.C2"):
        session = Engine([package], code_cache=cache).session()
        session.types.in_package(package, name)
        session.close()
    read.clear()
    link(cache)
    assert not {"t.C1", "t.C2"} & set(read) and "t.C3" in read


def test_a_file_of_many_classes_is_read_and_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    original = files.read_file

    def read_file(text: str, file: str, **more: Any) -> object:
        parsed.append(file)
        return original(text, file, **more)

    monkeypatch.setattr(files, "read_file", read_file)
    first, *rest = names = [f"t.Many{i}" for i in range(20)]
    whole = "---\n".join(f"Name: {name}\nProperties:\n  p: {{Contract: $.int(), Default: 1}}\n" for name in names)
    cache = Counted()
    assert len(link(cache, {first: whole, **dict.fromkeys(rest, f"= {first}")})) == len(names)
    assert len([file for file in parsed if file.startswith("t-1.0.0/")]) == 1
    [key] = cache.of_package(cache.put_keys)
    assert len(cache.get(key) or b"") < 20 * len(whole)


def test_a_class_without_name_is_the_one_that_was_looked_for() -> None:
    cache = Counted()
    nameless = {"t.A": "Properties:\n  p: {Contract: $.int(), Default: 7}\n", "t.B": "= t.A"}
    first = link(cache, nameless)
    assert len(first) == 2 and link(cache, nameless) == first
    assert len(marshal.loads(cache.get(cache.of_package(cache.put_keys)[0]) or b"")) == 2


def test_classes_that_are_gone_leave_the_entry() -> None:
    cache = Counted()
    for number in range(5):
        link(cache, {"t.A": CLASSES["t.C1"].replace("t.C1", "t.A"), f"t.Was{number}": f"Name: t.Was{number}\n"})
    entry = marshal.loads(cache.get(cache.of_package(cache.put_keys)[-1]) or b"")
    assert len(entry) == 2
