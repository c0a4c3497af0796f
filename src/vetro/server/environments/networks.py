"""Default networks of new environments, from the settings of group ``networking`` (API.md 5).

``networking.config_file`` holds ``{environment: OBJECT or null, flat: OBJECT or null}``. In every text ``%ENV%``
stands for the environment's name; each object gets a fresh id.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from vetro.model.header import header_of
from vetro.packages.yamltree import Node, TreeError, plain, read_documents
from vetro.server.config.config import Config, ConfigError
from vetro.server.ids import new_id

KINDS = ("environment", "flat")
_CLASSES = {
    "neutron": "io.murano.resources.NeutronNetwork",
    "nova": "io.murano.resources.NovaNetwork",
}
#: The old default name; used only if there is such a file in the data directory.
_USUAL = "netconfig.yaml"


def check(config: Config) -> None:
    """Reads the file, if one is set or there. Raises `ConfigError` with file and line; called at the start."""
    path = _path(config)
    if path is not None:
        _read(path, _changed(path))


def default_networks(config: Config, name: str) -> dict[str, Any]:
    """``defaultNetworks`` of an environment that is called ``name``. Raises `ConfigError` for a broken file."""
    path = _path(config)
    if path is None:
        driver = config["networking.driver"] or "neutron"
        network = {"?": {"id": new_id(), "type": _CLASSES[driver]}, "name": f"{name}-network"}
        return {"environment": network, "flat": None}
    found: dict[str, Any] = _filled(_read(path, _changed(path)), name)
    return found


def _path(config: Config) -> Path | None:
    if config["networking.config_file"]:
        return config.path("networking.config_file")
    usual = config.data / _USUAL
    return usual if usual.is_file() else None


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None


@lru_cache(maxsize=4)
def _read(path: Path, changed: int) -> dict[str, Any]:
    try:
        documents = read_documents(path.read_bytes(), str(path))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except TreeError as error:
        raise _broken(f"{error.position}: {error.message}", error.hint) from None
    if len(documents) != 1 or documents[0].kind != "map":
        raise ConfigError(f"{path}:1: the file must hold one mapping with the keys 'environment' and 'flat'")
    found: dict[str, Any] = dict.fromkeys(KINDS)
    for key, node in documents[0].pairs or ():
        if key.text not in KINDS:
            raise _broken(f"{key.position}: '{key.text}' is unknown here", f"there are {' and '.join(KINDS)}")
        try:
            found[key.text] = None if node.null else _network(node)
        except TreeError as error:
            raise _broken(f"{error.position}: {error.message}", error.hint) from None
    return found


def _broken(message: str, hint: str | None) -> ConfigError:
    error = ConfigError(message)
    error.hint = hint or error.hint
    return error


def _network(node: Node) -> dict[str, Any]:
    for key, header in node.pairs or ():
        if key.text == "?" and header.kind == "map":
            types = [v for k, v in header.pairs or () if k.text == "type"]
            if types and types[0].kind == "scalar" and types[0].text:
                value: dict[str, Any] = plain(node)
                return value
            raise ConfigError(f"{header.position}: the header '?' of a network needs a 'type'")
    raise ConfigError(f"{node.position}: a network must be an object: a mapping with a header '?'")


def _filled(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return value.replace("%ENV%", name)
    if isinstance(value, list):
        return [_filled(item, name) for item in value]
    if isinstance(value, dict):
        made = {_filled(key, name): _filled(item, name) for key, item in value.items()}
        if header_of(made) is not None:
            made["?"] = {**made["?"], "id": new_id()}
        return made
    return value
