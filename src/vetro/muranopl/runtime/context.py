"""`MuranoContext`: what compiled MuranoPL code knows about itself: its class, session, names and dialect.

One per linked class. It is the ``cx`` of every library function called from that class's code (SEMANTICS 2.3: names
are resolved in the class that contains the code, not in the object's class).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vetro.muranopl.errors import ClassNotFound
from vetro.yaql.context import CodeContext

if TYPE_CHECKING:
    from vetro.muranopl.runtime.session import Session
    from vetro.muranopl.types.murano_type import MuranoType
    from vetro.yaql.parser import ParserDialect


@dataclass(slots=True, eq=False)
class MuranoContext(CodeContext):
    """The code context of one class in one session."""

    session: Session = None  # type: ignore[assignment]
    type: MuranoType = None  # type: ignore[assignment]

    @property
    def grammar(self) -> ParserDialect:
        """The grammar of the class's expressions."""
        grammar: ParserDialect = self.dialect.grammar  # type: ignore[attr-defined]
        return grammar

    def resolve(self, name: Any, version_spec: str | None = None) -> MuranoType:
        """The class ``name`` means here: text as written in the class's file, a type object, a reflection type.

        Raises `ClassNotFound` or `PackageNotFound` where the package's requirements do not reach it.
        """
        if isinstance(name, str):
            return self.type.resolve_class(name, version_spec)
        found = getattr(name, "type", None)
        if found is None or not hasattr(found, "ancestors"):
            raise ClassNotFound(str(name))
        return found  # type: ignore[no-any-return]

    def find_extension(self, name: str, receiver: Any) -> Callable[..., Any] | None:
        """An extension method visible in this class that accepts ``receiver`` (SEMANTICS 8.3), bound to it."""
        for method in self.type.extensions(name):
            if method.accepts_receiver(receiver):
                return method.bind_receiver(receiver)
        return None
