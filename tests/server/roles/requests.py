"""What is sent to a route, so that no request stops at its body."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.server.roles.expectations import expectations
from tests.server.roles.routes import Route, described, operations
from tests.server.roles.world import archive

#: Of ann.
PASSWORD = "a long password"
_TREE = {"?": {"type": "test.Tree", "id": "t7"}, "name": "t7"}
_V1: dict[tuple[str, str], Any] = {
    ("POST", "/v1/environments/{environment_id}/actions/{action_id}"): {"litres": 3},
    ("PUT", "/v1/environments/{environment_id}/services"): [_TREE],
    ("PUT", "/v1/templates/{template_id}/services"): [_TREE],
    ("POST", "/v1/actions"): {"className": "test.Tree", "methodName": "none", "parameters": {}},
    ("POST", "/v1/catalog/categories"): {"name": "Mine"},
    ("PATCH", "/v1/catalog/packages/{id}"): [{"op": "replace", "path": "/name", "value": "mine"}],
    ("POST", "/v1/environments"): {"name": "mine"},
    ("PUT", "/v1/environments/{environment_id}"): {"name": "mine"},
    ("PATCH", "/v1/environments/{environment_id}/model/{path*}"): [{"op": "replace", "path": "/name", "value": "x"}],
    ("POST", "/v1/templates"): {"name": "mine"},
    ("PUT", "/v1/templates/{template_id}"): {"name": "mine"},
    ("POST", "/v1/templates/{template_id}/clone"): {"name": "mine"},
    ("POST", "/v1/templates/{template_id}/create-environment"): {"name": "mine"},
}
_V2: dict[str, Any] = {
    "callStaticMethod": {"class": "test.Tree", "method": "none", "args": {}},
    "grantRole": {"user": "ann", "project": "aside", "role": "reader"},
    "createProject": {"name": "mine"},
    "createUser": {"name": "mine"},
    "upgradeEnvironment": {},
    "upgradeOneByOne": {},
    "login": {"name": "ann", "password": PASSWORD},
    "createCategory": {"name": "Mine"},
    "createEnvironment": {"name": "mine"},
    "createTemplate": {"name": "mine", "services": []},
    "findUnknownPackages": {"items": [{"fqn": "test.orchard", "version": "1.0.0", "digest": "0" * 64}]},
    "importPackagesFrom": {"url": "http://127.0.0.1:1/x.zip"},
    "createToken": {"name": "mine"},
    "changePackage": {"name": "mine", "enabled": False},
    "renameCategory": {"name": "Mine"},
    "changeEnvironment": {"name": "mine"},
    "repairEnvironment": {},
    "deploySession": {},
    "cloneEnvironment": {"name": "mine"},
    "writeModel": {"?": {"type": "io.murano.Environment", "id": "x"}, "name": "mine", "services": []},
    "addComponent": _TREE,
    "changeComponent": {**_TREE, "height": 9},
    "undoChanges": {},
    "cancelTask": {"reason": "mine"},
    "markImage": {"title": "Mine", "type": "linux"},
    "resolveTask": {"key": "0", "decision": "redo"},
    "callAction": {"args": {"litres": 3}},
    "startServers": {"what": "mine"},
    "stopServers": {"what": "mine"},
    "restartServers": {"what": "mine"},
    "changeTemplate": {"name": "mine", "services": []},
    "cloneTemplate": {"name": "mine"},
    "createEnvironmentFromTemplate": {"name": "mine"},
    "changeUser": {"enabled": False, "password": "a long password"},
    "changeProject": {"enabled": False},
    "changeQuotas": {"quotas": {"servers": 3}},
    "drainWorker": {},
    "evaluateForm": {"answers": {"name": "mine"}},
    "makePassword": {"path": "name"},
    "validateForm": {"answers": {"name": "mine"}},
    "submitForm": {"answers": {"name": "mine"}},
    "goBackInForm": {"page": 0},
    "switchForm": {"source": "class"},
    "startForm": {"builder": "none"},
    "addNoticeTarget": {"name": "mine", "kind": "webhook", "url": "https://mine.example.com/"},
    "changeNoticeTarget": {"name": "mine"},
    "rotateNoticeSecret": {"hours": 1},
    "addNoticeRule": {"target_id": "mine"},
    "changeNoticeRule": {"least": "error"},
    "runServerCommand": {"command": ["true"]},
    "sendCommandInput": {"end": True},
}
#: Query parameters without which a route answers 400.
_QUERIES = {
    "compareStates": {"from": "0", "to": "1"},
    "createLoginLink": {"project": "aside"},
    "revokeRole": {"user": "ann", "project": "aside"},
    "listChoices": {"path": "/name"},
    "putFilePart": {"offset": "0"},
}
#: Parts of addresses that name nothing of a project.
_PLAIN = frozenset(
    {
        "number",
        "seq",
        "path",
        "builder",
        "image_id",
        "category",
        "category_id",
        "name",
        "methods",
        "method",
        "server",
        "topic",
        "worker",
        "cure",
    }
    | {"command", "file"}
)
#: Addresses of what every project may see, and of links, which are secrets.
_SHARED = ("/categories/", "/app/link/")


@cache
def _about() -> dict[Route, dict[str, Any]]:
    return dict(operations())


def _id_of(route: Route) -> str | None:
    return _about()[route]["operationId"] if route in _about() else None


def body_of(route: Route) -> Any:
    """The JSON that is sent; None where there is none, a dictionary of fields for pages."""
    if route.door == "v1":
        kind = _TREE if route.method in ("POST", "PUT") and "/services" in route.path else None
        return _V1.get((route.method, route.path), kind)
    if route.door == "v2":
        if _id_of(route) == "beginForm":
            return {"class": "test.Tree"}
        return _V2.get(_id_of(route) or "")
    name = "ann" if route.path == "/app/login" else "mine"
    return {"name": name, "role": "reader", "password": PASSWORD, "language": "en", "days": "1"}


def query_of(route: Route) -> dict[str, str]:
    """The parameters that the route cannot do without."""
    return dict(_QUERIES.get(_id_of(route) or "", {}))


def names_something(route: Route) -> bool:
    """Whether the address names something that belongs to one project."""
    return bool(set(route.names) - _PLAIN) and not any(part in route.path for part in _SHARED)


def closed(route: Route) -> bool:
    """Whether only administrators may, whatever it is about."""
    return expectations()[route] == "admin"


def send(client: Client, route: Route, path: str, given: dict[str, str], query: Any = None, body: Any = None) -> Any:
    """The answer."""
    asked = {**query_of(route), **(query or {})}
    if asked:
        path += "?" + urlencode(asked, doseq=True)
    sent = body if body is not None else body_of(route)
    method = getattr(client, route.method.lower())
    if route.door == "pages" and route.method == "POST":
        return method(path, {**sent, "confirm": "on"})
    if route.path in ("/v2/packages", "/v2/packages/check") and route.method == "POST":
        return method(path, {"archive": SimpleUploadedFile("a.zip", archive("new", "mine"), "application/zip")})
    if route.path == "/v1/catalog/packages" and route.method == "POST":
        return method(path, {"file": SimpleUploadedFile("a.zip", archive("new", "mine"), "application/zip")})
    if route.path == "/v2/environments/import" or _id_of(route) == "putFilePart":
        return method(path, b"no archive", content_type="application/octet-stream")
    if sent is None or route.method == "GET":
        return method(path)
    kind = "application/murano-packages-json-patch" if "/catalog/packages/" in route.path else "application/json"
    if route.door == "v1" and "/model/" in route.path:
        kind = "application/env-model-json-patch"
    return method(path, json.dumps(sent), content_type=kind)


#: How endpoints of /v1 and pages ask for parameters.
_ASKED = re.compile(r"""\.(?:get|getlist)\(\s*"([A-Za-z_.]+)\"""")


