"""How large a template and what it makes may be: a hostile one ends in a named error, soon."""

from __future__ import annotations

from typing import Any

from vetro.clouds.interface import TemplateInvalid

#: Characters of JSON of one part (a resource, a file) and of a whole stack.
LARGEST_PART = 8 << 20
LARGEST_STACK = 128 << 20
#: Resources of one template; resources of a stack with all that is nested in it.
MOST_RESOURCES = 5_000
#: Stacks within stacks (files as types, groups).
DEEPEST_STACK = 5
#: Lists and mappings within each other in a template.
DEEPEST_DATA = 100
#: Characters, or items at 16 each, that the functions of one resource may produce.
MOST_PRODUCED = 16 << 20
#: The same for all resources of one change of a stack, with all that is nested in it: each counts once when it is
#: checked and once when it is made.
MOST_PRODUCED_TOGETHER = 512 << 20
#: Resources of an environment in all its stacks, when some of them are nested.
MOST_TOGETHER = 4 * MOST_RESOURCES


class TemplateTooLarge(TemplateInvalid):
    """A template or what its functions produce is beyond the limits of the cloud. Nothing was done."""

    code = "CLD121"


def check_depth(value: Any, where: str) -> None:
    """Refuses data nested deeper than `DEEPEST_DATA`. Raises `TemplateTooLarge`."""
    level = [value]
    depth = 0
    while level:
        depth += 1
        if depth > DEEPEST_DATA:
            raise TemplateTooLarge(f"{where} is nested deeper than {DEEPEST_DATA} levels")
        below: list[Any] = []
        for item in level:
            if item.__class__ is str:  # most are
                continue
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        level = below


class Allowance:
    """What one change of a stack may use, with all stacks inside of it."""

    __slots__ = ("looked_at", "produced")

    def __init__(self) -> None:
        #: Resources of nested templates that are checked ahead of time.
        self.looked_at = MOST_TOGETHER
        self.produced = MOST_PRODUCED_TOGETHER

    def look(self, resources: int) -> None:
        """Takes the resources of a nested template. Raises `TemplateTooLarge`."""
        self.looked_at -= resources
        if self.looked_at < 0:
            raise TemplateTooLarge(f"the stack would have more than {MOST_TOGETHER:,} resources with the nested ones")


class Meter:
    """Counts what functions produce for one resource, or one output."""

    __slots__ = ("_shared", "left")

    def __init__(self, shared: Allowance | None = None) -> None:
        self.left = MOST_PRODUCED
        self._shared = shared if shared is not None else Allowance()

    def spend(self, amount: int, what: str) -> None:
        """Takes ``amount`` before it is produced. Raises `TemplateTooLarge`."""
        self.left -= amount
        if self.left < 0:
            raise TemplateTooLarge(
                f"{what} would produce too much: the functions of one resource may make {MOST_PRODUCED:,} characters"
            )
        self._shared.produced -= amount
        if self._shared.produced < 0:
            raise TemplateTooLarge(
                f"{what} would produce too much: the functions of one stack may make"
                f" {MOST_PRODUCED_TOGETHER:,} characters"
            )

    def copy(self, value: Any, what: str) -> Any:
        """The value, after taking what a copy of it costs. Raises `TemplateTooLarge`."""
        if isinstance(value, str):
            self.spend(len(value), what)
        elif isinstance(value, (dict, list)):
            self.spend(_weight(value, self.left), what)
        return value


def _weight(value: Any, enough: int) -> int:
    """Characters, and 16 for each item; counting ends soon above ``enough``."""
    found, waiting = 0, [value]
    while waiting and found <= enough:
        item = waiting.pop()
        if isinstance(item, str):
            found += len(item)
        elif isinstance(item, (dict, list)):
            found += 16 * len(item)
            if isinstance(item, dict):
                found += sum(len(key) for key in item)
                waiting.extend(item.values())
            else:
                waiting.extend(item)
    return found
