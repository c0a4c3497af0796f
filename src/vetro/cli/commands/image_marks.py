"""Marks of images for `vetro image`: of a server's cloud over /v2, or of the workspace's cloud in its file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol
from urllib.parse import quote

from vetro.cli.client.connect import signed_in
from vetro.cli.client.contexts import chosen
from vetro.cli.client.find import by_name
from vetro.cli.rows import print_rows
from vetro.clouds.interface import Owner
from vetro.clouds.stacks.listing import Listing
from vetro.clouds.stacks.settings import StackSettings
from vetro.muranopl.errors import MuranoError
from vetro.server.local.workspace import PROJECT, Workspace

Image = dict[str, Any]


class MarkInvalid(MuranoError):
    """A mark of an image that cannot be: its title is another image's, or it says nothing."""

    kind = "bad-argument"
    code = "CLI155"


class Marks(Protocol):
    """The images of one cloud. Images are ``{id, name, status, marked, title, type}``."""

    #: Whether a server is asked.
    remote: bool

    def images(self) -> Sequence[Image]:
        """All of them, marked ones first."""
        ...  # pragma: no cover - protocol

    def mark(self, image: Image, title: str, kind: str) -> None:
        """Marks one. Raises `MarkInvalid`, `vetro.cli.client.requests.ClientError`."""
        ...  # pragma: no cover - protocol

    def unmark(self, image: Image) -> None:
        """Takes a mark away."""
        ...  # pragma: no cover - protocol


@contextmanager
def marks_of(workspace: str | None, region: str) -> Iterator[Marks]:
    """The images of the context in force. Raises `ContextError`, what opening a workspace raises."""
    context = chosen(workspace)
    if context is not None:
        with signed_in(context) as client:
            yield _Served(client, region)
        return
    marks = _Local(workspace, region)
    try:
        yield marks
    finally:
        marks.close()


def find(marks: Marks, wanted: str) -> Image:
    """The image of this name or id. Raises `vetro.cli.client.find.NotFound`."""
    return by_name(marks.images(), wanted, "image")


def print_images(rows: Sequence[Image], output: str) -> None:
    """The images with their marks."""
    print_rows(rows, ("name", "title", "type", "status"), output, empty="the cloud has no images", wide=("id",))


class _Served:
    """Those of a server's cloud."""

    remote = True

    def __init__(self, client: Any, region: str) -> None:
        self._client = client
        self._region = region or None

    def images(self) -> Sequence[Image]:
        return list(self._client.items("/images", region=self._region))

    def mark(self, image: Image, title: str, kind: str) -> None:
        self._client.put(self._place(image), {"title": title, "type": kind}, region=self._region)

    def unmark(self, image: Image) -> None:
        self._client.delete(self._place(image), region=self._region)

    def _place(self, image: Image) -> str:
        return f"/images/{quote(str(image['id']), safe='')}/mark"


class _Local:
    """Those of the workspace's cloud; its file is opened when it is needed."""

    remote = False

    def __init__(self, workspace: str | None, region: str) -> None:
        self._workspace = workspace
        self._region = region
        self._opened: Any = None

    def images(self) -> Sequence[Image]:
        found = [_shown(record) for record in self._listing().catalog(self._owner(), self._region, "images")]
        return sorted(found, key=lambda image: (not image["marked"], str(image["title"] or image["name"]).lower()))

    def mark(self, image: Image, title: str, kind: str) -> None:
        title, kind = title.strip(), kind.strip()
        if not (title and kind):
            raise MarkInvalid("an image is marked with a title and a type, and one of them is empty")
        for other in self.images():
            if other["title"] == title and other["id"] != image["id"]:
                raise MarkInvalid(f"the image '{other['name']}' has the title '{title}' already")
        self._listing().mark_image(self._owner(), self._region, image["id"], {"title": title, "type": kind})

    def unmark(self, image: Image) -> None:
        self._listing().mark_image(self._owner(), self._region, image["id"], None)

    def close(self) -> None:
        """Lets the file go."""
        if self._opened is not None:
            self._opened.close()

    def _listing(self) -> Any:
        if self._opened is None:
            config = Workspace(self._workspace).config
            self._opened = Listing(config.path("cloud.directory"), StackSettings.from_json(config["cloud.settings"]))
        return self._opened

    @staticmethod
    def _owner() -> Any:
        return Owner(PROJECT, "forms", "forms")


def _shown(record: Mapping[str, Any]) -> Image:
    text = record.get("murano_image_info")
    try:
        mark = json.loads(text) if isinstance(text, str) and text else text or {}
    except (ValueError, RecursionError):
        mark = {"title": text}  # whoever wrote it, it is shown as it is
    if not isinstance(mark, Mapping):
        mark = {"title": str(text)}
    return {
        "id": record["id"],
        "name": record["name"],
        "status": record.get("status", "active"),
        "marked": bool(mark),
        "title": mark.get("title"),
        "type": mark.get("type"),
    }
