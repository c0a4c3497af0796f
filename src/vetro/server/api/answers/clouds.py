"""Clouds: where environments are deployed, the kinds that are installed, and what can be done there."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from vetro.clouds import kinds
from vetro.clouds.kind_protocols import Capabilities
from vetro.server.caller import Caller
from vetro.server.config import cloud_settings
from vetro.server.setup import config

#: The name of the cloud of the section ``[cloud]``.
MAIN = "main"


def list_clouds(caller: Caller) -> dict[str, Any]:
    """The cloud of this installation and all kinds by name, also those that cannot be loaded. No cloud is asked.

    Raises `vetro.clouds.kinds.KindMissing`, and what wrong settings of the cloud raise.
    """
    settings = config()
    used = cloud_settings.kind(settings)
    able = cloud_settings.capabilities(settings)
    text = cloud_settings.selection(settings).text
    main = {"name": MAIN, "kind": None if used is None else used.name, "text": text, "capabilities": _json(able)}
    found: list[dict[str, Any]] = []
    for name in kinds.names():
        try:
            kind = kinds.find(name)
        except kinds.KindMissing as error:
            unusable = {"name": name, "title": None, "in_use": False, "automatic": False, "capabilities": None}
            found.append({**unusable, "problem": error.message})
            continue
        found.append(
            {
                "name": name,
                "title": kind.title,
                "in_use": kind is used,
                "automatic": kind.rank is not None,
                "capabilities": _json(able if kind is used else kind.capabilities(None)),
                "problem": None,
            }
        )
    return {"clouds": [main], "kinds": found}


def _json(able: Capabilities | None) -> dict[str, Any] | None:
    return None if able is None else {**asdict(able), "architectures": list(able.architectures)}
