"""What forms ask of the catalog, and classes as forms know them: `Describer` keeps what was described.

The catalog runs package expressions in task processes (kind ``schema`` with ``form``); here is plain JSON only.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any, Final, Protocol

from vetro.data_classes import dataclass
from vetro.forms.generated import class_form, sections_of
from vetro.forms.keywords import Schema
from vetro.forms.model import Field, Form, Section
from vetro.model.header import parse_type_text
from vetro.muranopl.declarations.versions import allows

#: ``forms.max_implementations``: classes a picker shows at once; more by search.
MAX_IMPLEMENTATIONS: Final = 100
_KEPT: Final = 2048


@dataclass(frozen=True, slots=True)
class Implementation:
    """A class that a new object may have. ``type`` is ``Name/version@package``."""

    type: str
    title: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Implementations:
    """A page of classes and whether there are more."""

    items: Sequence[Implementation] = ()
    more: bool = False


class Catalog(Protocol):
    """The classes that a project sees."""

    def class_schema(self, name: str, version: str | None, package: str | None) -> Schema | None:
        """The schema of a class for forms (`class_schemas(…, form=True)['']`); None when the catalog lacks it.

        ``version``: a version or a version spec, None for any. The newest that fits; where an exact version is gone,
        the one that takes its place in a deployment (SEMANTICS 3.4).
        """

    def inheritors(
        self, name: str, version: str | None, search: str = "", offset: int = 0, limit: int = MAX_IMPLEMENTATIONS
    ) -> Implementations:
        """Classes that derive from ``name`` (itself included) in a version that the spec allows, by title."""


class DescribedClass:
    """A class as a form: its schema, fields, ancestors."""

    def __init__(self, schema: Schema, excluded: Sequence[str] = (), contexts: Sequence[Schema] = ()) -> None:
        self.schema = schema
        self.excluded = tuple(excluded)
        self.contexts = tuple(contexts)
        about = schema.get("muranoClass") or {}
        self.name = str(about.get("name", ""))
        self.version = str(about.get("version", "0.0.0"))
        self.package = str(about.get("package", ""))
        self.ancestors: Sequence[tuple[str, str]] = [(str(n), str(v)) for n, v in about.get("ancestors", ())]
        self.title = str(schema.get("title") or self.name.rpartition(".")[2])

    @property
    def type(self) -> str:
        """``Name/version@package``, as object headers have it."""
        return f"{self.name}/{self.version}@{self.package}"

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The fields without values."""
        return sections_of(self.schema, excluded=self.excluded, contexts=self.contexts)

    @cached_property
    def form(self) -> Form:
        """The form for a new object, with its JSON Schema."""
        return class_form(self.schema, excluded=self.excluded, contexts=self.contexts)

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """The fields by property name."""
        return {field.name: field for section in self.sections for field in section.fields}

    def is_a(self, name: str, version: str | None = None) -> bool:
        """Whether it is the class ``name`` in a version that the spec allows, or derives from it."""
        return any(n == name and allows(version, v) for n, v in self.ancestors)


class Describer:
    """Describes classes of one catalog once. Thread-safe; make one a catalog state (its packages' digests)."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._known: OrderedDict[tuple[str, ...], DescribedClass | None] = OrderedDict()
        self._lock = Lock()

    def described(
        self, type_text: str, *, excluded: Sequence[str] = (), contexts: Sequence[Schema] = ()
    ) -> DescribedClass | None:
        """The class of a header's ``type``; None when the catalog lacks it or the text names none."""
        written = parse_type_text(type_text)
        if not written.name:
            return None
        return self.of(written.name, written.version, written.package, excluded=excluded, contexts=contexts)

    def of(
        self,
        name: str,
        version: Any = None,
        package: str | None = None,
        *,
        excluded: Sequence[str] = (),
        contexts: Sequence[Schema] = (),
    ) -> DescribedClass | None:
        """The class ``name`` in a version that ``version`` (a version or spec) allows."""
        spec = None if version is None else str(version)
        key = (name, spec or "", package or "", *excluded, *(json.dumps(c, sort_keys=True) for c in contexts))
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        schema = self.catalog.class_schema(name, spec, package)
        made = None if schema is None else DescribedClass(schema, excluded, contexts)
        with self._lock:
            self._known[key] = made
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return made


def all_fields(sections: Sequence[Section]) -> Iterator[Field]:
    """The fields of ``sections`` in order."""
    for section in sections:
        yield from section.fields
