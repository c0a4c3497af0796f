"""`python -m tests.conformance PATH...`: runs case files; the last line is `N passed, M failed`."""

from __future__ import annotations

import argparse
import faulthandler
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.cases import CaseError, read_cases
from tests.conformance.runner import run_case

#: Time beyond a case's own limit after which the process gives up: then even Python's signals are not served.
HARD_EXTRA_SECONDS = 60


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 all passed, 1 some failed, 2 no cases or malformed ones."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    here = Path(__file__).parent
    parser.add_argument(
        "paths", nargs="*", default=[here / "cases", here / "cases_own"], metavar="PATH", help="case files or folders"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose id contains TEXT")
    parser.add_argument("-v", "--verbose", action="store_true", help="name every case; show tracebacks of failures")
    options = parser.parse_args(arguments)
    try:
        cases = [case for case in read_cases(options.paths) if options.only in case.id]
    except CaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if not cases:
        print(f"error: no case has '{options.only}' in its id", file=sys.stderr)
        return 2
    failed = 0
    for case in cases:
        faulthandler.dump_traceback_later(case.seconds + HARD_EXTRA_SECONDS, exit=True, file=2)
        failure = run_case(case)
        faulthandler.cancel_dump_traceback_later()
        if failure is not None:
            failed += 1
            print(f"FAILED {case.id}  ({case.file})", failure.render(trace=options.verbose), sep="\n", flush=True)
        elif options.verbose:
            print(f"passed {case.id}", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
