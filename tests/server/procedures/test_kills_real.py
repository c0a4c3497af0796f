"""The same on real servers: what was taken back has the files of before, by their hashes, and the same addresses.

Needs root and systemd-nspawn. It ends with no trace of its own on this machine.
"""

from __future__ import annotations

import collections
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.clouds.nspawn.test_snapshots import SUMS
from tests.server.procedures.kills import Service, Victim, forks, in_process
from tests.server.procedures.test_kills import Scene, check, prepare, seen, tell
from tests.support.installation import prepared
from tests.support.servers import real_servers, traces
from vetro.clouds.interface import Owner
from vetro.clouds.nspawn.links import cloud_id
from vetro.clouds.overview import clean
from vetro.engine.task.launcher import Launcher
from vetro.engine.watching.states import State

pytestmark = pytest.mark.campaign

#: A shop that counts its visitors on a server's disk; each deployment changes many files of it.
FARM = """\
Name: Shop
Namespaces: {=: test, std: io.murano, res: io.murano.resources, conf: io.murano.configuration}
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
  instance: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
  fail: {Contract: $.string().notNull(), Default: ''}
Methods:
  deploy:
    Body:
      - $.instance.deploy()
      - If: $.fail = 'before'
        Then: [{Throw: Failed, Message: before}]
      - $command: format('mkdir -p /srv/shop && echo {0} > /srv/shop/title && echo visitor >> /srv/shop/count &&
          rm -rf /opt/many && mkdir /opt/many && cd /opt/many && seq 300 | xargs -I@ sh -c "echo {0} @ > @"', $.title)
      - conf:Linux.runCommand($.instance.agent, $command, 'Open the shop')
      - If: $.fail = 'reported'
        Then:
          - $.find(std:Environment).reporter.report_error($this, 'something is odd')
      - If: $.fail = 'after'
        Then: [{Throw: Failed, Message: after}]
"""
INSTANCE = {
    "?": {"id": "9" * 32, "type": "io.murano.resources.LinuxMuranoInstance"},
    "name": "front",
    "flavor": "m1.small",
    "image": "debian-12-murano",
}


def files(config: Any) -> dict[str, Any]:
    """Servers with their addresses, and what is on their disks."""
    from vetro.engine.host.config import cloud_of
    from vetro.server.config import cloud_settings
    from vetro.server.environments.models import Environment

    row = Environment.objects.get()
    owner = Owner(row.project_id, row.id, "system")
    with closing(cloud_of(cloud_settings.cloud(config, row.cloud), owner, sweeps=False)) as cloud:
        servers: Any = cloud
        found = {one.id: [one.name, one.status, sorted(one.addresses)] for one in servers.servers(owner)}
        return {"servers": found, "files": {id: _sums(servers, id) for id in sorted(found)}}


def _sums(cloud: Any, id: str) -> str:
    end = time.monotonic() + 120
    while True:
        try:
            done = cloud.driver.execute(id, ["sh", "-ec", SUMS], timeout=120)
            assert done.code == 0, done.stderr
            return str(done.stdout.decode())
        except Exception:  # it may be starting
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def _health(config: Any, launcher: Launcher, row: Any) -> dict[str, State]:
    """As whoever goes on with an update looks."""
    from vetro.server.procedures.health import look

    return look(config, launcher, row)


def _kill(cloud: Path, victim: Victim) -> None:
    """Kills the keeper, or all of the first process, of each server that runs."""
    for path in cloud.rglob("running.json"):
        pid, *_ = json.loads(path.read_text())["keeper" if victim == "keeper" else "nspawn"]
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module", autouse=True)
def own_databases(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Processes of these tests bring databases of their own."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A shop on a real server."""
    monkeypatch.setenv("VETRO_IMAGES", str(real_servers().folder))
    data = tmp_path / "data"
    service = Service(data, {"instance": INSTANCE}, **{"cloud.driver": "nspawn"})
    prepared(data)
    cloud = data / "cloud"
    try:
        with forks(data / "cache" / "code", "nspawn") as forked:
            in_process(partial(prepare, service, forked, farm=FARM))
            yield Scene(service, forked, files, _health, partial(_kill, cloud))
    finally:
        collections.deque(clean(cloud), maxlen=0)
    assert not any(traces(cloud_id(cloud / "nspawn"), tmp_path).values()), "cleaning left something behind"


@pytest.mark.timeout(5400)  # a minute a case, and what a busy machine makes of it
def test_thirty_killed_updates_of_a_real_server(scene: Scene) -> None:
    """``VETRO_CASES`` makes other numbers of them; what was killed, and how long it stood still, is told."""
    count = int(os.environ.get("VETRO_CASES", "30"))
    first = int(os.environ.get("VETRO_FIRST", "5000"))
    cases, before = [], seen(scene.service, files)
    for number in range(count):
        case, before = check(scene, before, first + number)
        cases.append(case)
        print(case, flush=True)
    tell(cases)
