"""Objects of an object model, by id: what references point to and what a new form may not overwrite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vetro.forms.catalog import DescribedClass, Describer
from vetro.forms.model import Choice, Picker
from vetro.forms.values import is_list, pointer


@dataclass(frozen=True, slots=True)
class Known:
    """An object of the model, the object in whose properties it is defined, and where: a pointer below the root."""

    data: Mapping[str, Any]
    owner: str | None
    path: str


def header_of(value: Any) -> Mapping[str, Any] | None:
    """The header of an object definition; None for everything else."""
    header = value.get("?") if isinstance(value, Mapping) else None
    return header if isinstance(header, Mapping) else None


def id_of(value: Any) -> str | None:
    """The id in the header of an object definition."""
    header = header_of(value)
    found = None if header is None else header.get("id")
    return None if found is None or isinstance(found, (Mapping, list)) else str(found)


def type_of(value: Any) -> str | None:
    """The ``type`` of an object definition, with the version and package that stand beside it."""
    header = header_of(value)
    written = None if header is None else header.get("type")
    if header is None or not isinstance(written, str) or not written:
        return None
    version, package = header.get("classVersion"), header.get("package")
    name, at, own_package = written.partition("@")
    if version is not None and "/" not in name:
        name = f"{name}/{version}"
    suffix = own_package if at else package
    return f"{name}@{suffix}" if suffix else name


def walk(root: Any) -> Iterator[tuple[Mapping[str, Any], str | None, str]]:
    """Every mapping with a header below ``root``, with the id of the object around it and its pointer."""
    todo: list[tuple[Any, str | None, str]] = [(root, None, "")]
    while todo:
        value, owner, path = todo.pop()
        if isinstance(value, Mapping):
            if header_of(value) is not None:
                yield value, owner, path
                owner = id_of(value) or owner
            todo.extend(
                (part, owner, path + pointer(key)) for key, part in reversed(list(value.items())) if str(key) != "?"
            )
        elif is_list(value):
            todo.extend((part, owner, path + pointer(i)) for i, part in reversed(list(enumerate(value))))


class Objects:
    """The objects of one model (the value of ``Objects``, an environment as a rule)."""

    def __init__(self, root: Any, describer: Describer) -> None:
        self._describer = describer
        self.by_id: dict[str, Known] = {}
        for data, owner, path in walk(root):
            found = id_of(data)
            if found is not None:
                self.by_id[found] = Known(data, owner, path)
        #: Ids by the type that is written; made when a picker asks.
        self._by_type: dict[str, list[str]] | None = None

    def class_of(self, id: str) -> DescribedClass | None:
        """The class of an object; None where the object or its class is unknown."""
        known = self.by_id.get(id)
        written = None if known is None else type_of(known.data)
        return None if written is None else self._describer.described(written)

    def label(self, id: str) -> str:
        """What people know the object by: its name, else its class and id."""
        data = self.by_id[id].data
        header = data["?"]
        for name in (header.get("name"), data.get("name")):
            if isinstance(name, str) and name:
                return name
        kind = (type_of(data) or "object").partition("/")[0].rpartition(".")[2]
        return f"{kind} {id[:8]}"

    def instances(
        self, picker: Picker, *, search: str = "", offset: int = 0, limit: int = 100
    ) -> tuple[list[Choice], bool]:
        """Objects that the picker may refer to, by label, ``limit`` from ``offset`` on, and whether more follow.

        ``search``: text that label, class or id must contain. Classes that the catalog lacks fit nothing.
        """
        wanted = search.casefold()
        found: list[tuple[str, str, str]] = []
        for written, ids in self._types().items():
            described = self._describer.described(written)
            if described is None or not described.is_a(picker.type, picker.version):
                continue
            for id in ids:
                label = self.label(id)
                if not wanted or wanted in f"{label}\0{described.name}\0{described.title}\0{id}".casefold():
                    found.append((label, id, described.title))
        found.sort(key=lambda row: (row[0].casefold(), row[1]))
        page = found[offset : offset + limit]
        return [Choice(id, label, group=title) for label, id, title in page], len(found) > offset + limit

    def _types(self) -> dict[str, list[str]]:
        if self._by_type is None:
            self._by_type = {}
            for id, known in self.by_id.items():
                written = type_of(known.data)
                if written is not None:
                    self._by_type.setdefault(written, []).append(id)
        return self._by_type
