"""Answers that are meant to differ from the recorded ones, made from these."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any, Final

from tests.acceptance.golden.recording import Exchange, load

Response = dict[str, Any]


def refused(status: int) -> Callable[[Exchange, Response], Response]:
    """An error of this status, as text/html where anything is accepted."""

    def change(exchange: Exchange, response: Response) -> Response:
        html = exchange.request["headers"].get("accept", "*/*") in ("*/*", "text/html")
        kind = "text/html; charset=UTF-8" if html else "text/plain; charset=UTF-8"
        return {"status": status, "headers": {"content-type": kind}, "body": {"text": ""}}

    return change


def answered(data: Any, kind: str = "application/json") -> Callable[[Exchange, Response], Response]:
    """This JSON, or what a function makes of the recorded one."""

    def change(exchange: Exchange, response: Response) -> Response:
        made = data(copy.deepcopy(response["body"]["json"])) if callable(data) else data
        return {"status": 200, "headers": {"content-type": kind}, "body": {"json": made}}

    return change


def posted(file: str, *indexes: int, status: str = "pending") -> list[dict[str, Any]]:
    """The applications that these exchanges sent, as the service lists them."""
    made: list[dict[str, Any]] = []
    for index in indexes:
        body = copy.deepcopy(load(file)[index].request["body"]["json"])
        made += body if isinstance(body, list) else [body]
    for one in made:
        one["?"]["status"] = status
    return made


def recorded(file: str, index: int) -> Any:
    """The JSON of a recorded answer."""
    return load(file)[index].response["body"]["json"]


def as_good(index: int) -> Any:
    """23: what `v1good` was answered, for `v1bad`."""
    text = json.dumps(recorded("23-deploy-variants", index)).replace("v-v1good", "v-v1bad")
    return _elsewhere(text, range(181, 186), -7, 9)


def as_default(index: int, number: int, name: str) -> Any:
    """50: what a deployment that gave all parameters was answered, for one that leaves them to the template.

    ``number``: of the id of the environment here; ``name``: its name.
    """
    data = recorded("50-heat", index)
    full = index > 120
    given = {"length": 20, "prefix": "zz", "flavour": None} if full else {"length": None, "prefix": None}
    if "deployments" in data:
        (app,) = data["deployments"][0]["description"]["services"]
        # What was posted, to the letter.
        app["templateParameters"] = {"length": 20, "prefix": "zz"} if full else {}
    elif "reports" not in data:
        (app,) = data if isinstance(data, list) else data["services"]
        app["templateParameters"] = given
    first = 435 if full else 406
    text = json.dumps(data).replace("hot-full" if full else "hot-simple", name)
    return _elsewhere(text, range(first, first + 5), number - first, number // 100)


def _elsewhere(text: str, known: range, shift: int, digit: int) -> Any:
    """JSON with the ids in ``known`` shifted; the others get names of their own, which begin with ``digit``."""

    def other(found: re.Match[str]) -> str:
        number = int(found[1])
        return f"id-{number + shift:04}" if number in known else f"id-{digit}{number:03}"

    return json.loads(re.sub(r"id-0(\d{3})", other, text))


def ended(body: dict[str, Any]) -> dict[str, Any]:
    """Tasks and environments that the old engine left running for ever have come to an end."""
    for one in body.get("deployments", []):
        if one["id"] == "id-0178":
            one.update(finished="<time>", state="success", result={"result": None, "isException": False})
        if one["id"] == "id-0133":
            failure = {"isException": True, "result": {"message": "", "details": ""}}
            one.update(finished="<time>", state="completed_w_errors", result=failure)
    for one in [body, *body.get("environments", [])]:
        if one.get("name") in ("v-badversion", "v-v1bad"):
            if one["name"] == "v-badversion" and "services" in one:
                one["services"] = posted("23-deploy-variants", 44)
            one["status"] = "ready" if one["name"] == "v-v1bad" else "deploy failure"
            one["version"] = 1
            if "acquired_by" in one:
                one["acquired_by"] = None
            for service in one.get("services", []):
                service["?"]["status"] = one["status"]
    return body


def failed_report(body: dict[str, Any]) -> dict[str, Any]:
    """Reports of a deployment that did come to its end."""
    last = {**body["reports"][0], "id": "id-9135", "text": "Deployment finished with errors"}
    return {"reports": [*body["reports"], last]}


def without_empty(body: Any) -> Any:
    """Without the application `{}` that was refused here, and what the old engine made of it."""
    if "deployments" in body:
        for one in body["deployments"]:
            without_empty(one["description"])
        return body
    listed = body if isinstance(body, list) else body["services"]
    listed[:] = [one for one in listed if one and not one["?"]["type"].startswith("io.murano.Application")]
    return body


def two_versions(body: dict[str, Any]) -> dict[str, Any]:
    """05: both versions, the newer one first."""
    return {"packages": [{**body["packages"][0], "id": "id-9001"}, *body["packages"]]}


def renamed(body: dict[str, Any]) -> dict[str, Any]:
    """05: only the newer version."""
    return {"packages": [{**body["packages"][0], "id": "id-9001"}]}


def not_empty_list(body: dict[str, Any]) -> dict[str, Any]:
    """22: false was stored as []."""
    for one in body["deployments"]:
        for service in one["description"]["services"]:
            if service.get("failDeploy") == []:
                service["failDeploy"] = False
    return body


def second_version(exchange: Exchange, response: Response) -> Response:
    """05: the package whose other version is there already."""
    return answered({**recorded("05-packages-upload", 43), "id": "id-9001"})(exchange, response)


MENDED: Final = posted("12-services", 31, 9)
MENDED[0]["name"] = "changed2"
MENDED[1]["helper"]["title"] = "tt"
FROM_TEMPLATE: Final = {
    "id": "id-0275", "tenant_id": "<project:demo>", "name": "from-tpl", "version": 0, "description_text": "",
    "created": "<time>", "updated": "<time>", "status": "pending", "acquired_by": None,
    "services": posted("34-templates", 45),
}  # fmt: skip
