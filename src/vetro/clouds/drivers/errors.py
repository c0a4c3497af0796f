"""What can go wrong between Vetro and the machine that carries its servers."""

from __future__ import annotations

from collections.abc import Sequence

from vetro.clouds.errors import CloudError


class DriverError(CloudError):
    """A driver could not do what it was asked; the message says what failed on this machine and how to mend it."""

    code = "CLD120"


class HostFailed(DriverError):
    """A program or setting of this machine refused what a local server needs; nothing of the server is left running."""

    code = "CLD200"


class HostCommandFailed(HostFailed):
    """A program ended with an error; ``argv``, ``status`` and ``stderr`` say more."""

    code = "CLD201"

    def __init__(self, argv: Sequence[str], status: int, stderr: str) -> None:
        self.argv = list(argv)
        self.status = status
        self.stderr = stderr.strip()
        last = self.stderr.splitlines()[-1] if self.stderr else "it said nothing"
        super().__init__(f"'{' '.join(self.argv[:6])}' ended with status {status}: {last}")


class ServerBootFailed(HostFailed):
    """A server did not come up, or died while it was to be used; its console says more."""

    code = "CLD202"


class AddressTaken(HostFailed):
    """A network's addresses are in use on this machine already."""

    code = "CLD203"


class GuestCommandFailed(HostFailed):
    """A command inside a server could not be finished: the server stopped, or time or space ran out."""

    code = "CLD204"


class ImageBuildFailed(DriverError):
    """An image could not be made; what existed before is untouched."""

    code = "CLD210"


class ImageMissing(DriverError):
    """There is no such image on this machine."""

    code = "CLD211"


class ImageDamaged(DriverError):
    """An image is not what was stored: its checksum differs, or its files are no system that can boot."""

    code = "CLD212"


class ImageBusy(DriverError):
    """Another process builds the image, or servers still use it."""

    code = "CLD213"


class HelperAway(DriverError):
    """The cloud helper does not answer, or does not serve who asks."""

    code = "CLD220"


class HelperRefused(DriverError):
    """The cloud helper does not do this for any service."""

    code = "CLD221"


class HelperUnusable(DriverError):
    """The cloud helper cannot begin here."""

    code = "CLD222"
