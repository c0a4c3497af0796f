"""``script/with-postgresql .venv/bin/python -m benchmarks.scale``: the tables of docs/scale.md. Needs root."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.scale import place
from benchmarks.trivial import people

#: Where ``--write`` puts the tables, between marks that name them.
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def main() -> int:
    """Measures and prints; 0."""
    parser = argparse.ArgumentParser(prog="benchmarks.scale", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=("deployments", "rows"))
    parser.add_argument("--write", action="store_true", help="put the tables into docs/scale.md")
    parser.add_argument("--workers", default="1,2,4", help="numbers of workers, with commas")
    parser.add_argument("--deployments", type=int, default=100, help="deployments of a round")
    parser.add_argument(
        "--rate", type=float, default=0.0, help="deployments asked for in a second, for each worker; 0: all at once"
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds with each number of workers")
    parser.add_argument("--environments", type=int, default=100_000)
    parser.add_argument("--packages", type=int, default=100_000)
    parser.add_argument("--reports", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.rate and options.write:
        parser.error("the page shows what all at once cost: --rate goes without --write")
    with tempfile.TemporaryDirectory(prefix="vetro-scale-") as folder:
        environ = place.prepare(Path(folder))
        caller = people()
        tables = {}
        if options.only != "rows":
            from benchmarks.scale import deployments

            numbers = [int(number) for number in options.workers.split(",")]
            costs, drift = deployments.measure(environ, numbers, options.deployments, options.rounds, options.rate)
            tables["deployments"] = [*deployments.table(costs, options.rounds, drift), "", machine()]
            print("\n".join(tables["deployments"]), flush=True)
        if options.only != "deployments":
            from benchmarks.scale import rows

            sizes = (options.environments, options.packages, options.reports)
            tables["rows"] = [*rows.measure(caller, sizes), "", machine()]
            print("\n".join(tables["rows"]), flush=True)
        from django.db import connection

        connection.close()
    if options.write:
        text = PAGE.read_text("utf-8")
        for name, lines in tables.items():
            text = written(text, name, lines)
        PAGE.write_text(text, "utf-8")
    return 0


def machine() -> str:
    """Where and when it was measured, and how much else there was to do, in a sentence."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        (version,) = cursor.fetchone()
    return (
        f"Measured on {datetime.now(UTC):%Y-%m-%d}: {os.cpu_count()} processors ({platform.machine()}), Python"
        f" {platform.python_version()}, PostgreSQL {version.split()[0]} without fsync; load of the machine"
        f" {os.getloadavg()[1]:.0f}."
    )


def written(text: str, name: str, lines: list[str]) -> str:
    """The page with these lines between its marks for ``name``. Raises `ValueError` where it has none."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page has no place for '{name}'")
    return head + begin + "\n".join(lines) + "\n" + end + tail


if __name__ == "__main__":
    sys.exit(main())
