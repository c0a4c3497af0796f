"""`vetro image`: the images that local servers start from, and marks of images for forms."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from vetro.cli import output as out
from vetro.cli.client.contexts import context_option
from vetro.cli.commands import image_marks
from vetro.cli.task_run import workspace_option
from vetro.clouds.images.build import build as build_image
from vetro.clouds.images.build import import_archive
from vetro.clouds.images.store import Image, ImageStore

region_option = click.option("--region", default="", help="Region of the cloud.  [default: the home region]")


@click.command("build")
@click.argument("name", default="debian-12")
@click.option("--again", is_flag=True, help="Build it even when the same recipe was built before.")
@click.option(
    "--with",
    "ready",
    multiple=True,
    metavar="PACKAGE",
    help="Have a Debian package lie ready in it, with what it depends on. Repeatable; also several with commas.",
)
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def build(name: str, again: bool, ready: tuple[str, ...], quiet: bool) -> None:
    """Build an image from the package sources of this machine; prints its name and checksum.

    Takes about half a minute, once: what the same recipe made before is taken again. A build that is interrupted
    leaves nothing behind. Packages of --with are not installed; servers that install them need no mirror for it.

    \b
    Examples:
      vetro image build debian-12
      vetro image build debian-12 --with redis-server,nginx
    """
    with out.explained():
        image = built(name, again=again, ready=[one for word in ready for one in word.split(",")], quiet=quiet)
    out.echo(f"{image.name}  sha256:{image.checksum}")


def built(name: str, *, again: bool = False, ready: Sequence[str] = (), quiet: bool = False) -> Image:
    """An image of this machine, made unless it is there; steps are told unless ``quiet``."""
    with _progress(quiet) as progress:
        return build_image(ImageStore(), name, again=again, ready=ready, progress=progress)


@click.command("list")
@click.option("--check", is_flag=True, help="Compute the checksums and compare them.")
@click.option("--cloud", is_flag=True, help="List the images of the workspace's cloud with their marks.")
@region_option
@workspace_option
@context_option
@out.output_option("table", "json", "yaml")
def list_images(check: bool, cloud: bool, region: str, workspace: str | None, output: str) -> None:
    """List the images of this machine, or of a cloud with what forms call them.

    With the context of a server it is the images of its cloud.
    """
    with out.explained(), image_marks.marks_of(workspace, region) as marks:
        if cloud or (marks.remote and not check):
            image_marks.print_images(marks.images(), output)
            return
    store = ImageStore()
    images = store.list()
    with out.explained():
        for image in images if check else ():
            store.verify(image)
    records = [image.record() for image in images]
    if output != "table":
        out.print_data(records, output)
        return
    if not records:
        out.note(f"There are no images in {store.folder}. Next: vetro image build debian-12")
        return
    out.print_table(("NAME", "SERVES", "SIZE", "BUILT", "ORIGIN", "CHECKSUM"), [_row(record) for record in records])


@click.command("import")
@click.argument("archive", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Name of the image; debian-12 takes the place of the built one.")
@click.option("--title", help="What forms call it.  [default: the name]")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def import_image(archive: Path, name: str, title: str | None, quiet: bool) -> None:
    """Take a tar archive of a root file system as an image; it needs systemd and Python 3."""
    with out.explained(), _progress(quiet) as progress:
        image = import_archive(ImageStore(), archive, name, title=title, progress=progress)
    out.echo(f"{image.name}  sha256:{image.checksum}")


@click.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Remove an image. Refused while servers use it."""
    with out.explained():
        ImageStore().remove(name)
    out.note(f"{name} is removed")


@click.command("mark")
@click.argument("image")
@click.option("--title", required=True, help="What forms call it; every image has its own.")
@click.option("--type", "kind", required=True, help="What packages ask for: linux, linux.docker, windows.2012…")
@region_option
@workspace_option
@context_option
def mark(image: str, title: str, kind: str, region: str, workspace: str | None) -> None:
    """Make forms offer IMAGE (its name or id in the cloud), under a title and as a type."""
    with out.explained(), image_marks.marks_of(workspace, region) as marks:
        found = image_marks.find(marks, image)
        marks.mark(found, title, kind)
    out.note(f"forms offer {found['name']} as '{title}' ({kind})")


@click.command("unmark")
@click.argument("image")
@region_option
@workspace_option
@context_option
def unmark(image: str, region: str, workspace: str | None) -> None:
    """Make forms offer IMAGE (its name or id in the cloud) no more."""
    with out.explained(), image_marks.marks_of(workspace, region) as marks:
        found = image_marks.find(marks, image)
        marks.unmark(found)
    out.note(f"forms do not offer {found['name']} any more")


def _row(record: dict[str, Any]) -> tuple[str, ...]:
    built = time.strftime("%Y-%m-%d %H:%M", time.localtime(record["built"]))
    size = f"{record['bytes'] >> 20} MiB"
    return (record["name"], ", ".join(record["serves"]), size, built, record["origin"], record["sha256"][:16])


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Tells steps with the time they began at: as lines, and on a terminal as one line that changes."""
    began = time.monotonic()
    if quiet:
        yield lambda text: None
        return
    if not (sys.stderr.isatty() and out.colored(sys.stderr)):
        yield lambda text: out.note(f"{time.monotonic() - began:6.1f}s  {text}")
        return
    with Console(stderr=True, highlight=False).status("starting …") as status:
        yield lambda text: status.update(escape(f"{time.monotonic() - began:.0f}s  {text} …"))
