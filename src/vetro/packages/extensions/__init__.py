"""Native classes of installed Python distributions, offered as packages (PACKAGES 6)."""

from __future__ import annotations

from typing import Final

#: Entry points of this group make a distribution an extension.
ENTRY_POINT_GROUP: Final = "io.murano.extensions"
