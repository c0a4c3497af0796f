"""/v1/environments/…/services (API.md 7)."""

from __future__ import annotations

from typing import Any

from vetro.server.api.v1.call import Call, Raw
from vetro.server.api.v1.routing import endpoint
from vetro.server.environments import drafts
from vetro.server.errors import NotFound


def steps(path: list[str]) -> list[str]:
    """The segments that say something: clients write '//' and a '/' at the end."""
    return [step for step in path if step]


def told(value: Any) -> Any:
    """A part of a model as an answer: null is a value, too, not an empty answer."""
    return Raw("null", "application/json") if value is None else value


@endpoint("GET", "environments/{environment_id}/services", "show_environment")
def list_services(call: Call, environment_id: str) -> Any:
    """The applications."""
    return drafts.services(call.caller, environment_id, (), call.session_id)


@endpoint("GET", "environments/{environment_id}/services/{path*}", "show_environment")
def show_service(call: Call, environment_id: str, path: list[str]) -> Any:
    """An application, or a part of one."""
    return told(drafts.services(call.caller, environment_id, steps(path), call.session_id))


@endpoint("POST", "environments/{environment_id}/services", "update_environment")
def add_service(call: Call, environment_id: str) -> Any:
    """Adds applications."""
    return drafts.add_services(call.caller, environment_id, call.session_id, call.json())


@endpoint("POST", "environments/{environment_id}/services/{path*}", "update_environment")
def add_service_below(call: Call, environment_id: str, path: list[str]) -> Any:
    """The same for clients that write a '/' at the end. Raises `NotFound` for a path below."""
    if steps(path):
        raise NotFound("The resource could not be found.", hint="applications are added to the list itself")
    return add_service(call, environment_id)


@endpoint("PUT", "environments/{environment_id}/services", "update_environment")
def replace_services(call: Call, environment_id: str) -> Any:
    """Replaces all applications."""
    return drafts.put_services(call.caller, environment_id, call.session_id, (), call.json())


@endpoint("PUT", "environments/{environment_id}/services/{path*}", "update_environment")
def replace_part(call: Call, environment_id: str, path: list[str]) -> Any:
    """Replaces what is at a path."""
    return told(drafts.put_services(call.caller, environment_id, call.session_id, steps(path), call.json()))


@endpoint("DELETE", "environments/{environment_id}/services", "update_environment")
def delete_services(call: Call, environment_id: str) -> None:
    """Removes all applications."""
    drafts.remove_services(call.caller, environment_id, call.session_id, ())


@endpoint("DELETE", "environments/{environment_id}/services/{path*}", "update_environment")
def delete_service(call: Call, environment_id: str, path: list[str]) -> None:
    """Removes an application, or a part of one."""
    drafts.remove_services(call.caller, environment_id, call.session_id, steps(path))
