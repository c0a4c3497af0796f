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


class TemplateTooLarge(TemplateInvalid):
    """A template or what its functions produce is beyond the limits of the local cloud. Nothing was done."""

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
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        level = below


class Meter:
    """Counts what functions produce."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_PRODUCED

    def spend(self, amount: int, what: str) -> None:
        """Takes ``amount`` before it is produced. Raises `TemplateTooLarge`."""
        self.left -= amount
        if self.left < 0:
            raise TemplateTooLarge(
                f"{what} would produce too much: the functions of one resource may make {MOST_PRODUCED:,} characters"
            )
