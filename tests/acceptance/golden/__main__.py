"""`python -m tests.acceptance.golden [FILE…]`: replays the recording; a line for each exchange that differs.

A FILE (``30`` or ``30-actions``) limits what is shown: what comes before is replayed all the same.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.acceptance.golden.people import Site
from tests.acceptance.golden.recording import in_order
from tests.acceptance.golden.replay import Replay


def main(words: list[str]) -> int:
    """Replays; 0 when all shown exchanges went as recorded."""
    wanted = [word for word in words if not word.startswith("-")]
    verbose = "-v" in words
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="vetro-golden-") as folder:
        site = Site(Path(folder))
        try:
            for outcome in Replay(site, in_order()).run():
                if wanted and not any(outcome.exchange.file.startswith(word) for word in wanted):
                    continue
                if not outcome.differences:
                    passed += 1
                    continue
                failed += 1
                shown = outcome.differences if verbose else outcome.differences[:1]
                more = len(outcome.differences) - len(shown)
                print(
                    f"{outcome.exchange}: " + "\n    ".join(shown) + (f" (and {more} more)" if more else ""), flush=True
                )
        finally:
            site.end()
            sys.stderr.write(Path(folder, "stderr").read_text()[-5000:])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
