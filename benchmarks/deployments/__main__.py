"""`python -m benchmarks.deployments SCENARIO [--small]`: runs one scenario in this process; prints one JSON line."""

from __future__ import annotations

import json
import sys

from benchmarks.deployments.scenarios import SCENARIOS


def main(arguments: list[str]) -> int:
    """Exit status of the command."""
    name, *rest = arguments
    print(json.dumps(SCENARIOS[name]("--small" in rest)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
