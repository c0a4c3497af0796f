"""`DriverKind`: a kind of clouds for whoever can only make servers. A `StackCloud` around the driver does the rest.

`GuestKind`: such a kind whose servers are guests of this machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from vetro.clouds.interface import Cloud, NotAvailable
from vetro.clouds.kind_protocols import Capabilities, Lack, Place
from vetro.clouds.stacks.settings import StackSettings
from vetro.diagnostics import Text

if TYPE_CHECKING:
    from vetro.clouds.drivers.base import InspectedDriver, ServerDriver
    from vetro.clouds.helper.service import HelpedDriver
    from vetro.clouds.images.building import BuildsImages
    from vetro.clouds.images.store import ImageStore
    from vetro.clouds.stacks.cloud import StackCloud
    from vetro.clouds.stacks.listing import Listing
    from vetro.clouds.stacks.machine_images import Images
    from vetro.clouds.stacks.state.database import Elsewhere

#: What `GuestKind.missing` says where servers could run, had they an image, and what to do then.
NO_IMAGE: Final = Text("there is no image yet")
BUILD_IMAGE: Final = Text("'vetro image build debian-12' makes servers real")

SettingsT = TypeVar("SettingsT", bound=StackSettings)


class DriverKind(ABC, Generic[SettingsT]):
    """Implements `vetro.clouds.kind_protocols.CloudKind`; subclasses say what sets their servers apart.

    ``settings`` is a subclass of `StackSettings` with the fields that the driver needs besides.
    """

    name: str
    title: str
    settings: type[SettingsT]
    rank: int | None = None
    bound: bool = True
    modules: Sequence[str] = ()
    #: Its driver has to be root's; services that are not have a cloud helper (`vetro.clouds.helper`).
    needs_rights: bool = False

    @abstractmethod
    def driver(self, settings: SettingsT, place: Place) -> ServerDriver:
        """The driver of a cloud, which closes it at its end. Raises `CloudError`."""

    @abstractmethod
    def capabilities(self, settings: SettingsT) -> Capabilities:
        """See `CloudKind.capabilities`."""

    def lacks(self, settings: SettingsT, place: Place) -> Lack | None:
        """See `CloudKind.lacks`."""
        return None

    def open(self, settings: SettingsT, place: Place) -> Cloud:
        """See `CloudKind.open`. Raises `StateUnusable`, too."""
        return self.opened(settings, place)

    def opened(
        self,
        settings: SettingsT,
        place: Place,
        able: Capabilities | None = None,
        plays: str = "",
        elsewhere: Elsewhere | None = None,
    ) -> StackCloud:
        """The same as `open`, as what it is. It may play a cloud of another kind: what that can do, its name, and what
        it has where it is no cloud around a driver."""
        from vetro.clouds.stacks.cloud import StackCloud  # many modules, for who opens one only

        driver = self.driver(settings, place)
        try:
            able = able or self.capabilities(settings)
            return StackCloud(
                place.directory if place.memory is None else None,
                driver,
                settings,
                quotas=place.quotas,
                capabilities=able,
                kind=plays,
                sweeps=place.sweeps,
                elsewhere=elsewhere,
                content=place.memory or b"",
            )
        except BaseException:
            driver.close()
            raise

    def listing(self, settings: SettingsT, place: Place) -> Listing:
        """What the cloud offers to choose from, for processes that answer requests: nothing is started for it."""
        from vetro.clouds.stacks.listing import Listing  # as above

        executes = self.capabilities(settings).executes
        return Listing(place.directory, settings, executes=executes, images=self.images(place))

    def images(self, place: Place) -> Images | None:
        """Gives the records of the images that servers start from, where these are not the user's own."""
        return None

    def privileged(self, settings: SettingsT, place: Place) -> HelpedDriver:
        """The driver that a cloud helper has, where the kind `needs_rights`. Raises `CloudError`."""
        raise NotAvailable(Text("clouds of kind '{name}' need no helper", name=self.name))

    def shared_settings(self, settings: SettingsT) -> dict[str, Any]:
        """The part of settings that clouds of all such kinds have."""
        return {item.name: getattr(settings, item.name) for item in fields(StackSettings)}

    # -- what is on this machine, for `vetro cloud` --------------------------------------------------------------------

    def kept(self, directory: Path) -> InspectedDriver | None:
        """The driver for what clouds of this kind have made in a folder; None when there is nothing, or this user
        cannot see it. The caller closes it."""
        return None

    def lacks_rights(self, directory: Path) -> Lack | None:
        """Why this user may not remove what is in a folder; None when it may."""
        return None

    def orphans(self) -> Mapping[str, str]:
        """Clouds whose folder is gone while things of theirs are still on this machine: id -> where it was."""
        return {}

    def purge(self, cloud: str) -> Iterator[str]:
        """Removes what is left of a cloud without a folder, by its id; a line for each thing."""
        yield from ()


class GuestKind(DriverKind[SettingsT]):
    """A kind whose servers are guests of this machine, made from images that it has."""

    @abstractmethod
    def missing(self, images: ImageStore | None = None) -> str | None:
        """What this machine lacks for such servers; None when it has it all. Without ``images`` those do not count."""

    def lacks(self, settings: SettingsT, place: Place) -> Lack | None:
        """See `CloudKind.lacks`: what is `missing`, and room for servers."""
        from vetro.clouds.drivers.programs import room_missing

        found = self.missing(_images(place)) or room_missing(place.directory)
        return None if found is None else Lack(found, BUILD_IMAGE if found == NO_IMAGE else None)

    def image_names(self, place: Place) -> frozenset[str]:
        """What the images are called that its servers start from: little work. Raises `HelperAway`."""
        return _images(place).names()

    def builds(self, place: Place) -> BuildsImages:
        """Whoever builds the images that its servers start from."""
        from vetro.clouds.images.building import Builds  # many modules, for who builds one only

        return Builds(place.images)


def _images(place: Place) -> ImageStore:
    from vetro.clouds.images.store import ImageStore  # as above

    return place.images or ImageStore()
