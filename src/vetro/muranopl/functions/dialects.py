"""Expression dialects by package format (SEMANTICS 3.10)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from vetro.data_classes import dataclass
from vetro.muranopl.functions import murano_table
from vetro.yaql.context import Dialect
from vetro.yaql.parser import MURANO, ParserDialect
from vetro.yaql.resolve.signature import FunctionTable, Overload


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MuranoDialect(Dialect):
    """A dialect together with the grammar its texts are parsed by."""

    grammar: ParserDialect


#: What `level_of` gives.
LEVELS = ("1.0", "1.2", "1.4")


def level_of(version: Any) -> str:
    """``1.0``, ``1.2`` or ``1.4``: the dialect of a package format given as version or tuple."""
    parts = tuple(version)[:2] if isinstance(version, (tuple, list)) else (version.major, version.minor)
    if parts >= (1, 4):
        return "1.4"
    return "1.2" if parts >= (1, 2) else "1.0"


@cache
def base_dialect(level: str, core: bool) -> MuranoDialect:
    """The dialect of a format without functions of the host."""
    legacy = level == "1.0"
    return MuranoDialect(
        name=f"muranopl-{level}{'-core' if core else ''}",
        table=murano_table(level, core=core),
        legacy=legacy,
        iterable_dicts=legacy,
        grammar=MURANO,
    )


class DialectSet:
    """The dialects of one session: the base ones with the host's own functions as the innermost layer."""

    def __init__(self, functions: Mapping[str, Overload]) -> None:
        self._functions = dict(functions)
        self._made: dict[tuple[str, bool], MuranoDialect] = {}

    def get(self, version: Any, core: bool = False) -> MuranoDialect:
        """The dialect for code of a package of that format; ``core`` for the core library itself."""
        level = level_of(version)
        known = self._made.get((level, core))
        if known is None:
            known = base_dialect(level, core)
            if self._functions:
                table = FunctionTable(parent=known.table)
                for overload in self._functions.values():
                    table.add(overload)
                known = MuranoDialect(
                    name=known.name + "+host",
                    table=table,
                    legacy=known.legacy,
                    iterable_dicts=known.iterable_dicts,
                    grammar=known.grammar,
                )
            self._made[level, core] = known
        return known
