"""/v1/environments/…/model/ (API.md 5)."""

from __future__ import annotations

from typing import Any

from vetro.server.api.v1.call import Call
from vetro.server.api.v1.routing import endpoint
from vetro.server.api.v1.services import steps, told
from vetro.server.environments import drafts, patching
from vetro.server.errors import NotFound

PATCH_TYPE = "application/env-model-json-patch"


@endpoint("GET", "environments/{environment_id}/model/{path*}", "show_environment")
def show_model(call: Call, environment_id: str, path: list[str]) -> Any:
    """The object model, or a part of it."""
    return told(drafts.model(call.caller, environment_id, steps(path), call.session_id))


@endpoint("PATCH", "environments/{environment_id}/model/{path*}", "update_environment")
def patch_model(call: Call, environment_id: str, path: list[str]) -> Any:
    """Changes it by a list of operations; all of it is answered."""
    if steps(path):
        raise NotFound("The resource could not be found.", hint="changes are sent to .../model/")
    return patching.patch(call.caller, environment_id, call.session_id, call.json(PATCH_TYPE))
