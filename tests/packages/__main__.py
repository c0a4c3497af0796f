"""`python -m tests.packages PATH...`: tries every package below the paths; the last line is `N passed, M failed`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

from tests.packages.runner import Shelf


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 none failed, 1 some failed, 2 there is no package."""
    parser = argparse.ArgumentParser(prog="python -m tests.packages", description=__doc__)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="folders or archives, at any depth")
    parser.add_argument("--only", default="", metavar="TEXT", help="only packages whose name or path holds TEXT")
    options = parser.parse_args(arguments)
    counts = {"passed": 0, "failed": 0, "missing": 0}
    for verdict in Shelf(options.paths).try_all(options.only):
        counts[verdict.state] += 1
        print(verdict, flush=True)
    if not sum(counts.values()):
        print("error: there is no package at these paths", file=sys.stderr)
        return 2
    if counts["missing"]:
        print(f"{counts['missing']} with missing requirements, not counted")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    logging.getLogger("vetro").setLevel(logging.ERROR)  # what packages get wrong stands in their lines
    sys.exit(main())
