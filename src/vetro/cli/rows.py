"""What commands about a server print: times, rows, progress of the same kind everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from vetro.cli import output as out
from vetro.cli.client.requests import compact


def when(text: Any) -> str:
    """A time of the server in the zone of this machine; empty for none."""
    if not text:
        return ""
    try:
        return datetime.fromisoformat(str(text)).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return str(text)


def print_rows(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    output: str,
    *,
    empty: str,
    head: Mapping[str, str] | None = None,
    wide: Sequence[str] = (),
) -> None:
    """A list: as data with everything there is, as a table the named columns. ``empty`` is said where it is empty.

    ``wide``: columns that are shown on request (`-o wide`) only, ids most of all. ``head``: titles of columns that are
    not called as what they show.
    """
    shown = [*columns, *(wide if out.wide() else ())]
    if output != "table":
        out.print_data(list(rows), output)
    elif not rows:
        out.note(empty)
    else:
        titles = [(head or {}).get(name, name) for name in shown]
        out.print_table(titles, [[_cell(name, row.get(name)) for name in shown] for row in rows])


def print_one(row: Mapping[str, Any], output: str, names: Sequence[str] = ()) -> None:
    """One thing: as data, or a line a field."""
    if output != "table":
        out.print_data(row, output)
        return
    shown = [name for name in (names or row) if row.get(name) not in (None, "", [], {})]
    width = max((len(name) for name in shown), default=0)
    for name in shown:
        out.echo(f"{name.ljust(width)}  {_cell(name, row[name])}")


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in ("created", "updated", "changed", "started", "finished", "expires", "last_used", "begun"):
        return when(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return compact(value).rstrip()
