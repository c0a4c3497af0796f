"""`python -m tests.server.roles --markdown` prints the table of routes, `--write` puts it into SECURITY.md."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> int:
    """The exit status."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.server.settings")
    import django

    django.setup()
    from tests.server.roles.table import BEGIN, END, markdown

    if sys.argv[1:] == ["--markdown"]:
        print(markdown())
        return 0
    if sys.argv[1:] != ["--write"]:
        print(__doc__, file=sys.stderr)
        return 2
    file = Path(__file__).parents[3] / "SECURITY.md"
    before, _, rest = file.read_text("utf-8").partition(BEGIN)
    if not rest:
        print(f"{file} has no line {BEGIN}", file=sys.stderr)
        return 1
    file.write_text(before + markdown() + rest.partition(END)[2], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
