"""`FileParts`: files between people and servers, part by part in the plans of agents, which never hold a whole one.

A part is read from a file of this machine when its plan is sent, and written to one when its answer comes: neither the
task nor its journal sees it. The files are those of one environment, in a folder of their own (`vetro.server.servers.
files` says who may put and get them); a part that comes twice is written to the same place twice.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from vetro import file_lock
from vetro.data_classes import dataclass
from vetro.engine.host.answer import BadRequest
from vetro.muranopl.runtime.effects import EffectError

#: Bytes of a part at most: its answer has to fit into a message of an agent.
LARGEST_PART: Final = 4 << 20
#: Files that a project has at once: each takes room, however small it is, and all are looked at with each part.
MOST: Final = 1000
#: Beside the folders of environments, in that of their project: whoever adds to a file holds it.
LOCK: Final = "lock"
_ID = re.compile(r"[0-9a-f]{32}")


class FilesFull(EffectError):
    """A file is larger than what the files of the project may have together, or one too many."""

    kind = "limit"
    code = "ENG324"


@dataclass(frozen=True, slots=True)
class FileParts:
    """``folder``: of the environment; None where plans are only written down: parts are then what a script says, or
    nothing. ``most``: bytes of all files in the folder above, which is the project's."""

    folder: Path | None = None
    most: int = 0

    @classmethod
    def from_json(cls, data: Any) -> FileParts:
        """Of the setting ``files`` of a host: ``{"folder": PATH, "most": BYTES}`` or null."""
        return cls() if data is None else cls(Path(data["folder"]), int(data["most"]))

    def check(self, args: Mapping[str, Any]) -> None:
        """Raises `BadRequest` for an effect whose ``part`` is none."""
        part = args.get("part")
        if part is None:
            return
        if not isinstance(part, Mapping) or len({"send", "keep"} & {*part}) != 1:
            raise BadRequest("argument 'part' of effect 'agent.call' must say what to send, or where to keep")
        id, offset, size = part.get("send", part.get("keep")), part.get("offset"), part.get("size")
        if not isinstance(id, str) or not _ID.fullmatch(id):
            raise BadRequest("a file is named by 32 hexadecimal digits")
        for number in (offset, size):
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= 1 << 50:
                raise BadRequest("argument 'part' of effect 'agent.call' must have 'offset' and 'size' as numbers")
        if int(part["size"]) > LARGEST_PART:
            raise BadRequest(f"a part of a file has at most {LARGEST_PART} bytes")

    def plan(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """The plan as it is sent: with the bytes of the part in its parameter ``data``. Raises `BadRequest`."""
        plan: Mapping[str, Any] = args["plan"]
        part = args.get("part")
        if part is None or "send" not in part or self.folder is None:
            return plan
        try:
            with open(self._path(part["send"]), "rb", opener=_no_link) as file:
                data = os.pread(file.fileno(), part["size"], part["offset"])
        except OSError:
            data = b""
        if len(data) != part["size"]:
            raise BadRequest("the file is not here any more, or not as large as it was said to be: send it again")
        return {**plan, "Parameters": {**plan["Parameters"], "data": base64.b64encode(data).decode("ascii")}}

    def keep(self, args: Mapping[str, Any], answer: Any) -> Any:
        """The answer of an agent with the number of bytes in the place of ``data``, which is written to its file.

        A server belongs to whoever runs programs in it: what it sends is the part that was asked for, all of it, or it
        says that it failed. Raises `FilesFull`, `BadRequest` for anything else."""
        part = args.get("part")
        if part is None or "keep" not in part or self.folder is None:
            return answer
        if not isinstance(answer, dict):
            raise BadRequest("what the server sent is no answer")
        if str(answer.get("FormatVersion")).startswith("2.") and answer.get("ErrorCode") not in (0, None):
            return answer
        body = answer.get("Body")
        text = body.get("data") if isinstance(body, dict) else None
        try:
            data = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
        except (binascii.Error, ValueError):
            data = b""
        if not isinstance(body, dict) or len(data) != part["size"]:
            raise BadRequest("what the server sent is not the part of the file that it was asked for")
        self._write(self._path(part["keep"]), part["offset"], data)
        return {**answer, "Body": {**body, "data": len(data)}}

    def _write(self, path: Path, offset: int, data: bytes) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        project = path.parent.parent
        with file_lock.exclusive(project / LOCK):  # others write, too: what all of them have together counts
            used, there = bytes_in(project), path.exists()
            now = path.stat().st_size if there else 0
            if used - now + max(now, offset + len(data)) > self.most:
                path.unlink(missing_ok=True)
                text = f"the files of a project may have {self.most >> 20} MiB together: this one is too large"
                raise FilesFull(text)
            if not there and files_in(project) >= MOST:
                raise FilesFull(f"a project has at most {MOST} files at once")
            if offset > now:
                raise BadRequest("parts of a file come one after the other")
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as file:
                os.pwrite(file.fileno(), data, offset)

    def _path(self, id: str) -> Path:
        assert self.folder is not None  # `check` has seen it
        return self.folder / id


def bytes_in(folder: Path) -> int:
    """Bytes of all files two levels below a folder: of all environments of a project."""
    count = 0
    for path in folder.glob("*/*"):
        try:
            count += path.stat().st_size
        except FileNotFoundError:
            pass  # it has just gone
    return count


def files_in(folder: Path) -> int:
    """How many there are."""
    return sum(1 for _ in folder.glob("*/*"))


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)
