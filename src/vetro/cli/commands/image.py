"""`vetro image`: make, list, import and remove the images that local servers start from, and mark images for forms."""

from __future__ import annotations

import click

from vetro.cli.groups import Commands, Table

TABLE: Table = {
    "build": (
        "image_files:build",
        "Build an image from the package sources of this machine; prints its name and checksum.",
    ),
    "list": ("image_files:list_images", "List the images of this machine, or of a cloud with what forms call them."),
    "import": (
        "image_files:import_image",
        "Take a tar archive of a root file system as an image; it needs systemd and Python 3.",
    ),
    "remove": ("image_files:remove", "Remove an image."),
    "mark": ("image_files:mark", "Make forms offer IMAGE (its name or id in the cloud), under a title and as a type."),
    "unmark": ("image_files:unmark", "Make forms offer IMAGE (its name or id in the cloud) no more."),
}


@click.group("image", cls=Commands, table=TABLE)
def command() -> None:
    """Make and keep the images that servers on this machine start from; mark images of a cloud for forms.

    They are kept in /var/lib/vetro/images (root) or ~/.local/share/vetro/images; VETRO_IMAGES names another folder.
    Marks are those of a cloud: of the server of the context in force, else of the workspace.

    \b
    Examples:
      vetro image build debian-12
      vetro image list
      vetro image import ./rootfs.tar.gz --name my-debian
      vetro image list --cloud
      vetro image mark debian-12-murano --title "Debian 12" --type linux
    """
