"""What a local cloud offers to choose from, and `Listing`, for those who only look: forms in a process that answers
requests. Read only: no driver, no sweep, nothing is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vetro.clouds.interface import Catalog, NotFound, Owner
from vetro.clouds.local.database import Database
from vetro.clouds.local.inventory import Inventory, Kind
from vetro.clouds.local.networking import QueryInvalid
from vetro.clouds.local.seed import seed
from vetro.clouds.local.settings import LocalSettings

_KINDS: Mapping[Catalog, Kind] = {
    "images": "image",
    "flavors": "flavor",
    "keypairs": "keypair",
    "zones": "zone",
    "networks": "network",
    "subnets": "subnet",
    "security_groups": "security_group",
    "volumes": "volume",
    "snapshots": "snapshot",
    "backups": "backup",
}


def check_region(settings: LocalSettings, region: str) -> None:
    """Raises `NotFound` for a region that the cloud does not have."""
    if region and region not in settings.regions:
        known = ", ".join(settings.regions) or "only the home region ''"
        raise NotFound(f"the local cloud has no region '{region}'; there are {known}")


def listed(
    database: Database, settings: LocalSettings, owner: Owner, region: str, what: Catalog
) -> Sequence[Mapping[str, Any]]:
    """See `vetro.clouds.interface.Cloud.catalog`. Private halves of key pairs are left out."""
    check_region(settings, region)
    if what not in _KINDS:
        raise QueryInvalid(f"there is no catalog of '{what}'; there are {', '.join(_KINDS)}")
    found = Inventory(database, region, owner.project).all(_KINDS[what])
    return [{key: value for key, value in item.items() if key != "private_key"} for item in found]


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
        """See `listed`. Raises `QueryInvalid`, `NotFound` for an unknown region."""
        return listed(self._database, self._settings, owner, region, what)

    def close(self) -> None:
        """Lets the file go."""
        self._database.close()
