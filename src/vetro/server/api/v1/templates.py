"""/v1/templates (API.md 11)."""

from __future__ import annotations

from typing import Any

from vetro.server.api.v1.call import Call
from vetro.server.api.v1.routing import endpoint
from vetro.server.api.v1.services import steps, told
from vetro.server.environments import templates


@endpoint("GET", "templates", "list_env_templates")
def list_templates(call: Call) -> Any:
    """Own and public templates."""
    wanted = call.query.get("is_public", "").strip().lower()
    is_public = True if wanted in ("true", "1") else False if wanted in ("false", "0") else None
    return {"templates": templates.list_all(call.caller, is_public=is_public)}


@endpoint("POST", "templates", "create_env_template")
def create_template(call: Call) -> Any:
    """Makes a template."""
    return templates.create(call.caller, call.json())


@endpoint("GET", "templates/{template_id}", "show_env_template")
def show_template(call: Call, template_id: str) -> Any:
    """A template with its applications."""
    return templates.show(call.caller, template_id)


@endpoint("PUT", "templates/{template_id}", "update_env_template")
def update_template(call: Call, template_id: str) -> Any:
    """Changes name, description, visibility."""
    return templates.update(call.caller, template_id, call.json())


@endpoint("DELETE", "templates/{template_id}", "delete_env_template")
def delete_template(call: Call, template_id: str) -> None:
    """Removes it."""
    templates.delete(call.caller, template_id)


@endpoint("POST", "templates/{template_id}/create-environment", "create_environment")
def create_environment(call: Call, template_id: str) -> Any:
    """An environment and a session with the template's applications."""
    return templates.create_environment(call.caller, template_id, call.json())


@endpoint("POST", "templates/{template_id}/clone", "clone_env_template")
def clone_template(call: Call, template_id: str) -> Any:
    """A copy in the caller's project."""
    return templates.clone(call.caller, template_id, call.json())


@endpoint("GET", "templates/{template_id}/services", "show_env_template")
def list_services(call: Call, template_id: str) -> Any:
    """Its applications."""
    return templates.services(call.caller, template_id, ())


@endpoint("GET", "templates/{template_id}/services/{path*}", "show_env_template")
def show_service(call: Call, template_id: str, path: list[str]) -> Any:
    """One of them, or a part of one."""
    return told(templates.services(call.caller, template_id, steps(path)))


@endpoint("POST", "templates/{template_id}/services", "update_service_env_template")
def add_service(call: Call, template_id: str) -> Any:
    """Adds applications."""
    return templates.add_services(call.caller, template_id, call.json())


@endpoint("PUT", "templates/{template_id}/services", "update_service_env_template")
def replace_services(call: Call, template_id: str) -> Any:
    """Replaces all applications."""
    return templates.put_services(call.caller, template_id, (), call.json())


@endpoint("PUT", "templates/{template_id}/services/{path*}", "update_service_env_template")
def replace_service(call: Call, template_id: str, path: list[str]) -> Any:
    """Replaces one of them, or a part of one."""
    return told(templates.put_services(call.caller, template_id, steps(path), call.json()))


@endpoint("DELETE", "templates/{template_id}/services/{path*}", "update_service_env_template")
def delete_service(call: Call, template_id: str, path: list[str]) -> Any:
    """Removes one of them, or a part of one."""
    return templates.remove_services(call.caller, template_id, steps(path))
