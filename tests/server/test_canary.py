"""Secrets are nowhere in clear: words that occur nowhere else go in everywhere, then every sink is searched."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.server.servekit import Service
from tests.server.tasks.fleet import database
from tests.server.tasks.shop import archive
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.attack("secrets", "canary")]
#: Names a PostgreSQL for these tests: script/with-postgresql python -m pytest tests/server/test_canary.py
DATABASE = "VETRO_DATABASE__URL"

MANIFEST = """\
Format: MuranoPL/1.3
Type: Application
FullName: test.vault
Name: Vault
Description: For tests
Author: Vetro
Tags: []
Classes:
  test.Vault: Vault.yaml
"""
CLASS = """\
Name: Vault
Namespaces: {=: test, std: io.murano, f: io.murano.metadata.forms}
Extends: std:Application
Properties:
  password: {Contract: $.string().notNull(), Usage: InOut}
  pin: {Contract: $.int(), Default: 1}
  key: {Contract: $.string(), Usage: InOut, Meta: {f:Secret: {}}}
  number: {Contract: $.int(), Usage: InOut, Meta: {f:Secret: {}}}
  url: {Contract: $.string(), Usage: InOut}
Methods:
  deploy:
    Body:
      - $.find(std:Environment).reporter.report($this, 'keeping it')
      - If: $.key != null
        Then:
          - $.find(std:Environment).reporter.report($this, concat('with ', $.key))
          - $.url: concat('root:', $.key, '@db')
  change:
    Scope: Public
    Arguments:
      - password: {Contract: $.string().notNull()}
    Body:
      - $.password: $password
      - Return: changed
  refuse:
    Scope: Public
    Arguments:
      - word: {Contract: $.string().notNull(), Meta: {f:Secret: {}}}
      - short: {Contract: $.string().check(len($) < 5), Meta: {f:Secret: {}}}
    Body:
      - $.find(std:Environment).reporter.report($this, concat('refusing ', $word))
      - Throw: Refused
        Message: base64encode(concat($word, ' is no ', $.key))
  refuseAll:
    Scope: Public
    Usage: Static
    Arguments:
      - word: {Contract: $.int(), Meta: {f:Secret: {}}}
    Body:
      Return: $word
  measure:
    Scope: Public
    Usage: Static
    Arguments:
      - password: {Contract: $.string().notNull()}
    Body:
      Return: $password.len()
"""


class Vault:
    """A service with one project that has a secret, another that is curious, and all that was told to whom."""

    def __init__(self, service: Service) -> None:
        self.service = service
        #: The address of its database, where that is no file of the service.
        self.postgresql: str | None = None
        self.told: list[bytes] = []
        #: What the owner was told that is no model of hers.
        self.said: list[bytes] = []
        self.words: dict[str, str] = {}
        for project in ("demo", "others"):
            service.admin("project", "create", project)
        self.account_password = self.word("password of an account")
        service.admin("user", "create", "ann", "--project", "demo", "--password-stdin", input=self.account_password)
        service.admin("user", "create", "eve", "--project", "others")
        self.ann = service.admin("token", "create", "ann", "-o", "value")
        self.eve = service.admin("token", "create", "eve", "-o", "value")

    def word(self, what: str) -> str:
        """A new secret. Its letters survive JSON, YAML and URLs unchanged."""
        self.words[what] = "canary" + secrets.token_hex(12)
        return self.words[what]

    def call(self, method: str, path: str, data: Any = None, *, token: str | None = None, **headers: str) -> Any:
        """A request of ann's, or somebody else's, whose answer is a sink then."""
        body = json.dumps(data).encode() if data is not None else None
        headers = {"Accept": "application/json", "Content-Type": "application/json", **headers}
        status, answer = self.service.send(method, path, body, {"X-Auth-Token": token or self.ann, **headers})
        if token is not None:
            self.told.append(answer)
        return status, json.loads(answer) if answer[:1] in (b"{", b"[") else answer

    def deploy(self, environment: str, application: dict[str, Any]) -> str:
        """Adds, deploys and waits; the status afterwards."""
        _, session = self.call("POST", f"/v1/environments/{environment}/configure")
        header = {"X-Configuration-Session": session["id"]}
        status, _ = self.call("POST", f"/v1/environments/{environment}/services", application, **header)
        assert status == 200
        status, _ = self.call("POST", f"/v1/environments/{environment}/sessions/{session['id']}/deploy")
        assert status == 200
        return self.await_end(environment)

    def await_end(self, environment: str) -> str:
        def status() -> str:
            return str(self.call("GET", f"/v1/environments/{environment}")[1]["status"])

        until(lambda: status() != "deploying", 300)
        return status()


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """The service after a day's work with secrets, still running."""
    with ExitStack() as stack:
        # Of its own: a database has the keys of one installation.
        more = {DATABASE: stack.enter_context(database(os.environ[DATABASE]))} if DATABASE in os.environ else {}
        service = Service(
            tmp_path_factory.mktemp("canary"),
            VETRO_OBSERVE__LOG_LEVEL="debug",
            VETRO_OBSERVE__LOG_FORMAT="json",
            VETRO_CLOUD__DRIVER="record",
            **more,
        )
        stack.callback(service.end)
        service.await_ready(300)
        vault = Vault(service)
        work(vault)
        vault.postgresql = more.get(DATABASE)
        yield vault


