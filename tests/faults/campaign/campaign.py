"""One campaign from its beginning to its verdict: `run`."""

from __future__ import annotations

import contextlib
import json
import random
import resource
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults.campaign import verdict
from tests.faults.campaign.agents import Agents
from tests.faults.campaign.backing import Postgres, Rabbit
from tests.faults.campaign.clients import Client, Ordered, Site, TooLate, Web, good
from tests.faults.campaign.installation import Installation
from tests.faults.campaign.package import upload
from tests.faults.campaign.plan import Plan, Result
from tests.faults.campaign.processes import adopt_orphans
from tests.faults.campaign.strikes import Pace, Striker, freeze, sequence
from tests.faults.campaign.takeovers import Takeovers
from tests.faults.campaign.verdict import Check, Told
from tests.faults.world import World

#: A deployment makes so many steps; one in so many is meant to fail.
STEPS = (2, 5)
ONE_FAILS = 9
#: Tasks that a worker runs at once.
PLACES = 4
#: Seconds for looking at everything, one more deployment in each environment and its deletion.
AFTERWARDS = 300.0


def run(plan: Plan, say: Callable[[str], None], keep: Path | None = None) -> Result:
    """Carries out a campaign in a folder of its own, which is removed (``keep``: where it goes when something failed).

    Raises `tests.faults.campaign.backing.Absent` where a program is missing.
    """
    adopt_orphans()
    folder = Path(tempfile.mkdtemp(prefix="vetro-campaign-"))
    folder.chmod(0o755)
    result = Result(plan)
    try:
        _Campaign(plan, folder, result, say).run()
    finally:
        if keep is not None and (result.failed or not result.checks):
            shutil.rmtree(keep, ignore_errors=True)
            shutil.copytree(folder, keep, ignore=shutil.ignore_patterns("data", "rabbit", "worker-*", ".s.*"))
        shutil.rmtree(folder, ignore_errors=True)
    return result


