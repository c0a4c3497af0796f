"""Secrets in the applications of environment templates: what is stored of them, and who gets to see them.

They stay within the project. Where a template is public they are dropped as soon as it becomes so; whoever belongs to
another project gets none, whenever they were stored. Within the project they are marked as in environments.
"""

from __future__ import annotations

from typing import Any

from vetro.model import secrets
from vetro.model.secrets import SecretNames, conceal, without
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.environments import definitions, redaction
from vetro.server.environments.models import Template


def services_of(row: Template) -> list[Any]:
    """The applications as they are stored."""
    listed = row.model.get("services")
    return list(definitions.of_template(row.project_id, listed)) if isinstance(listed, list) else []


def kept(project_id: str, listed: list[Any], is_public: bool) -> list[Any]:
    """What a template of a project stores of these applications: no secrets where everybody sees it."""
    if not is_public or not listed:
        return listed
    stored: list[Any] = without(listed, _secrets(project_id, listed))
    return stored


def given(caller: Caller, row: Template) -> list[Any]:
    """The applications as the caller may use them."""
    return kept(row.project_id, services_of(row), row.project_id != caller.project_id)


def shown(caller: Caller, row: Template, *, marked: bool = False) -> list[Any]:
    """The applications as the caller may see them. ``marked``: secrets are marked for everybody."""
    listed = given(caller, row)
    may_know = allows(caller, "update_service_env_template")
    if not listed or (not marked and may_know):
        return listed
    if not may_know:
        listed = definitions.of_template(row.project_id, listed, readers=True)
    seen: list[Any] = conceal(listed, _secrets(row.project_id, listed))
    return seen


def unset(caller: Caller, row: Template) -> list[dict[str, str]]:
    """The secret properties that whoever uses the template has to enter: {object, type, property}."""
    listed = given(caller, row)
    return secrets.unset(listed, _secrets(row.project_id, listed)) if listed else []


def _secrets(project_id: str, listed: Any) -> SecretNames:
    return redaction.secrets_in_project(project_id, {"applications": listed})
