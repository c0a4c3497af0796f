"""The API itself: which areas it has, what OpenAPI says about it, how it fails."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.http import HttpRequest
from ninja import NinjaAPI, Schema
from ninja.openapi.schema import OpenAPISchema
from ninja.schema import NinjaGenerateJsonSchema

from vetro import __version__
from vetro.server.api.v2 import failures
from vetro.server.api.v2.parsing import StrictParser
from vetro.server.api.v2.routes import Routes
from vetro.server.api.v2.shapes import Failure

#: Modules with endpoints, in the order of the description. Each has ``routes``.
AREAS = (
    "auth", "package_versions", "impact", "packages", "package_parts", "categories", "clouds", "flavors", "images",
    "environments", "servers", "files", "history", "sessions", "components", "tasks", "actions", "schemas", "forms",
    "events",
    "templates", "audit", "people", "quotas", "notices", "upgrades", "procedures", "operation",
)  # fmt: skip

_ABOUT = """\
The API of Vetro. Everything a page or the command line does goes through it.

**Signing in.** Send a token as `X-Auth-Token` or `Authorization: Bearer`; `POST /v2/auth/login` gives one.
**Errors** are `{"error": {code, status, message, hint, details}}`; codes are stable. What belongs to another project
is answered as if it did not exist (404).
**Lists** are `{"items": […], "total": n, "next": cursor}`; give `next` as `cursor` to go on.
**Drafts** have a revision: the `ETag` of a model. Send it back as `If-Match`, and a change that somebody else made
meanwhile is a 409 instead of being overwritten.
**Long work** is a task (202 with the task); follow it at `/v2/tasks/{id}`, `/v2/tasks/{id}/log` or `/v2/events`.
**Simulated**: where a cloud executes nothing, each answer about an environment has the header `Vetro-Simulated: true`,
and environments and tasks the field `simulated`.
**Secrets** (properties with the meta `io.murano.metadata.forms.Secret`) are answered as `{"secret": "kept"}`; sent back
so, they stay as they are.
"""


class _Api(NinjaAPI):
    """Knows where it is without asking Django, whose name for it its views do not use."""

    def get_root_path(self, path_params: dict[str, Any]) -> str:
        """Where all addresses begin."""
        return "/v2/"

    _known: OpenAPISchema | None = None

    def get_openapi_schema(self, *, path_prefix: str | None = None, path_params: Any = None) -> OpenAPISchema:
        """The description, with the errors that `routes` names in each endpoint.

        Made once: it takes half a second of a processor, and anybody may ask for it.
        """
        if self._known is None:
            self._known = self._described(super().get_openapi_schema(path_prefix=path_prefix, path_params=path_params))
        return self._known

    @staticmethod
    def _described(schema: OpenAPISchema) -> OpenAPISchema:
        failure = Failure.model_json_schema(
            ref_template="#/components/schemas/{model}", mode="serialization", schema_generator=NinjaGenerateJsonSchema
        )
        schema["components"]["schemas"] |= {**failure.pop("$defs"), Failure.__name__: failure}
        return schema


api = _Api(
    title="Vetro",
    version="2",
    description=_ABOUT,
    openapi_url="/openapi.json",
    docs_url=None,  # the page that ninja has loads its scripts from another host
    parser=StrictParser(),
    urls_namespace="v2",
)
failures.install(api)

_root = Routes("about")


class Root(Schema):
    """What this is."""

    name: str
    version: str
    api: str
    links: dict[str, str]


@_root.add("GET", "/", "about", None, Root)
def about(request: HttpRequest) -> Any:
    """Name, version and where to go on."""
    links = {
        name: f"/v2/{name}" for name in ("environments", "packages", "categories", "tasks", "templates", "events", "me")
    }
    return {
        "name": "Vetro",
        "version": __version__,
        "api": "v2",
        "links": {**links, "openapi": "/v2/openapi.json", "login": "/v2/auth/login"},
    }


api.add_router("", _root.router)
for _area in AREAS:
    if find_spec(f"vetro.server.api.v2.{_area}") is not None:
        api.add_router("", import_module(f"vetro.server.api.v2.{_area}").routes.router)
