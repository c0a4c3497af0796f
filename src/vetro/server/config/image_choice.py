"""Whether only an image lacks for servers that run here: pages and `vetro serve` offer to build it then."""

from __future__ import annotations

from typing import Any

from vetro.clouds import kinds
from vetro.clouds.kind_protocols import Lack, Place
from vetro.clouds.stacks.kind import BUILD_IMAGE, GuestKind
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config


def kind_to_build_for(config: Config) -> tuple[GuestKind[Any] | None, Lack | None]:
    """The kind whose servers would run here, and what it lacks. Kinds that keep nobody's servers apart have to be named
    in the settings."""
    name, _ = cloud_settings.named_kind(config)
    place = Place(directory=config.path("cloud.directory"))
    first: tuple[GuestKind[Any] | None, Lack | None] = (None, None)
    for kind in [kinds.find(name)] if name and ":" not in name else [] if name else kinds.ranked():
        if not isinstance(kind, GuestKind):
            continue
        settings = cloud_settings.kind_settings(config, kind)
        if not name and kind.capabilities(settings).walls == "none":
            continue
        lack = kind.lacks(settings, place)
        if lack is None or lack.hint == BUILD_IMAGE:
            return kind, lack
        first = first if first[0] is not None else (kind, lack)
    return first
