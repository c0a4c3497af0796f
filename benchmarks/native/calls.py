"""Method calls with checked arguments, and properties with checked setters."""

from __future__ import annotations

from typing import Any

from benchmarks.native.base import Native, Violation, nothing


class Calls:
    def scale(self, value: Any, factor: Any = 3, label: Any = None) -> Any:
        if value.__class__ is not int or not value >= 0:
            raise Violation("value")
        if factor.__class__ is not int:
            raise Violation("factor")
        if label.__class__ is not str:
            raise Violation("label")
        return value * factor + len(label)

    def loop(self, n: int) -> int:
        i = total = 0
        while i < n:
            total = (total + self.scale(i, label="unit")) % 1000003
            i = i + 1
        return total

    def fib(self, n: Any) -> Any:
        if n.__class__ is not int:
            raise Violation("n")
        if n < 2:
            return n
        return self.fib(n - 1) + self.fib(n - 2)

    def descend(self, n: Any) -> int:
        if n.__class__ is not int:
            raise Violation("n")
        if n <= 0:
            return 0
        return self.descend(n - 1) + 1

    @staticmethod
    def static_add(a: Any, b: Any) -> Any:
        if a.__class__ is not int or b.__class__ is not int:
            raise Violation("a")
        return a + b

    def static_loop(self, n: int) -> Any:
        i = total = 0
        while i < n:
            total = Calls.static_add(total, i)
            i = i + 1
        return total


class Base:
    def __init__(self) -> None:
        self._count = 0
        self._total = 0
        self._label = "none"
        self.limit = 50
        self.history: dict[str, Any] = {"last": 0, "label": "start"}

    @property
    def count(self) -> Any:
        return self._count

    @count.setter
    def count(self, value: Any) -> None:
        if value.__class__ is not int:
            raise Violation("count")
        self._count = value

    @property
    def total(self) -> Any:
        return self._total

    @total.setter
    def total(self, value: Any) -> None:
        if value.__class__ is not int:
            raise Violation("total")
        self._total = value

    @property
    def label(self) -> Any:
        return self._label

    @label.setter
    def label(self, value: Any) -> None:
        if value.__class__ is not str:
            raise Violation("label")
        self._label = value

    def bump(self, by: Any) -> None:
        if by.__class__ is not int:
            raise Violation("by")
        self.count = self.count + by


class Mid(Base):
    def absorb(self) -> None:
        self.total = (self.total + self.count) % 1000003


class Leaf(Mid):
    def churn(self, n: int) -> dict[str, Any]:
        i = 0
        while i < n:
            self.count = self.count + 1
            self.total = (self.total + self.count * self.limit) % 1000003
            if self.count % self.limit == 0:
                self.label = "wrapped"
                self.history = dict(self.history, last=self.count)
            i = i + 1
        return {"count": self.count, "total": self.total, "label": self.label, "history": self.history}

    def delegate(self, n: int) -> Any:
        i = 0
        while i < n:
            self.bump(2)
            self.absorb()
            i = i + 1
        return self.total


def make_calls(n: int, tmp: str) -> Calls:
    return Calls()


NATIVE = {
    "b1_calls": Native(make_calls, lambda n, calls: calls.loop(n)),
    "b2_fib": Native(make_calls, lambda n, calls: calls.fib(n)),
    "b3_static": Native(make_calls, lambda n, calls: calls.static_loop(n)),
    "b4_depth": Native(make_calls, lambda n, calls: calls.descend(n)),
    "c1_props": Native(nothing, lambda n, state: Leaf().churn(n)),
    "c2_inherited_calls": Native(nothing, lambda n, state: Leaf().delegate(n)),
}
