"""What tests of `vetro deploy` and `vetro env` share: a small application, a workspace, and what the recorder wrote."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from tests.cli.conftest import write_package
from tests.support.distribution import install
from tests.support.waiting import until
from vetro.cli.client import find
from vetro.cli.client.local_workspace import open_local
from vetro.cli.main import main
from vetro.clouds.record.driver import RecordDriver
from vetro.clouds.record.store import RecordedPlan

#: Seconds after which a wait for another process has failed.
PATIENCE = 60

#: Gives the file of any size that it was given.
_STORE = """\
Namespaces: {=: depot, std: io.vetro.std, murano: io.murano}
Name: Store
Extends: murano:Application
Properties:
  name: {Contract: $.string().notNull()}
Methods:
  deploy: {Body: []}
  back:
    Scope: Public
    Arguments:
      - content: {Contract: $.class(std:StoredFile).notNull()}
      - more: {Contract: [$.class(std:StoredFile).notNull()], Default: []}
    Body: {Return: $content}
"""
#: One server; two commands on it at the first deployment; one command more whenever the text changes.
BOX = """\
Namespaces: {=: t, std: io.murano, res: io.murano.resources, conf: io.murano.configuration}
Name: Box
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull()}
  instance: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
  text: {Contract: $.string().notNull(), Default: first}
  size:
    Contract: $.int().notNull().check($ > 0 and $ < 10)
    Default: 3
  options:
    Contract: {colour: $.string().notNull(), tags: [$.string().notNull()]}
    Default: {colour: red, tags: []}
  opened: {Contract: $.int().notNull(), Usage: Out, Default: 0}
Methods:
  .init:
    Body:
      - $._environment: $.find(std:Environment).require()
  deploy:
    Body:
      - If: not $.getAttr(installed, false)
        Then:
          - $._environment.reporter.report($this, 'Making the server')
          - $.instance.deploy()
          - conf:Linux.runCommand($.instance.agent, 'apt-get install box', 'Install')
          - conf:Linux.runCommand($.instance.agent, 'box --configure', 'Configure')
          - $.setAttr(installed, true)
      - If: $.getAttr(text) != $.text
        Then:
          - conf:Linux.runCommand($.instance.agent, format('box --text {0}', $.text), 'Write text')
          - $.setAttr(text, $.text)
      - $._environment.reporter.report($this, format('The box says {0}', $.text))
  open:
    Usage: Action
    Arguments:
      - times: {Contract: $.int().notNull(), Default: 1}
    Body:
      - conf:Linux.runCommand($.instance.agent, 'box --open', 'Open')
      - $.opened: $.opened + $times
      - Return: {opened: $.opened, text: $.text}
  .destroy:
    Body:
      - $._environment.reporter.report($this, 'The box is thrown away')
"""


#: A plug-in with one effect that must not be done twice. While the file is there, it takes for ever.
ROCKET = """
import os, pathlib, time
from vetro.packages.plugin_api import effect

@effect(policy="unsafe")
def launch(code):
    with pathlib.Path(os.environ["LAUNCHES"]).open("a") as file:
        file.write(code + "\\n")
    if pathlib.Path(os.environ["SILENT"]).exists():
        time.sleep(1000)
    return "launched " + code

class Rocket:
    @staticmethod
    def launch(code):
        return launch(code)
