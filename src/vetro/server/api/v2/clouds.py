"""Clouds and kinds of clouds: where environments are deployed, and what can be done there."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Field, Schema

from vetro.clouds.kind_protocols import Capabilities
from vetro.server.api.answers import clouds
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Routes

routes = Routes("clouds")


class CloudShown(Schema):
    """A cloud in which environments are deployed."""

    name: str = Field(examples=["main"])
    kind: str | None = Field(description="Null: a function of the settings makes it.")
    text: str = Field(description="In a line: its kind, what that does, and why it was chosen.")
    capabilities: Capabilities | None = Field(description="What it can do; null where the kind is.")


class KindShown(Schema):
    """A kind of clouds that is installed."""

    name: str = Field(description="A value of the setting `cloud.kind`.")
    title: str | None
    in_use: bool = Field(description="A cloud of this service is of this kind.")
    automatic: bool = Field(description="It can be chosen where the settings name none.")
    capabilities: Capabilities | None = Field(
        description="What its clouds can do: of the kind in use with the settings of this service, of others usually."
    )
    problem: str | None = Field(description="Why it cannot be used; null where it can.")


class CloudsShown(Schema):
    """Where environments are deployed, and where they could be."""

    clouds: list[CloudShown]
    kinds: list[KindShown]


@routes.add("GET", "/clouds", "listClouds", "list_clouds", CloudsShown)
def list_clouds(request: HttpRequest) -> Any:
    """The clouds of this service, and the kinds of clouds that are installed, with what they can do."""
    return clouds.list_clouds(who(request))
