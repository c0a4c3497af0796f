"""A package that does next to nothing, a member who may deploy it, and requests of that member in this process."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

_MANIFEST = """\
Format: MuranoPL/1.3
Type: Application
FullName: bench.trivial
Name: Trivial
Description: For measuring
Author: Vetro
Tags: []
Classes: {bench.Trivial: Trivial.yaml}
"""
_CLASS = """\
Name: Trivial
Namespaces: {=: bench, std: io.murano}
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull(), Default: trivial}
  count: {Contract: $.int().notNull(), Default: 0, Usage: Out}
  pauses: {Contract: $.int().notNull(), Default: 0}
Methods:
  deploy:
    Body:
      - $.find(std:Environment).reporter.report($this, 'deploying')
      - $.count: $.count + 1
      - For: number
        In: range($.pauses)
        Do: sleep(0.001)
      - $.find(std:Environment).reporter.report($this, 'deployed')
  add:
    Usage: Static
    Scope: Public
    Arguments: [{a: {Contract: $.int().notNull()}}]
    Body: [{Return: $a + 1}]
"""
TOKEN = "bench"


def people() -> Any:
    """A project with a member whose token is `TOKEN`, and the package ``bench.trivial``; the member as a caller."""
    from vetro.server.accounts.authentication import digest_of
    from vetro.server.accounts.models import Membership, Project, Token, User
    from vetro.server.caller import Caller
    from vetro.server.catalog import standard_packages
    from vetro.server.catalog.imports import import_packages

    standard_packages.ensure()
    project, user = Project.objects.create(name="bench"), User.objects.create(username="bench")
    Membership.objects.create(user=user, project=project, role="member")
    Token.objects.create(user=user, project=project, digest=digest_of(TOKEN), prefix="bench")
    caller = Caller(user.id, "bench", project.id, "bench")
    import_packages(caller, [archive()])
    return caller


def archive() -> bytes:
    """The package ``bench.trivial``."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("manifest.yaml", _MANIFEST)
        made.writestr("Classes/Trivial.yaml", _CLASS)
    return buffer.getvalue()


class Client:
    """Requests in this process; what the HTTP server adds is measured elsewhere (`benchmarks.service`)."""

    def __init__(self) -> None:
        from django.test import Client as Requests

        self._requests = Requests(headers={"x-auth-token": TOKEN})

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The answer, plain data. Ends the program when it is an error."""
        data = b"" if body is None else json.dumps(body).encode()
        more: dict[str, Any] = {f"HTTP_{name.upper()}": value for name, value in headers.items()}
        answer = self._requests.generic(method, path, data, content_type="application/json", **more)
        if answer.status_code >= 400:
            raise SystemExit(f"{method} {path}: {answer.status_code} {answer.content[:300]!r}")
        return json.loads(answer.content) if answer.content else None

    def environment(self, name: str, **properties: Any) -> tuple[str, str]:
        """An environment with one application, and the session that is to be deployed."""
        environment = self.send("POST", "/v1/environments", {"name": name})["id"]
        session = self.send("POST", f"/v1/environments/{environment}/configure")["id"]
        app = {"?": {"type": "bench.Trivial", "id": f"app-{name}"}, "name": name, **properties}
        self.send("POST", f"/v1/environments/{environment}/services", app, x_configuration_session=session)
        return str(environment), str(session)

    def deploy(self, environment: str, session: str) -> None:
        """Deploys and returns at once."""
        self.send("POST", f"/v1/environments/{environment}/sessions/{session}/deploy")
