"""Small packages in the blob store and environments that use them: what tests of tasks deploy."""

from __future__ import annotations

import io
import zipfile
from typing import Any

MANIFEST = """\
Format: MuranoPL/1.3
Type: Application
FullName: test.shop
Name: Shop
Description: For tests
Author: Vetro
Tags: []
Classes:
  test.Shop: Shop.yaml
"""

SHOP = """\
Name: Shop
Namespaces:
  =: test
  std: io.murano
  sys: io.murano.system
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
  fail: {Contract: $.bool().notNull(), Default: false}
  warn: {Contract: $.bool().notNull(), Default: false}
  wait: {Contract: $.int().notNull(), Default: 0}
  password: {Contract: $.string(), Default: null}
  made: {Contract: $.int().notNull(), Default: 0, Usage: Out}
Methods:
  deploy:
    Body:
      - $reporter: $.find(std:Environment).reporter
      - $reporter.report($this, format('opening {0}', $.title))
      - If: $.warn
        Then:
          - $reporter.report_error($this, 'something is odd')
      - $.made: $.made + 1
      - sleep($.wait)
      - If: $.fail
        Then:
          - Throw: ShopFailed
            Message: no customers
      - $.find(std:Environment).stack.updateTemplate(
          dict(heat_template_version => '2013-05-23',
               resources => dict(shop => dict(type => 'OS::Heat::RandomString', properties => dict(length => 8)))))
      - $.find(std:Environment).stack.push()
      - $reporter.report($this, 'open')
  greet:
    Scope: Public
    Arguments:
      - name: {Contract: $.string().notNull()}
    Body:
      Return: format('hello {0} from {1}', $name, $.title)
  spin:
    Scope: Public
    Body:
      - While: $.title != ''
        Do: [$x: 1]
  nap:
    Scope: Public
    Arguments:
      - seconds: {Contract: $.int().notNull()}
    Body:
      - sleep($seconds)
      - Return: 1
  add:
    Usage: Static
    Scope: Public
    Arguments:
      - a: {Contract: $.int().notNull()}
      - b: {Contract: $.int().notNull(), Default: 1}
    Body:
      Return: $a + $b
"""


def archive(classes: dict[str, str] | None = None, manifest: str = MANIFEST) -> bytes:
    """A package archive; the same bytes for the same content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zip:
        for name, text in {"manifest.yaml": manifest, **(classes or {"Classes/Shop.yaml": SHOP})}.items():
            zip.writestr(zipfile.ZipInfo(name), text)
    return buffer.getvalue()


def add_package(caller: Any, data: bytes | None = None) -> Any:
    """A row of the catalog for an archive, imported by the rules."""
    from vetro.server.catalog import standard_packages
    from vetro.server.catalog.imports import import_packages

    standard_packages.ensure()
    (row,) = import_packages(caller, [archive() if data is None else data]).packages
    return row


def add_environment(caller: Any, name: str = "env") -> Any:
    """A row of an environment."""
    from vetro.server.environments.models import Environment

    return Environment.objects.create(project_id=caller.project_id, name=name)


def model(environment: Any, **properties: Any) -> dict[str, Any]:
    """A model of the environment with one shop."""
    shop = {"?": {"type": "test.Shop", "id": "shop-1"}, "title": "corner", **properties}
    root = {"?": {"type": "io.murano.Environment", "id": environment.id}, "name": environment.name,
            "applications": [shop]}  # fmt: skip
    return {"Objects": root, "ObjectsCopy": None, "Attributes": [], "SystemData": {}}


def enqueue(
    caller: Any, environment: Any, package: Any, start: dict[str, Any], kind: str = "deploy", **more: Any
) -> Any:
    """A task over a model, as the rules of environments enqueue it."""
    from django.db import transaction

    from vetro.server.environments.models import Environment
    from vetro.server.tasks import queue

    action = {"object_id": more.get("object_id", environment.id), "method": more.get("method", "deploy"),
              "args": more.get("args", {})}  # fmt: skip
    with transaction.atomic():
        task = queue.enqueue(
            caller, kind, environment=environment, model=start, packages=[package], action=action, **more
        )
        Environment.objects.filter(id=environment.id).update(task_id=task.id)
    return task


def deploy(caller: Any, environment: Any, package: Any, **properties: Any) -> Any:
    """A task that deploys an environment with one shop."""
    return enqueue(caller, environment, package, model(environment, **properties))
