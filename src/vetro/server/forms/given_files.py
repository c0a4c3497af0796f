"""Files of any size as arguments of actions: a form names them, and they have to be there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.diagnostics import Text
from vetro.model.files import stored_in
from vetro.server.config.file_folders import folder_of
from vetro.server.forms.target import FormTarget
from vetro.server.setup import config


def lacks(place: FormTarget, given: Mapping[str, Any]) -> Text | None:
    """What is wrong with a file: it has to lie whole in the folder of the environment; None where nothing is."""
    if place.environment_id is None:
        return Text("Files are given to actions of applications in an environment, and this is none.")
    named = stored_in(given)
    if named is None:
        return Text("This is no file that was given here. Give it again.")
    _name, _type, file, size = named
    try:
        there = (folder_of(config(), place.project_id, place.environment_id) / file).lstat().st_size
    except FileNotFoundError:
        return Text("The file is not here any more, or never was. Give it again.")
    if there != size:
        return Text("Of this file {there} bytes are here, not {size}. Give it again.", there=there, size=size)
    return None