def work(vault: Vault) -> None:
    boundary = "b0undary"
    data = archive({"Classes/Vault.yaml": CLASS}, MANIFEST)
    body = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="f"; filename="f.zip"\r\n\r\n'.encode()
        + data
        + f"\r\n--{boundary}--\r\n".encode()
    )
    kind = f"multipart/form-data; boundary={boundary}"
    headers = {"X-Auth-Token": vault.ann, "Content-Type": kind}
    status, said = vault.service.send("POST", "/v1/catalog/packages", body, headers)
    assert status == 200, said
    environment = vault.call("POST", "/v1/environments", {"name": "safe"})[1]["id"]
    application = {"?": {"type": "test.Vault", "id": "a" * 32}, "password": vault.word("password in a model")}
    assert vault.deploy(environment, application) == "ready"
    model = vault.call("GET", f"/v1/environments/{environment}")[1]["services"][0]
    assert model["password"] == vault.words["password in a model"]  # its owners read it
    # An action with a secret argument; its name is known only after the deployment.
    (action,) = [name for name in model["?"]["_actions"] if name.endswith("_change")]
    arguments = {"password": vault.word("argument of an action")}
    assert vault.call("POST", f"/v1/environments/{environment}/actions/{action}", arguments)[0] == 200
    assert vault.await_end(environment) == "ready"
    static = {"className": "test.Vault", "methodName": "measure", "parameters": {}}
    static["parameters"] = {"password": vault.word("argument of a static action")}
    assert vault.call("POST", "/v1/actions", static) == (200, b"30")
    # A draft that nobody deployed, and one that is at fault.
    _, session = vault.call("POST", f"/v1/environments/{environment}/configure")
    draft = {"?": {"type": "test.Vault", "id": "b" * 32}, "password": vault.word("password in a draft")}
    header = {"X-Configuration-Session": session["id"]}
    assert vault.call("POST", f"/v1/environments/{environment}/services", draft, **header)[0] == 200
    other = vault.call("POST", "/v1/environments", {"name": "faulty"})[1]["id"]
    wrong = {
        "?": {"type": "test.Vault", "id": "c" * 32},
        "password": vault.word("password beside a mistake"),
        "pin": [],
    }
    assert vault.deploy(other, wrong) == "deploy failure"
    declared(vault)
    # Things that are refused.
    broken = '{"password": "' + vault.word("password in broken JSON")
    vault.service.send("POST", "/v1/environments", broken.encode(), {"X-Auth-Token": vault.ann})
    vault.call("GET", "/v1/environments", token=vault.word("unknown token"))
    vault.call("GET", "/v1/environments?token=" + vault.word("token in a query"))
    for path in (f"/v1/environments/{environment}", f"/v1/environments/{environment}/services"):
        assert vault.call("GET", path, token=vault.eve)[0] == 403
    for path in ("/v1/environments", "/v1/deployments", "/v1/catalog/packages", "/metrics", "/ready", "/", "/v1/stats"):
        vault.call("GET", path, token=vault.eve)
    vault.call("POST", f"/v1/environments/{environment}/configure", token=vault.eve)
    for kind in ("text/html", "text/plain", "application/json"):
        vault.call("GET", f"/v1/environments/{environment}/model/", token=vault.eve, Accept=kind)


def declared(vault: Vault) -> None:
    """Work with what the class calls secret: even its owner meets it in models only."""

    def ask(method: str, path: str, data: Any = None) -> Any:
        status, answer = vault.call(method, path, data)
        vault.said.append(answer if isinstance(answer, bytes) else json.dumps(answer).encode())
        return status, answer

    environment = vault.call("POST", "/v1/environments", {"name": "declared"})[1]["id"]
    application = {"?": {"type": "test.Vault", "id": "d" * 32}, "password": "p", "key": vault.word("declared key")}
    assert vault.deploy(environment, application) == "ready"
    model = vault.call("GET", f"/v1/environments/{environment}")[1]["services"][0]
    assert model["url"] == f"root:{vault.words['declared key']}@db"  # packages compute with it
    (action,) = [name for name in model["?"]["_actions"] if name.endswith("_refuse")]
    for arguments in (
        {"word": vault.word("secret argument of a failed action"), "short": "s"},
        {"word": "w", "short": vault.word("secret argument that breaks its contract")},
    ):
        assert vault.call("POST", f"/v1/environments/{environment}/actions/{action}", arguments)[0] == 200
        assert vault.await_end(environment) == "deploy failure"
    static = {"className": "test.Vault", "methodName": "refuseAll", "parameters": {}}
    static["parameters"] = {"word": vault.word("secret argument of a static action")}
    assert ask("POST", "/v1/actions", static)[0] >= 400
    # A draft whose secret breaks its contract: compared, planned and deployed.
    _, session = vault.call("POST", f"/v1/environments/{environment}/configure")
    wrong = {"?": {"type": "test.Vault", "id": "e" * 32}, "password": "p", "key": vault.word("key in a plan")}
    wrong["number"] = vault.word("secret that breaks its contract")
    header = {"X-Configuration-Session": session["id"]}
    assert vault.call("POST", f"/v1/environments/{environment}/services", wrong, **header)[0] == 200
    assert ask("GET", f"/v2/sessions/{session['id']}/changes")[0] == 200
    status, task = ask("POST", f"/v2/sessions/{session['id']}/plan")
    assert status == 202
    until(lambda: ask("GET", f"/v2/tasks/{task['id']}?wait=20")[1]["final"], 300)
    vault.call("POST", f"/v1/environments/{environment}/sessions/{session['id']}/deploy")
    assert vault.await_end(environment) == "deploy failure"
    for item in ask("GET", f"/v2/tasks?environment={environment}")[1]["items"]:
        assert ask("GET", f"/v2/tasks/{item['id']}")[0] == 200
        assert ask("GET", f"/v2/tasks/{item['id']}/log")[0] == 200
    template(vault)


