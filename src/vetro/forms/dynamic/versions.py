"""Format versions of UI definitions (DYNAMIC_UI 1): family 2, up to 2.4.0."""

from __future__ import annotations

import re
from typing import Any

from vetro.diagnostics import Text
from vetro.forms.dynamic.errors import UnsupportedVersion

Version = tuple[int, int, int]

LATEST: Version = (2, 4, 0)
#: From here on the wizard asks for the name of the application and writes it into the model.
APPLICATION_NAME: Version = (2, 2, 0)

_PARTS = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?", re.ASCII)


def read_version(value: Any, position: Any = None) -> Version:
    """``MAJOR[.MINOR[.PATCH]]``, as text or number, as three numbers. Raises `UnsupportedVersion`."""
    text = "" if isinstance(value, bool) or value is None else str(value).strip()
    match = _PARTS.fullmatch(text)
    if match is None:
        raise UnsupportedVersion(
            Text("Version must be a number such as 2.4, not {value}", value=repr(value)[:160]),
            position=position,
            hint=Text("leave Version out for the newest format, or write 2.0 to 2.4"),
        )
    found: Version = tuple(int(part or 0) for part in match.groups())  # type: ignore[assignment]
    shown = ".".join(map(str, found))
    if found[0] != LATEST[0]:
        hint = Text("supported are 2.0 to 2.4")
        if found[0] == 1:
            hint = Text("supported are 2.0 to 2.4; definitions of the 1.x family have to be rewritten by hand")
        raise UnsupportedVersion(
            Text(
                "Unsupported Dynamic UI format version: requested format version {shown} is not "
                "compatible with the supported family {latest}",
                shown=shown,
                latest=LATEST[0],
            ),
            position=position,
            hint=hint,
        )
    if found > LATEST:
        raise UnsupportedVersion(
            Text(
                "Unsupported Dynamic UI format version: requested format version {shown} is "
                "newer than latest supported {map}",
                shown=shown,
                map=".".join(map(str, LATEST)),
            ),
            position=position,
            hint=Text("supported are 2.0 to 2.4"),
        )
    return found