def places(route: Route, theirs: dict[str, str], own: dict[str, str]) -> Iterator[dict[str, Any]]:
    """What `send` is to be given so that each parameter and each property of the body is an id of theirs once."""
    if route.door == "v2":
        about = _about().get(route, {})
        for parameter in about.get("parameters", ()):
            if parameter["in"] == "query":
                for value in _meant(parameter["name"], theirs):
                    yield {"query": {parameter["name"]: value}}
        for name in _properties(about):
            for value in _meant(name, theirs):
                base = body_of(route)
                yield {"body": {**(base if isinstance(base, dict) else {}), name: value}}
    elif route.door == "v1" and route.method == "GET":
        for name in _names(route.door):
            for value in _meant(name, theirs):
                yield {"query": {name: value}}
    elif route.door == "pages":
        # All at once, since there are many: each of an id that its name tells of, the others of this kind.
        for kind in (
            "environment",
            "session",
            "task",
            "template",
            "package",
            "form",
            "token",
            "project",
            "user",
            "target",
            "rule",
        ):
            given = {name: _meant(name, theirs, kind)[0] for name in _names("pages")}
            yield {"query": given} if route.method == "GET" else {"body": given}


def _meant(name: str, theirs: dict[str, str], otherwise: str = "environment") -> list[str]:
    """The ids of theirs that a parameter of this name could take."""
    return [value for kind, value in theirs.items() if kind in name.lower()] or [theirs[otherwise]]


def _properties(about: dict[str, Any]) -> list[str]:
    body = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    found = described()["components"]["schemas"].get(body.get("$ref", "").rpartition("/")[2], {})
    return sorted(found.get("properties", {}))


@cache
def _names(door: str) -> list[str]:
    """Names of parameters that the code of /v1 or the pages asks for anywhere."""
    from vetro import server

    folder = Path(str(server.__file__)).parent / {"v1": "api/v1", "pages": "web"}[door]
    texts = "".join(path.read_text("utf-8") for path in folder.rglob("*.py"))
    return sorted(set(_ASKED.findall(texts)) - {"csrfmiddlewaretoken", "next"})
