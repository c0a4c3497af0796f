"""``python -m tests.faults``: the kill campaign (docs/reliability.md)."""

from __future__ import annotations

import argparse
import faulthandler
import json
import signal
import sys
from dataclasses import replace
from pathlib import Path

from tests.faults.campaign import takeovers
from tests.faults.campaign.backing import Absent
from tests.faults.campaign.campaign import run
from tests.faults.campaign.plan import Plan, Result
from tests.faults.campaign.strikes import told

#: What ``--full`` runs.
FULL = (
    Plan(deployments=500, environments=50, clients=5, every=3.0, kills=100_000, limit=3600.0),
    Plan(database="sqlite", deployments=200, environments=20, clients=4, every=6.0, kills=100_000, limit=3600.0),
)


def main() -> int:
    """The exit status: 0 when all holds, 1 when not, 2 when it cannot run here."""
    given = _parser().parse_args()
    faulthandler.register(signal.SIGUSR1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    plans = [replace(plan, seed=given.seed, backend=given.backend if plan.database == "postgresql" else "embedded",
                     rabbit=not given.no_rabbitmq) for plan in FULL]  # fmt: skip
    if not given.full:
        names = ("database", "deployments", "environments", "clients", "every", "kills", "limit", "lease", "latency")
        chosen = {name: value for name in names if (value := getattr(given, name)) is not None}
        plans = [Plan(**chosen, seed=given.seed, backend=given.backend, rabbit=not given.no_rabbitmq)]
    failed = passed = 0
    found = []
    for plan in plans:
        try:
            result = run(plan, lambda text: print(text, file=sys.stderr, flush=True), given.keep)
        except Absent as error:
            print(f"the campaign cannot run here: {error}", file=sys.stderr)
            return 2
        show(result)
        found.append(result.as_json())
        failed += result.failed
        passed += len(result.checks) - result.failed
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{passed} passed, {failed} failed")
    if failed:
        print(f"to repeat it: python -m tests.faults {' '.join(sys.argv[1:])} --seed {given.seed} --keep FOLDER")
    return 1 if failed else 0


def show(result: Result) -> None:
    """What came of one campaign."""
    plan, seconds = result.plan, result.seconds
    rows = [
        ("database, dispatch", f"{plan.database}, {plan.backend}"),
        ("seed", str(plan.seed)),
        ("deployments", ", ".join(f"{count} {how}" for how, count in sorted(result.ends.items()))),
        ("killed", told(result.kills)),
        ("effects", ", ".join(f"{count} {what}" for what, count in sorted(result.effects.items()))),
        ("answers over HTTP", ", ".join(f"{count} {what}" for what, count in sorted(result.answers.items()))),
        ("tasks by claims", ", ".join(f"{count} claimed {times}x" for times, count in sorted(result.claims.items()))),
        *((f"taken over ({who})", takeovers.told(late)) for who, late in result.takeovers.items()),
        ("seconds", ", ".join(f"{name} {value:.0f}" for name, value in seconds.items())),
    ]
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        print(f"{name:{width}}  {text}")
    for text in result.failures[:20]:
        print(f"  not as ordered: {text}")
    for check in result.checks:
        print(f"{'FAILED' if check.wrong else 'holds '}  {check.name}")
        for text in check.wrong[:20]:
            print(f"        {text}")
    print(flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Kills processes of a service at work.")
    parser.add_argument("--full", action="store_true", help="500 deployments on PostgreSQL, then 200 on SQLite")
    parser.add_argument("--seed", type=int, default=1, help="who is killed when [1]")
    parser.add_argument("--database", choices=("postgresql", "sqlite"))
    parser.add_argument("--backend", choices=("embedded", "procrastinate"), default="embedded")
    parser.add_argument("--deployments", type=int)
    parser.add_argument("--environments", type=int)
    parser.add_argument("--clients", type=int)
    parser.add_argument(
        "--every", type=float, help="seconds between two kills, on average; without it they are spread over the work"
    )
    parser.add_argument("--kills", type=int, help="at most so many")
    parser.add_argument("--lease", type=float)
    parser.add_argument("--latency", type=float, help="longest time of a change of a stack")
    parser.add_argument("--limit", type=float, help="seconds after which it has failed")
    parser.add_argument("--no-rabbitmq", action="store_true")
    parser.add_argument("--json", type=Path, help="file for the results")
    parser.add_argument("--keep", type=Path, help="where logs go when something failed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
