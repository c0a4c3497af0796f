"""What tests of the command line against a server share: the service, people, commands in their name."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pexpect
import yaml
from click.testing import CliRunner, Result

from tests.cli.conftest import write_package
from tests.cli.deploykit import BOX
from tests.server.servekit import Service, alive
from tests.support.waiting import until
from vetro.cli.main import main

#: What recorded servers answer to scripts that name such a text.
ANSWERS = {
    "plans": [
        {"script": "/--text broken/", "exitCode": 3, "stderr": "the box is broken"},
        {"script": "/--text endless/", "never": True},
    ]
}
PASSWORD = "correct horse battery"


class Installation:
    """A service with user `ann` in project `default` `eve` in project `other`, and `admin`."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        script = folder / "answers.yaml"
        script.write_text(yaml.safe_dump(ANSWERS), encoding="utf-8")
        self.service = Service(folder, VETRO_CLOUD__DRIVER="record", VETRO_CLOUD__SCRIPT=str(script), **settings)
        self.url = ""
        self.tokens: dict[str, str] = {}

    def prepare(self) -> None:
        """Waits until it answers and a worker is there; makes the people."""
        self.url = str(self.service.await_ready(180)["url"])
        self.tokens["admin"] = self.service.admin("token", "create", "admin", "-o", "value")
        admin = {"X-Auth-Token": self.tokens["admin"]}
        self._post("/v2/admin/projects", {"name": "other"}, admin)
        for name, project in (("ann", "default"), ("eve", "other")):
            account = {"name": name, "password": PASSWORD}
            self._post("/v2/admin/users", {**account, "project": project, "role": "member"}, admin)
            self.tokens[name] = str(self._post("/v2/auth/login", account, {})["token"])
        until(lambda: self.service.get("/ready")[0] == 200, 180)

    def _post(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", **headers}
        status, answer = self.service.send("POST", path, json.dumps(body).encode(), headers)
        assert status < 300, (path, status, answer)
        found: dict[str, Any] = json.loads(answer)
        return found

    def end(self) -> None:
        """Stops it; no process stays."""
        processes = self.service.everybody()
        try:
            assert self.service.end() == 0
            until(lambda: not any(map(alive, processes)), 30)
        finally:
            if self.service.process.poll() is None:
                self.service.process.kill()
                self.service.process.wait()


class Remote:
    """Commands of one person in a folder of their own; signed in unless ``user`` is None."""

    def __init__(self, installation: Installation, folder: Path, user: str | None) -> None:
        self.installation = installation
        self.service = installation.service
        self.url = installation.url
        self.folder = folder
        self.config = folder / f"config-{user}"
        self.environment = {
            "XDG_CONFIG_HOME": str(self.config),
            "XDG_CACHE_HOME": str(installation.folder / "cache"),
            "VETRO_WORKSPACE": str(folder / "workspace"),
        }
        self.contexts = self.config / "vetro" / "contexts.toml"
        if user is not None:
            self.contexts.parent.mkdir(parents=True)
            text = f'current = "s"\n[contexts.s]\nurl = "{self.url}"\ntoken = "{installation.tokens[user]}"\n'
            self.contexts.write_text(text, encoding="utf-8")
            self.contexts.chmod(0o600)

    def box(self, **options: Any) -> str:
        """The folder of a small application; see `write_package`."""
        name = options.get("name", "t")
        folder = self.folder / f"{name}-{options.get('version', '1.0.0')}"
        if not folder.exists():
            write_package(folder, {f"{name}.Box": BOX.replace("{=: t,", f"{{=: {name},")}, **options)
        return str(folder)

    def run(self, *args: str, input: str | None = None, **environment: str) -> Result:
        """A command in this process, whatever its end."""
        chosen = {**self.environment, **environment}
        done = CliRunner().invoke(main, args, input=input, prog_name="vetro", env=chosen)
        assert "a defect in Vetro" not in done.output, done.output
        return done

    def ok(self, *args: str, input: str | None = None, **environment: str) -> Result:
        """A command that must end well."""
        done = self.run(*args, input=input, **environment)
        assert done.exit_code == 0, (done.exit_code, done.output, done.exception)
        return done

    def refused(self, *args: str, input: str | None = None, status: int = 1, **environment: str) -> str:
        """What a command that must fail says."""
        done = self.run(*args, input=input, **environment)
        assert done.exit_code == status, (done.exit_code, done.output, done.exception)
        return done.output

    def data(self, *args: str) -> Any:
        """What a command prints as JSON."""
        return json.loads(self.ok(*args, "-o", "json").stdout)

    def deploy(self, env: str, *more: str) -> Result:
        """Deploys the box."""
        return self.ok("deploy", self.box(), "--env", env, *more)

    @contextlib.contextmanager
    def terminal(self, *args: str) -> Any:
        """A command in a terminal, as `pexpect` has it."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
        environment: Mapping[str, str] = {**kept, **self.environment, "TERM": "xterm", "NO_COLOR": ""}
        words = ["-m", "vetro", *args]
        child = pexpect.spawn(
            sys.executable, words, timeout=60, encoding="utf-8", env=environment, dimensions=(40, 160)
        )
        try:
            yield child
        finally:
            child.close(force=True)
            if child.isalive():
                child.kill(signal.SIGKILL)
