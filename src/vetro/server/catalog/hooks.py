"""What the catalog tells apps above it, and asks them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from vetro.server.catalog.models import RetiredVersion
from vetro.server.hooks import Hook

#: Something changed that watchers of a project hear of: (project, kind of the event, its data); in the transaction of
#: the change.
changed: Final[Hook[[str, str, dict[str, Any]], None]] = Hook()
#: The digests of archives that an app needs, besides those of packages.
used_digests: Final[Hook[[], Iterable[str]]] = Hook()
#: Whether an app uses a version that was deleted: of any project if it was public.
uses: Final[Hook[[RetiredVersion], bool]] = Hook()
