"""`python -m tests.dynamic_ui PATH...`: runs case files; the last line is `N passed, M failed`.

With `--corpus` the paths are folders with packages (folders and archives): every UI definition in them is driven with
automatic answers to an object model.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.dynamic_ui.corpus import drive_all
from tests.dynamic_ui.runner import CaseError, read_case, run_case


def case_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The case files at ``paths``, folders searched. Raises `CaseError` where there are none."""
    for path in paths:
        found = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
        found = [file for file in found if file.name != "cloud.yaml"]
        if not found:
            raise CaseError(f"{path}: no case files")
        yield from found


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 all passed, 1 some failed, 2 no cases or malformed ones."""
    parser = argparse.ArgumentParser(prog="python -m tests.dynamic_ui", description=__doc__)
    default = [Path(__file__).parent / "cases"]
    parser.add_argument("paths", nargs="*", type=Path, default=default, metavar="PATH", help="case files or folders")
    parser.add_argument("--corpus", action="store_true", help="the paths hold packages, not cases")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose id contains TEXT")
    parser.add_argument("-v", "--verbose", action="store_true", help="name every case")
    options = parser.parse_args(arguments)
    try:
        if options.corpus:
            results = ((name, [] if reason is None else [reason]) for name, reason in drive_all(options.paths))
        else:
            cases = [read_case(file) for file in case_files(options.paths)]
            results = ((case.id, run_case(case)) for case in cases if options.only in case.id)
        passed = failed = 0
        for name, wrong in results:
            if wrong:
                failed += 1
                print(f"FAILED {name}: " + "\n    ".join(wrong), flush=True)
            else:
                passed += 1
                if options.verbose:
                    print(f"passed {name}", flush=True)
    except CaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if not passed and not failed:
        print("error: nothing to run", file=sys.stderr)
        return 2
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