class _Campaign:
    def __init__(self, plan: Plan, folder: Path, result: Result, say: Callable[[str], None]) -> None:
        self.plan = plan
        self.folder = folder
        self.result = result
        self.say = say
        self.stack = contextlib.ExitStack()
        self.chance = random.Random(plan.seed)
        self.sites = [Site(f"e{number}") for number in range(plan.environments)]
        self.world = World(folder / "world.db")
        (folder / "world.db").chmod(0o666)

    def run(self) -> None:
        plan, begun = self.plan, time.monotonic()
        cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
        clean = Check("no process and no file of a run is left")
        with self.stack:
            self.stack.callback(self.world.close)
            installation = self._start()
            try:
                web = Web(self._addresses(installation), self._token(installation), time.monotonic() + AFTERWARDS)
                self._upload(web)
                self.result.seconds["start"] = time.monotonic() - begun
                web.grant(plan.limit)
                self._under_fire(installation, web)
                web.grant(AFTERWARDS)
                self._afterwards(installation, web)
            finally:
                clean.wrong += installation.stop()
        self.result.checks.append(clean)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.result.seconds["all"] = time.monotonic() - begun
        self.result.seconds["cpu"] = after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime

    # -- what it runs on -----------------------------------------------------------------------------------------------

    def _start(self) -> Installation:
        plan = self.plan
        self.postgres = Postgres(self.folder / "postgres") if plan.database == "postgresql" else None
        if self.postgres is not None:
            self.stack.callback(self.postgres.stop)
        self.rabbit = Rabbit(self.folder / "rabbit") if plan.rabbit else None
        if self.rabbit is not None:
            self.stack.callback(self.rabbit.stop)
            agents = Agents(self.rabbit.port, self.folder / "world.db")
            self.stack.callback(agents.stop)
            agents.start()
        port = 0 if self.rabbit is None else self.rabbit.port
        settings = {
            "VETRO_WORKER__EMBEDDED": "1",
            "VETRO_WORKER__LEASE_SECONDS": str(plan.lease),
            "VETRO_WORKER__TASKS": str(PLACES),
            "VETRO_CLOUD__KIND": "tests.faults.campaign.cloud:make",
            "VETRO_CLOUD__SETTINGS": json.dumps(
                {"path": str(self.folder / "world.db"), "seconds": plan.latency / 2, "port": port}
            ),
        }
        if plan.backend != "embedded":
            settings["VETRO_DISPATCH__BACKEND"] = plan.backend
        if self.postgres is not None:
            settings["VETRO_DATABASE__URL"] = self.postgres.url
        several = self.postgres is not None
        installation = Installation(self.folder, settings, machines=2 if several else 1, workers=several)
        installation.others = lambda: {pid for one in (self.postgres, self.rabbit) if one for pid in one.pids()}
        installation.start()
        return installation

    def _addresses(self, installation: Installation) -> Callable[[], list[str]]:
        return lambda: [address for machine in installation.machines if (address := machine.address())]

    def _token(self, installation: Installation) -> str:
        done = installation.command("admin", "token", "create", "admin", "-o", "value")
        if done.returncode:
            raise RuntimeError(f"vetro admin token create failed: {done.stderr}")
        return done.stdout.strip()

    def _upload(self, web: Web) -> None:
        body, type = upload()
        status, answer = web.ask("POST", "/v1/catalog/packages", body, **{"Content-Type": type})
        if status not in (200, 409):
            raise RuntimeError(f"the package was not taken: {status} {answer}")

    # -- the campaign --------------------------------------------------------------------------------------------------

    def _order(self, site: Site, number: int) -> Ordered:
        chance = random.Random(f"{self.plan.seed} {site.name} {number}")
        fails = chance.randrange(ONE_FAILS) == 0
        return Ordered(f"{site.name}d{number}", chance.randint(*STEPS), fails, time.monotonic())

    def _under_fire(self, installation: Installation, web: Web) -> None:
        plan = self.plan
        rounds = plan.deployments // plan.environments
        groups = [self.sites[number :: plan.clients] for number in range(plan.clients)]
        clients = [Client(web, group, rounds, self._order) for group in groups if group]

        def progress() -> float:
            return sum(bool(order.ended) for site in self.sites for order in site.ordered) / plan.deployments

        pace = Pace(plan.every, plan.kills, progress)
        striker = Striker(installation, sequence(plan.seed), self._larger(installation), progress, pace)
        takeovers = Takeovers(self._database(installation), PLACES)
        begun = time.monotonic()
        takeovers.start()
        striker.start()
        for client in clients:
            client.start()
        shown = time.monotonic()
        while any(client.is_alive() for client in clients):
            time.sleep(0.1)
            if time.monotonic() - shown > 10:
                shown = time.monotonic()
                self.say(f"{shown - begun:6.0f} s  {progress():6.1%} of the deployments ended, "
                         f"{sum(striker.done.values())} blows")  # fmt: skip
        self.say(f"{time.monotonic() - begun:6.0f} s  the clients are done")
        striker.stop()
        takeovers.stop()
        self.result.takeovers = {"free worker": takeovers.idle, "any": takeovers.all}
        self.result.seconds["deploying"] = time.monotonic() - begun
        self.result.kills = dict(striker.done)
        self.result.checks.append(
            Check("it went as planned", [*striker.trouble, *(text for client in clients for text in client.trouble)])
        )

    def _database(self, installation: Installation) -> str | Path:
        return installation.machines[0].data / "vetro.db" if self.postgres is None else self.postgres.url

    def _larger(self, installation: Installation) -> list[tuple[float, str, Callable[[], None]]]:
        found: list[tuple[float, str, Callable[[], None]]] = []
        if self.postgres is not None:
            found.append((0.15, "database restarted", self.postgres.restart))
            found.append((0.7, "database killed", self.postgres.crash))
        found.append((0.3, "worker frozen", freeze(installation, self.plan.lease, self.chance.random())))
        if self.rabbit is not None:
            found.append((0.5, "RabbitMQ killed", self.rabbit.crash))
        return found

    def _afterwards(self, installation: Installation, web: Web) -> None:
        self.say("          looking at all of it")
        listed = {site.name: self._told(web, site) if site.id else [] for site in self.sites}
        told = [one for found in listed.values() for one in found]
        checks = self.result.checks
        checks.append(verdict.counted(self.sites, {name: len(found) for name, found in listed.items()}))
        checks += [verdict.ended(told), verdict.done_once(told, self.world), verdict.reported_once(told)]
        for one in told:
            how = "done" if one.done else "failed as meant" if one.as_ordered else "failed for another reason"
            self.result.ends[how] = self.result.ends.get(how, 0) + 1
            if not one.done and not one.as_ordered:
                self.result.failures.append(f"{one.order.title}: {one.state}: {one.error}")
        self.result.effects = {what: len(self.world.done(what)) for what in ("run", "push")}
        self.say("          one more deployment in each environment, and its deletion")
        checks.append(self._further(web))
        self.result.answers = dict(web.answers)
        self.result.claims = self._claims(installation)

    def _claims(self, installation: Installation) -> dict[int, int]:
        """How often tasks were claimed, out of the database: the service tells nobody."""
        statement = "SELECT attempts, count(*) FROM dispatch_task GROUP BY attempts ORDER BY attempts"
        if self.postgres is not None:
            import psycopg

            with psycopg.connect(self.postgres.url) as postgres:
                return dict(postgres.execute(statement).fetchall())
        with contextlib.closing(sqlite3.connect(installation.machines[0].data / "vetro.db")) as sqlite:
            return dict(sqlite.execute(statement).fetchall())

    def _told(self, web: Web, site: Site) -> list[Told]:
        where = f"/v1/environments/{site.id}/deployments"
        rows = good(*web.ask("GET", where))["deployments"]
        found = []
        for row, order in zip(reversed(rows), site.ordered, strict=False):
            reports = [report["text"] for report in good(*web.ask("GET", f"{where}/{row['id']}"))["reports"]]
            error = row["result"].get("result") if row["result"].get("isException") else None
            found.append(Told(site, order, row["state"], reports, error["message"] if error else ""))
        return found

    def _further(self, web: Web) -> Check:
        """Each environment is deployed once more, and deleted."""
        trouble: list[str] = []
        before = {site.name: len(site.ordered) for site in self.sites}

        def work(sites: list[Site]) -> None:
            for site in sites:
                try:
                    client = Client(web, [site], 0, self._order)
                    client.deploy(site, Ordered(f"{site.name}last", 1, False, time.monotonic()))
                    client.await_end(site)
                    (last,) = self._told(web, site)[before[site.name] :]
                    if not last.done:
                        trouble.append(f"{site.name}: the further deployment: {last.state}: {last.error}")
                    client.delete(site)
                except (TooLate, ValueError, KeyError) as error:
                    trouble.append(f"{site.name}: {type(error).__name__} {error}")

        threads = [
            threading.Thread(target=work, args=(self.sites[n :: self.plan.clients],)) for n in range(self.plan.clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check = verdict.free(self.sites, self.world)
        check.wrong += trouble
        return check
