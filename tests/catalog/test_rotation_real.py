"""Logins of applications change on real servers while a client of one of them asks fifty times a second."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from tests.catalog import life
from tests.catalog.life import told
from tests.cli.conftest import write_package
from tests.cli.deploykit import Place

HERE = Path(__file__).parent
CATALOG = HERE.parents[1] / "catalog"

#: An application with a server of its own, in which its client runs; it takes up another login when it is told.
CLIENT = """\
Namespaces: {=: t, std: io.vetro.std, murano: io.murano, sys: io.murano.system}
Name: Client
Extends: murano:Application
Properties:
  name: {Contract: $.string().notNull()}
  kind: {Contract: $.string().notNull()}
  service: {Contract: $.class(std:Accounts).notNull()}
  server: {Contract: $.class(std:Server).notNull()}
Methods:
  .init:
    Body:
      - $.service.changedEvent.subscribe($this)
  deploy:
    Body:
      - $.service.deploy()
      - $.server.deploy()
      - $.take()
  handleChanged:
    Arguments:
      - sender: {Contract: $.class(std:Accounts).notNull()}
    Body:
      - $.take()
  take:
    Body:
      - If: $.kind = amqp
        Then:
          - $login: $.service.createVirtualHost(jobs)
        Else:
          - $login: $.service.createDatabase(jobs)
      - $steps: $.server.steps()
      - $steps.secretFile('/srv/client/login', format("{0} {1} {2}", $.service.endpoint().host, $login.user, $login.password))
      - For: name
        In: ['rotation_client.py', 'steady.py', 'amqp_client.py', 'mysql_client.py']
        Do:
          - $steps.file('/srv/client/' + $name, sys:Resources.string($name), notify => [client])
      - $steps.file('/etc/systemd/system/client.service', sys:Resources.string('client.service').replace('%KIND%', $.kind), notify => [client])
      - $steps.service(client)
      - $steps.apply('The client')
"""  # noqa: E501

UNIT = """\
[Service]
WorkingDirectory=/srv/client
ExecStart=/usr/bin/python3 rotation_client.py %KIND%
"""


def answered(place: Place, capfd: pytest.CaptureFixture[str], more: int, user: str) -> dict[str, Any]:
    """What the client says when it was answered so often with a login."""
    end = time.monotonic() + 120
    while True:
        capfd.readouterr()
        place.ok("exec", "apps", "client", "--", "cat", "/srv/client/counts")
        found: dict[str, Any] = json.loads(capfd.readouterr().out)
        if found["used"].get(user, 0) >= more:
            return found
        assert time.monotonic() < end, found


@pytest.mark.campaign
@pytest.mark.timeout(2400)  # two servers, packages of the mirror, two rotations, on a machine that does other things
@pytest.mark.parametrize(
    ("name", "kind", "chosen"),
    [("RabbitMQ", "amqp", "memory=200"), ("MariaDB", "mysql", "memory=64")],
)
def test_nobody_is_refused(place: Place, capfd: pytest.CaptureFixture[str], name: str, kind: str, chosen: str) -> None:
    place.ok("env", "create", "apps", "--driver", "nspawn")
    command = ["deploy", str(CATALOG / name / "1.1.0"), "--env", "apps", "--app", "service"]
    options = ["name=service", "server.flavor=m1.small", chosen]
    place.ok(*command, *(word for one in options for word in ("--set", one)))
    package = write_package(place.folder / "client", {"t.Client": CLIENT}, extra="Require: {io.vetro.std: 1}\n")
    (package / "Resources").mkdir(exist_ok=True)
    for file in ("rotation_client.py", "steady.py", "amqp_client.py", "mysql_client.py"):
        shutil.copy(HERE / file, package / "Resources" / file)
    (package / "Resources" / "client.service").write_text(UNIT)
    options = ["name=client", f"kind={kind}", "service=service", "server.name=client", "server.flavor=m1.tiny"]
    command = ["deploy", str(package), "--env", "apps", "--app", "client"]
    place.ok(*command, *(word for one in options for word in ("--set", one)))

    answered(place, capfd, 50, "jobs")
    for number, user in enumerate(("jobs_a", "jobs_b")):
        assert life.action(place, "apps", "service", "rotateLogins") == {"jobs": user}
        found = answered(place, capfd, 50, user)
        assert found["refused"] == [], found
        told(f"rotation {number + 1} of {name}: {found['answered']} answered, {found['used']}, 0 refused")
    assert sorted(found["used"]) == ["jobs", "jobs_a", "jobs_b"]
    life.destroy(place, "apps")
