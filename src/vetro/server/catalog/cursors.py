"""Where a page of packages ends, as text for clients: the values that lists are ordered by, of its last package.

So the next page begins there even when that package is gone meanwhile, was renamed, or others came before it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from vetro.diagnostics import Text
from vetro.server.caller import Caller
from vetro.server.catalog import search, trigrams
from vetro.server.catalog.search_query import Query
from vetro.server.errors import Invalid, NotFound
from vetro.server.queries import on_sqlite

#: Characters that such a text has at most: names are what is long in it.
LONGEST = 4000


def end(caller: Caller, query: Query, ids: Iterable[str]) -> str | None:
    """The end of a page with packages of these ids, in their order; None when all of them are gone."""
    for id in reversed(list(ids)):
        try:
            values = search.place(caller, replace(query, marker=id))
        except NotFound:  # removed since the page was read: what stood before it is still a place
            continue
        plain = [value.isoformat() if isinstance(value, datetime) else value for value in values]
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    return None


def begin(query: Query, text: str | None) -> list[Any] | None:
    """What `Query.after` has to be for what `end` gave; None for no text. Raises `Invalid` for anything else."""
    if not text:
        return None
    try:
        if len(text) > LONGEST:
            raise ValueError
        values = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
        return _read(query, values)
    except (ValueError, RecursionError):
        raise Invalid(
            Text("This is no cursor of this list."), hint=Text("leave it out, or give what 'next' said")
        ) from None


def _read(query: Query, values: Any) -> list[Any]:
    """Values that the database can compare with its columns. Raises `ValueError`."""
    if not isinstance(values, list):
        raise ValueError
    ranks = values[:1] if query.words else []
    texts = values[len(ranks) :]
    if query.words and not (ranks and type(ranks[0]) is int and 0 <= ranks[0] <= len(trigrams.FIELDS)):
        raise ValueError
    keys = [*query.order_by, *(["version"] if query.order_by else []), "id"]
    if len(texts) != len(keys) or not all(isinstance(value, str) and "\0" not in value for value in texts):
        raise ValueError
    for value in texts:
        value.encode()  # half a character is a `ValueError`, too
    return [*ranks, *(_time(value) if key == "created" else value for key, value in zip(keys, texts, strict=True))]


def _time(text: str) -> Any:
    """A time as it is compared with columns: SQLite has texts."""
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=None).isoformat(" ") if on_sqlite() else at
