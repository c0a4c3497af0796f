"""Building the image that servers of this installation start from, where that is all that is missing for real ones.

The build is a process of its own (`vetro.clouds.images.building`): it goes on when the browser is closed. It is for who
looks after the installation: programs of this machine run for it, with its rights, or with those of its cloud helper.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from vetro.clouds.errors import CloudError
from vetro.clouds.images.building import Build
from vetro.clouds.images.recipe import DEFAULT
from vetro.clouds.kind_protocols import Place
from vetro.clouds.stacks.kind import BUILD_IMAGE
from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.config import cloud_settings, image_choice
from vetro.server.errors import Conflict
from vetro.server.setup import config


@dataclass(frozen=True, slots=True)
class BuildState:
    """Whether an image can be built here, and the last build."""

    #: An image is all that is missing for servers that run.
    wanted: bool
    #: The kind that servers would be of, and what else it lacks; '' where there is none.
    kind: str
    lacks: str
    hint: str | None
    build: Build | None

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "build": None if self.build is None else asdict(self.build)}


def offer() -> BuildState:
    """What can be built, and how that goes."""
    kind, lack = image_choice.kind_to_build_for(config())
    if kind is None:
        return BuildState(False, "", "", None, None)
    try:
        build = kind.builds(_place()).last_build()
    except CloudError as error:
        return BuildState(False, kind.name, error.message, error.hint, None)
    if build is not None and build.state == "done" and lack is None:
        cloud_settings.look_again(config())  # what is chosen for new environments changes now
    wanted = lack is not None and lack.hint == BUILD_IMAGE
    return BuildState(
        wanted, kind.name, "" if lack is None else lack.reason, None if lack is None else lack.hint, build
    )


def begin(caller: Caller) -> BuildState:
    """Begins to build the image. Raises `Conflict` where one is being built, or more is missing than an image."""
    kind, lack = image_choice.kind_to_build_for(config())
    if kind is None:
        raise Conflict(Text("servers of this service are made elsewhere, by a cloud that has images of its own"))
    if lack is not None and lack.hint != BUILD_IMAGE:
        raise Conflict(Text("an image alone makes no servers here: {reason}", reason=lack.reason), hint=lack.hint)
    try:
        kind.builds(_place()).begin_build(DEFAULT)
    except CloudError as error:
        raise Conflict(error.message, hint=error.hint) from None
    record(caller, "image.build", DEFAULT, DEFAULT)
    return offer()


def _place() -> Place:
    return Place(directory=config().path("cloud.directory"))
