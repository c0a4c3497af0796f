"""Packages in several versions, and environments that run the first: each version of them does something else."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

MANIFEST = """\
Format: MuranoPL/1.3
Type: Application
FullName: test.shop
Version: {version}
Name: Shop
Description: For tests
Author: Vetro
Tags: []
Require: {{io.vetro: 1}}
Classes:
  test.Shop: Shop.yaml
"""

HEAD = """\
Name: Shop
Namespaces: {=: test, std: io.murano, res: io.murano.resources, conf: io.murano.configuration}
Extends: std:Application
Properties:
  instance: {Contract: $.class(res:Instance).notNull()}
  text: {Contract: $.string().notNull(), Default: first}
  password: {Contract: $.string(), Default: null}
"""
DEPLOY = """\
Methods:
  deploy:
    Body:
      - $.instance.deploy()
      - If: $.getAttr(text) != $.text
        Then:
          - conf:Linux.runCommand($.instance.agent, format('echo {0}', $.text), format('Write {0}', $.text))
          - $.setAttr(text, $.text)
"""
#: Adds something to the stack that does not touch the server.
MORE = """\
      - $stack: $.find(std:Environment).stack
      - $stack.updateTemplate(dict(resources => dict(
          more => dict(type => 'OS::Heat::RandomString', properties => dict(length => 8)))))
      - $stack.push()
"""
SERVER = "      - $.instance.deploy()\n"
FRAGILE = """\
      - If: $.text = fragile
        Then:
          - Throw: Broken
            Message: format('it says {0}', $.password)
"""
#: Gives the server another key, which no cloud can do to one that is there.
MIGRATION = """\
  otherKey:
    Usage: Static
    Meta: {l:Migration: {to: 4.0.0}}
    Arguments:
      - old: {Contract: {}}
    Body:
      - Return: $old.set(instance, $old.instance.set(keyname, default))
"""
#: What a version adds to the first: its class, as text.
VERSIONS: dict[str, str] = {
    "1.0.0": HEAD + DEPLOY,
    "1.0.1": HEAD + DEPLOY,  # nothing changes
    "1.1.0": HEAD + DEPLOY + MORE,
    "1.2.0": HEAD + "  port: {Contract: $.int().notNull().check($ > 1023 and $ < 65536)}\n" + DEPLOY,
    "2.0.0": (HEAD + DEPLOY).replace("  text:", "  words:").replace("$.text", "$.words"),
    "3.0.0": HEAD + DEPLOY.replace(SERVER, SERVER + FRAGILE),
    "4.0.0": HEAD.replace("conf:", "l: io.vetro.lifecycle, conf:") + DEPLOY + MIGRATION,
}


def archive(version: str, text: str | None = None, name: str = "test.shop") -> bytes:
    """A version of the package; ``text``: of its class."""
    manifest = MANIFEST.format(version=version)
    body = VERSIONS[version] if text is None else text
    if name != "test.shop":
        manifest = manifest.replace("test.shop", name).replace("test.Shop", f"{name}.Shop")
        body = body.replace("=: test,", f"=: {name},")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr(zipfile.ZipInfo("manifest.yaml"), manifest)
        target.writestr(zipfile.ZipInfo("Classes/Shop.yaml"), body)
    return buffer.getvalue()


def shop(number: int, kind: str = "test.Shop/1.0.0", **more: Any) -> dict[str, Any]:
    """The definition of an application with one server."""
    instance = {"?": {"type": "io.murano.resources.LinuxMuranoInstance", "id": f"{number:032x}"},
                "name": f"server-{number}", "image": "debian-12-murano", "flavor": "m1.small",
                "assignFloatingIp": False}  # fmt: skip
    return {"?": {"type": kind, "id": f"{number + (1 << 64):032x}", "name": f"shop {number}"},
            "instance": instance, **more}  # fmt: skip


def environment(caller: Any, drain: Callable[..., Any], name: str, *applications: dict[str, Any]) -> str:
    """An environment with these, deployed; its id."""
    from vetro.server.environments import deploy, drafts, service, sessions

    id = str(service.create(caller, {"name": name})["id"])
    session = str(sessions.open_session(caller, id).id)
    drafts.put_services(caller, id, session, (), list(applications))
    task = deploy.deploy(caller, id, session)
    drain()
    task.refresh_from_db()
    assert task.state == "done", task.error
    return id