"""


class Rocket:
    """The plug-in, a distribution below ``folder``. ``environ`` is what processes need to find it; packages name it
    by ``REQUIRE``."""

    REQUIRE = "Require: {test-rocket: 0}\n"

    def __init__(self, folder: Path) -> None:
        self.site, self.log, self.silent = folder / "site", folder / "launches", folder / "silent"
        points = "[io.murano.extensions]\ntest.rocket.Rocket = test_rocket:Rocket\n"
        install(self.site, "test-rocket", points, {"test_rocket": ROCKET})
        path = os.pathsep.join(filter(None, [str(self.site), os.environ.get("PYTHONPATH")]))
        self.environ = {"PYTHONPATH": path, "LAUNCHES": str(self.log), "SILENT": str(self.silent)}

    def launches(self, code: str) -> int:
        """How often the effect was performed."""
        return self.log.read_text().split().count(code) if self.log.exists() else 0


class Place:
    """A workspace in ``folder`` and the application ``t.Box``; commands run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "workspace"
        self.package = write_package(folder / "box", {"t.Box": BOX})

    def run(self, *args: str, input: str | None = None) -> Result:
        """A command in this process, whatever its end."""
        return CliRunner().invoke(main, args, input=input, prog_name="vetro", env={"VETRO_WORKSPACE": str(self.root)})

    def ok(self, *args: str, input: str | None = None) -> Result:
        """A command that must end well."""
        done = self.run(*args, input=input)
        assert done.exit_code == 0, done.output
        return done

    def refused(self, *args: str, input: str | None = None) -> str:
        """What a command that must fail with status 1 says."""
        done = self.run(*args, input=input)
        assert done.exit_code == 1, (done.exit_code, done.output, done.exception)
        return done.output

    def deploy(self, *more: str, env: str = "e") -> Result:
        """Deploys the box on recorded servers."""
        return self.ok("deploy", str(self.package), "--env", env, "--driver", "record", *more)

    def data(self, *args: str) -> Any:
        """What a command prints as JSON."""
        return json.loads(self.ok(*args, "-o", "json").stdout)

    def script(self, **sections: Any) -> str:
        """A file of answers of recorded servers."""
        path = self.folder / "script.yaml"
        path.write_text(yaml.safe_dump(sections), encoding="utf-8")
        return str(path)

    def recorded(self) -> list[RecordedPlan]:
        """All plans that servers got, in order."""
        if not (self.root / "cloud" / "record.db").exists():
            return []
        with contextlib.closing(RecordDriver(self.root / "cloud")) as driver:
            return list(driver.plans())

    def plans(self) -> list[str]:
        """Names of all plans that servers got, in order."""
        return [plan.name for plan in self.recorded()]

    def servers(self) -> list[str]:
        """Names of the servers there are."""
        return [server["name"] for server in self.data("cloud", "status")["servers"]]

    def reports(self, name: str = "e") -> list[str]:
        """What the components reported."""
        return [line["text"].split(": ", 1)[-1] for line in self.data("env", "log", name)]

    def status(self, name: str = "e") -> str:
        """The environment's state in one word."""
        return str(self.data("env", "show", name)["status"])

    def task(self, number: int, name: str = "e") -> dict[str, Any]:
        """A task of an environment as the service tells it."""
        with open_local(str(self.root)) as client:
            row = find.environment(client, name)
            (task,) = (t for t in client.items("/tasks", environment=row["id"]) if t["number"] == number)
            return dict(client.get(f"/tasks/{task['id']}"))

    def processes(self) -> dict[int, str]:
        """Processes that work in this workspace, by id."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                environment = (entry / "environ").read_bytes()
                if line and str(self.root).encode() in environment:
                    found[int(entry.name)] = line
        return found

    @contextlib.contextmanager
    def start(self, *args: str) -> Iterator[subprocess.Popen[str]]:
        """A command as another process, in a group of its own; killed at the end of the block if it is still there."""
        environment = {**os.environ, "VETRO_WORKSPACE": str(self.root)}
        process = subprocess.Popen(
            [sys.executable, "-m", "vetro", *args],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=PATIENCE)


def store_package(folder: Path) -> Path:
    """A package whose application has an action ``back``, which gives a file of any size back."""
    return write_package(folder, {"depot.Store": _STORE}, name="depot", extra="Require: {io.vetro.std: 1}\n")


def wait_for(test: Callable[[], Any], what: str) -> Any:
    """What ``test`` gives, as soon as that is true."""
    return until(test, PATIENCE, lambda: f"this did not happen: {what}")
