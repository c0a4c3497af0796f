"""`Listing`: what a local cloud offers to choose from, read only: no driver, no sweep, nothing is started.

For those who only look: forms in a process that answers requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vetro.clouds.interface import Catalog, Owner
from vetro.clouds.local.cloud import listed
from vetro.clouds.local.database import Database
from vetro.clouds.local.seed import seed
from vetro.clouds.local.settings import LocalSettings


class Listing:
    """The lists of the cloud in ``directory``, which is made with what a new cloud holds when it is not there yet.

    May be used from several threads. Raises `StateUnusable`.
    """

    def __init__(self, directory: Path | str, settings: LocalSettings | None = None) -> None:
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        self._settings = settings or LocalSettings()
        self._database = Database(folder / "cloud.db")
        try:
            seed(self._database, self._settings, folder)
        except BaseException:
            self._database.close()
            raise

    def catalog(self, owner: Owner, region: str, what: Catalog) -> Sequence[Mapping[str, Any]]:
        """See `vetro.clouds.interface.Cloud.catalog`. Raises `QueryInvalid`, `NotFound` for an unknown region."""
        return listed(self._database, self._settings, owner, region, what)

    def close(self) -> None:
        """Lets the file go."""
        self._database.close()
