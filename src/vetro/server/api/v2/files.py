"""Files that actions of an environment are given, and that they return: of any size, part by part."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponseBase
from ninja import Field, Query, Schema

from vetro.server.api.answers import files as answers
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, created, nothing
from vetro.server.requests.streams import file_stream

routes = Routes("files")


class FileBegun(Schema):
    """A file that is kept for an environment."""

    file: str = Field(description="What it is called: `file` of `io.vetro.std.StoredFile`.")
    size: int = Field(description="Bytes that have come: where the next part begins.")
    part: int = Field(description="Bytes of a part at most.")


_BYTES = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}


@routes.add("POST", "/environments/{environment_id}/files", "beginFile", "execute_action", FileBegun, status=201)
def begin_file(request: HttpRequest, environment_id: str) -> Answer:
    """Begins a file for an action of an environment; its parts are put one after the other.

    The argument of the action is then an object of `io.vetro.std.StoredFile`: `{"?": {"type": …}, "file", "filename",
    "size", "sha256"}`. Files go by themselves after a day (by a setting).
    """
    return created(answers.begin_file(who(request), environment_id))


@routes.add(
    "PUT",
    "/environments/{environment_id}/files/{file}",
    "putFilePart",
    "execute_action",
    FileBegun,
    takes="bytes",
    extra={"requestBody": {"required": True, **_BYTES}},
)
def put_part(
    request: HttpRequest,
    environment_id: str,
    file: str,
    offset: Annotated[int, Query(ge=0, le=1 << 50, description="Where the part begins: the size of the file.")],
) -> Any:
    """Adds a part to a file. 409: it does not begin where the file ends; one that came already may come again."""
    size = int(request.META.get("CONTENT_LENGTH") or 0)
    return answers.put_part(who(request), environment_id, file, offset=offset, source=request, size=size)


@routes.add(
    "GET",
    "/environments/{environment_id}/files/{file}",
    "getFile",
    "execute_action",
    extra={"responses": {200: _BYTES}},
)
def get_file(request: HttpRequest, environment_id: str, file: str) -> HttpResponseBase:
    """A file that an action returned: the result has its name in `file`."""
    content = answers.open_file(who(request), environment_id, file)
    answer = file_stream(content, who(request).project_id, "application/octet-stream")
    answer["Content-Disposition"] = f'attachment; filename="{file}.bin"'
    return answer


@routes.add("DELETE", "/environments/{environment_id}/files", "removeFiles", "execute_action", status=204)
def remove_files(request: HttpRequest, environment_id: str) -> Answer:
    """Removes all files that are kept for an environment."""
    answers.remove_files(who(request), environment_id)
    return nothing()
