"""Where code runs: the per-run `Execution` (budgets, clock, randomness) and the per-code `CodeContext`.

Both are explicit objects handed to every library function that needs them; there is no module-level state.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vetro.yaql.errors import CollectionTooLarge, MemoryQuotaExceeded, StepsExceeded
from vetro.yaql.resolve.signature import FunctionTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Budgets. None means unlimited. Items count per sequence, bytes per single value, the rest per run."""

    max_sequence: int | None = 10_000_000
    #: Bytes a single text or list built by an amplifier (`*`, join, replace, format…) may need.
    max_expression_memory: int | None = 256 * 1024 * 1024
    max_integer_bits: int = 16_384
    #: Items of a whole result as plain data, where shared parts are written out each time.
    max_output: int = 5_000_000
    max_steps: int = 10_000_000_000
    #: Depth of nested method calls and of owned objects in a model; None: only Python's own stack limits.
    max_calls: int | None = None
    max_object_nesting: int = 100_000
    max_seconds: float | None = None


class Execution:
    """One run: what it may still use, and its sources of time and chance.

    ``steps`` is decremented in line by generated code; when it falls below zero `slow` decides.
    """

    __slots__ = ("__dict__", "__weakref__", "limits", "max_text", "steps")

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        clock: Callable[[], float] = time.time,
        rng: random.Random | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.steps: int = self.limits.max_steps
        self.clock = clock
        self.rng = rng or random.Random()

    def slow(self, receiver: Any = None, key: Any = None) -> None:
        """Called when `steps` fell below zero; hosts override it for cancellation, time and locks."""
        raise StepsExceeded(f"the run used up its {self.limits.max_steps} steps")

    def charge(self, steps: int) -> None:
        """Takes ``steps`` from the budget; raises `StepsExceeded` when it is empty."""
        self.steps -= steps
        if self.steps < 0:
            self.slow()

    def check_items(self, count: int) -> None:
        """Raises `CollectionTooLarge` when a sequence of ``count`` items may not be materialised."""
        limit = self.limits.max_sequence
        if limit is not None and count > limit:
            raise CollectionTooLarge(f"collection length exceeds {limit} elements")

    def check_memory(self, size: int) -> None:
        """Raises `MemoryQuotaExceeded` when a value of about ``size`` bytes may not be built."""
        limit = self.limits.max_expression_memory
        if limit is not None and size > limit:
            raise MemoryQuotaExceeded(f"expression needs {size} bytes, the limit is {limit}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """Flags of an expression dialect (YAQL.md sections 5 and 6)."""

    name: str
    table: FunctionTable
    #: The library is that of 0.2 (YAQL.md section 5): indexing, missing keys, pairs of `dict`, `switch` and `as`.
    legacy: bool = False
    #: The grammar is that of 0.2: `=>` is an operator that builds tuples, and there are no keyword arguments.
    pair_operator: bool = False
    #: Mappings count as iterables of their keys.
    iterable_dicts: bool = False
    delegates: bool = False
    #: Additional operators: name -> (precedence as in YAQL.md 2.1, kind 'binary' | 'unary').
    operators: tuple[tuple[str, float, str], ...] = ()
    #: Groups may be aggregated the old way (`groupBy`).
    group_fallback: bool = True


@dataclass(slots=True)
class CodeContext:
    """What a piece of code sees besides variables. Host languages subclass it (class, package, name resolution)."""

    rt: Execution
    dialect: Dialect
    #: Extra per-host values.
    data: dict[str, Any] = field(default_factory=dict)

    def find_extension(self, name: str, receiver: Any) -> Callable[..., Any] | None:
        """A host-defined extension method ``name`` that accepts ``receiver``, bound to it; None in plain YAQL."""
        return None