def template(vault: Vault) -> None:
    """A template, private and then public, which somebody of another project uses."""
    service = {"?": {"type": "test.Vault", "id": "f" * 32}, "key": vault.word("key in a template"), "password": "p"}
    made = vault.call("POST", "/v1/templates", {"name": "t", "services": [service]})[1]["id"]
    vault.call("GET", f"/v1/templates/{made}", token=vault.eve)
    assert vault.call("PUT", f"/v1/templates/{made}", {"name": "t", "is_public": True})[0] == 200
    for version in ("v1", "v2"):
        place, more = f"/{version}/templates/{made}", {"name": f"of eve in {version}"}
        assert vault.call("GET", place, token=vault.eve)[0] == 200
        assert vault.call("POST", f"{place}/clone", more, token=vault.eve)[0] < 300
        status, begun = vault.call("POST", f"{place}/create-environment", more, token=vault.eve)
        assert status < 300
        head = {"X-Configuration-Session": begun["session_id"]}
        draft = f"/v1/environments/{begun['environment_id']}/services"
        assert vault.call("GET", draft, token=vault.eve, **head)[1][0]["password"] == "p"


def rows_of(url: str) -> Iterator[tuple[str, bytes]]:
    """All rows of a PostgreSQL database, as (table, what is in its columns)."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (table,) in found:
            for row in connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(table))):
                yield table, b"\n".join(v if isinstance(v, bytes) else str(v).encode() for v in row)


def found_in(vault: Vault, data: bytes) -> list[str]:
    tokens = {"token of ann": vault.ann[6:], "token of eve": vault.eve[6:]}
    return [what for what, word in {**vault.words, **tokens}.items() if word.encode() in data]


@pytest.mark.attack("secrets", "M1")
def test_what_is_said_to_the_owner_holds_no_declared_one(vault: Vault) -> None:
    text = b"\n".join(vault.said)
    for place in (b"test.Vault.number", b"test.Vault::refuseAll(word)", b"test.Vault::refuse(short)"):
        assert place in text, place
    assert found_in(vault, text) == []


def test_no_log_line_holds_one(vault: Vault) -> None:
    log = vault.service.errors.read_bytes()
    assert log.count(b'"event": "request"') > 20
    assert found_in(vault, log) == []


def test_no_file_of_the_installation_holds_one(vault: Vault) -> None:
    holding: dict[str, list[str]] = {}
    if vault.postgresql is not None:
        count = 0
        for table, row in rows_of(vault.postgresql):
            count += table == "environments_state"
            if found := found_in(vault, row):
                holding[table] = found
    else:
        file = sqlite3.connect(f"file:{vault.service.folder / 'data' / 'vetro.db'}?mode=ro", uri=True)
        count = file.execute("SELECT count(*) FROM environments_state").fetchone()[0]
        file.close()
    assert count >= 2
    for base, _, names in os.walk(vault.service.folder):
        for name in names:
            path = Path(base, name)
            if path.is_file() and (found := found_in(vault, path.read_bytes())):
                holding[str(path.relative_to(vault.service.folder))] = found
    assert holding == {}


def test_nobody_else_is_told_one(vault: Vault) -> None:
    assert len(vault.told) > 10
    assert found_in(vault, b"\n".join(vault.told)) == []


def test_reports_and_audit_hold_none(vault: Vault) -> None:
    said = []
    for environment in vault.call("GET", "/v1/environments")[1]["environments"]:
        base = f"/v1/environments/{environment['id']}/deployments"
        for deployment in vault.call("GET", base)[1]["deployments"]:
            said.append(vault.call("GET", f"{base}/{deployment['id']}")[1]["reports"])
    text = json.dumps(said).encode()
    assert b"keeping it" in text and b"pin" in text
    assert json.dumps("refusing ••••••").encode() in text and json.dumps("with ••••••").encode() in text
    assert found_in(vault, text) == []


def test_the_command_line_of_no_process_holds_one(vault: Vault) -> None:
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in vault.service.everybody()]
    assert len(lines) >= 3
    assert found_in(vault, b"\n".join(lines)) == []
