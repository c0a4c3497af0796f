"""`Query`: what is asked of a list of packages (API.md 3, Search parameters)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.server.errors import Invalid

#: Characters of what is searched, and of a tag or category: looking for long texts takes seconds, and there are none.
LONGEST_SEARCH: Final = 500
LONGEST_VALUE: Final = 255


@dataclass
class Query:
    """What is asked for. Empty filters do not filter."""

    ids: Sequence[str] = ()
    categories: Sequence[str] = ()
    tags: Sequence[str] = ()
    fqn: str | None = None
    #: One of these full names.
    fqns: Sequence[str] = ()
    name: str | None = None
    class_name: str | None = None
    type: str | None = None
    version: str | None = None
    search: str = ""
    owned: bool = False
    include_disabled: bool = False
    #: Own and public packages only, and of each name the newest version.
    catalog: bool = False
    #: Keys of `search.ORDERS`; empty: by id.
    order_by: Sequence[str] = ("name",)
    descending: bool = False
    limit: int = 20
    #: The page begins behind the package with this id, or behind these values of the order (`places`).
    marker: str | None = None
    after: Sequence[Any] | None = None

    def check(self) -> None:
        """Raises `Invalid` for texts that are too long to be looked for."""
        if len(self.search) > LONGEST_SEARCH:
            raise Invalid(
                Text(
                    "The search has {search:,} characters, {longest_search} at most",
                    search=len(self.search),
                    longest_search=LONGEST_SEARCH,
                )
            )
        for what, values in ((Text("tag"), self.tags), (Text("category"), self.categories)):
            if any(len(value) > LONGEST_VALUE for value in values):
                raise Invalid(
                    Text("A {what} has {longest_value} characters at most", what=what, longest_value=LONGEST_VALUE)
                )

    @cached_property
    def words(self) -> list[str]:
        """The words to search: split at commas and semicolons, in lower case; those without letters and digits say
        nothing.
        """
        words = (part.strip().lower() for part in self.search.replace(";", ",").split(","))
        return list(dict.fromkeys(w for w in words if any(c.isalnum() for c in w)))[:20]
