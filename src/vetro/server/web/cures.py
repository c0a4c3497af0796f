"""`cure_of`: what most likely helps after a task failed, as the first button of its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.utils.translation import gettext as _

from vetro.data_classes import dataclass
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller


@dataclass(frozen=True, slots=True)
class Cure:
    """A way out: where it leads, and in words."""

    text: str
    url: str
    icon: str


#: Codes of errors (docs/errors.md) after which doing the same again ends the same.
_QUOTA: Final = frozenset({"CLD140", "SRV550", "SRV551"})
_IMAGE: Final = frozenset({"CLD211", "CLD212"})
_SILENT: Final = frozenset({"LIB212", "CLD202"})
_PACKAGES: Final = frozenset({"SRV438", "SRV521", "ENG351"})
_VALUES: Final = frozenset(
    {"LIB202", "LIB203", "LIB210", "CLD101", "CLD102", "CLD103", "CLD125", "CLD129", "CLD130", "CLD136", "CLD203"}
)
#: Kinds of errors that speak of values which somebody gave.
_KINDS: Final = frozenset({"contract-violation", "bad-argument"})


def cure_of(
    caller: Caller, environment: str, error: Mapping[str, Any], component: tuple[str, str] | None
) -> Cure | None:
    """What most likely helps; None: doing it again. ``component``: id and name of the application that failed, where
    the environment still has it. What the caller may not do is not offered."""
    code, kind = str(error.get("code") or ""), str(error.get("kind") or "")
    place = f"/app/environments/{environment}"
    if code in _QUOTA:
        return Cure(_("See the quotas"), "/app/people/quotas", "sliders")
    if code in _IMAGE and allows(caller, "build_images"):
        return Cure(_("Build the image"), "/app/packages/images/build", "play-fill")
    if code in _SILENT and allows(caller, "read_server_logs"):
        return Cure(_("See what the servers say"), f"{place}/servers", "server")
    if code in _PACKAGES and allows(caller, "upload_package"):
        return Cure(_("Import packages"), "/app/packages/import", "upload")
    if (code in _VALUES or kind in _KINDS) and component and allows(caller, "update_environment"):
        return Cure(_("Change %s") % component[1], f"{place}/edit/{component[0]}", "pencil")
    return None
