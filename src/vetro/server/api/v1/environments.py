"""/v1/environments (API.md 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from json.encoder import encode_basestring as quoted
from typing import Any

from vetro.server.api.v1.call import Call, InParts
from vetro.server.api.v1.deployments import plain
from vetro.server.api.v1.routing import endpoint
from vetro.server.environments import deploy, deployments, drafts, service
from vetro.server.environments.search import Listed

_TRUE = ("true", "1", "yes", "on", "t", "y")


def is_true(call: Call, name: str) -> bool:
    """Whether a parameter says yes; case does not matter."""
    return call.query.get(name, "").strip().lower() in _TRUE


@endpoint("GET", "environments", "list_environments")
def list_environments(call: Call) -> Any:
    """The environments of the project, or of others for administrators."""
    everything = is_true(call, "all_tenants")
    tenant = call.query.get("tenant")
    return InParts(_listing(service.list_all(call.caller, tenant=tenant, all_tenants=everything)))


def _listing(parts: Iterable[Sequence[Listed]]) -> Iterator[bytes]:
    """The answer, some environments at a time. Written by hand: of 100,000 it takes a third of what it takes to make
    an object of each for the encoder."""
    between = '{"environments": ['
    for rows in parts:
        yield (between + ", ".join(starmap(_listed, rows))).encode()
        between = ", "
    yield b"]}" if between == ", " else b'{"environments": []}'


def _listed(
    id: str, name: str, tenant_id: str, version: int, text: str, created: str, updated: str, status: str
) -> str:
    return (
        f'{{"id": "{id}", "name": {quoted(name)}, "tenant_id": {quoted(tenant_id)}, "version": {version},'
        f' "description_text": {quoted(text)}, "created": "{created[:10]}T{created[11:19]}",'
        f' "updated": "{updated[:10]}T{updated[11:19]}", "status": "{status}"}}'
    )


@endpoint("POST", "environments", "create_environment")
def create_environment(call: Call) -> Any:
    """Makes an environment."""
    return service.create(call.caller, call.json())


@endpoint("GET", "environments/{environment_id}", "show_environment")
def show_environment(call: Call, environment_id: str) -> Any:
    """An environment with its applications."""
    return drafts.show(call.caller, environment_id, call.session_id)


@endpoint("PUT", "environments/{environment_id}", "update_environment")
def rename_environment(call: Call, environment_id: str) -> Any:
    """Gives it another name."""
    return service.rename(call.caller, environment_id, call.json())


@endpoint("DELETE", "environments/{environment_id}", "delete_environment")
def delete_environment(call: Call, environment_id: str) -> None:
    """Destroys it, or abandons it."""
    deploy.delete(call.caller, environment_id, abandon=is_true(call, "abandon"))


@endpoint("GET", "environments/{environment_id}/lastStatus", "show_environment")
def last_status(call: Call, environment_id: str) -> Any:
    """The newest report about each application."""
    found = deployments.last_statuses(call.caller, environment_id, call.session_id)
    return {"lastStatuses": {key: report and plain(report) for key, report in found.items()}}
