"""Sizes of servers that a cloud has."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Field, Schema

from vetro.server.api.paging import page
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Routes
from vetro.server.api.v2.shapes import Page
from vetro.server.environments import lookup
from vetro.server.forms import cloud_lists
from vetro.yaql.errors import VetroError

routes = Routes("flavors")


class FlavorShown(Schema):
    """A size of servers."""

    name: str = Field(examples=["m1.small"])
    vcpus: int | None = Field(description="Processors.")
    ram: int | None = Field(description="MiB.")
    disk: int | None = Field(description="GiB; 0: the disk of the image.")


@routes.add("GET", "/flavors", "listFlavors", "list_flavors", Page[FlavorShown])
def list_flavors(request: HttpRequest, environment: str | None = None, region: str | None = None) -> Any:
    """The sizes that servers can have: in the cloud of an environment, or else in that of new ones."""
    caller = who(request)
    own = "" if environment is None else lookup.environment(caller, environment)
    try:
        rows = cloud_lists.choices(caller.project_id, own, "flavors", region, anew=True)
    except VetroError as error:
        raise cloud_lists.refusal(error) from None
    found = [{name: row.get(name) for name in FlavorShown.model_fields} for row in rows]
    return page(found, len(found))
