"""Images of the cloud and their marks for forms."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Field, Schema

from vetro.server.api.paging import page
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, accepted, nothing
from vetro.server.api.v2.shapes import Given, Page
from vetro.server.environments import image_builds
from vetro.server.forms import images

routes = Routes("images")


class ImageShown(Schema):
    """An image of the cloud."""

    id: str
    name: str
    status: str = Field(description="`active`, or why no server can be made of it.")
    marked: bool = Field(description="Whether forms offer it.")
    title: str | None = Field(description="What forms call it; null without a mark.")
    type: str | None = Field(description="What packages ask for: `linux`, `windows.2012`…")
    broken: bool = Field(description="There is a mark that cannot be read.")


class ImageListed(ImageShown):
    """An image among those that there are."""

    usual: bool = Field(
        description="Servers start from it unless somebody says otherwise; of no image where it is open."
    )


class ImageBuild(Schema):
    """A build of an image."""

    name: str
    state: Literal["running", "done", "failed"]
    begun: float = Field(description="Seconds since the epoch, as `ended`.")
    ended: float | None
    step: str = Field(description="What it does now, or did last.")
    log: list[str] = Field(description="The end of what its programs say.")
    error: str
    hint: str | None


class BuildOffer(Schema):
    """Whether an image can be built for servers of this installation."""

    wanted: bool = Field(description="An image is all that is missing for servers that run.")
    kind: str = Field(description="The kind that servers would be of; empty where they are made elsewhere.")
    lacks: str = Field(description="What is missing.")
    hint: str | None
    build: ImageBuild | None = Field(description="The build that runs, or ran last.")


class ImageMark(Given):
    """What forms call an image, and what it is."""

    title: str = Field(min_length=1, max_length=images.LONGEST, examples=["Debian 12"])
    type: str = Field(min_length=1, max_length=images.LONGEST, examples=["linux"])


@routes.add("GET", "/images", "listImages", "list_images", Page[ImageListed])
def list_images(request: HttpRequest, region: str | None = None) -> Any:
    """The images of the cloud, marked ones first."""
    rows = images.listed(who(request), region)
    usual = images.usual(rows)
    return page([{**image.as_json(), "usual": image is usual} for image in rows], len(rows))


@routes.add("GET", "/images/build", "showImageBuild", "build_images", BuildOffer)
def show_build(request: HttpRequest) -> Any:
    """Whether an image can be built that servers start from, and how the last build goes."""
    who(request)
    return image_builds.offer().as_json()


@routes.add("POST", "/images/build", "buildImage", "build_images", BuildOffer, status=202)
def build_image(request: HttpRequest) -> Answer:
    """Begins to build the image that servers start from, where that is what is missing for real ones.

    One is built at a time; it goes on whoever looks.
    """
    return accepted(image_builds.begin(who(request)).as_json())


@routes.add("PUT", "/images/{image_id}/mark", "markImage", "mark_images", ImageShown)
def mark_image(request: HttpRequest, image_id: str, given: ImageMark, region: str | None = None) -> Any:
    """Makes forms offer an image, under a title and as a type."""
    return images.mark(who(request), image_id, given.title, given.type, region).as_json()


@routes.add("DELETE", "/images/{image_id}/mark", "unmarkImage", "mark_images", status=204)
def unmark_image(request: HttpRequest, image_id: str, region: str | None = None) -> Answer:
    """Makes forms offer an image no more."""
    images.unmark(who(request), image_id, region)
    return nothing()
