"""Files of any size that actions are given and return: part by part, never as a whole in memory."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path
from typing import Any

from vetro.cli import output as out
from vetro.cli.client.requests import Client
from vetro.model.files import stored_object


def upload(client: Client, environment: str, path: str) -> dict[str, Any]:
    """Brings a file to the service; the object that it is. Raises `OSError` where it cannot be read."""
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        if stat.S_ISCHR(os.fstat(file.fileno()).st_mode):  # it might never end, and fill what the project may keep
            raise OSError(errno.EINVAL, "it is a device")
        begun = client.post(f"/environments/{environment}/files")
        while data := file.read(begun["part"]):
            client.put_part(f"/environments/{environment}/files/{begun['file']}", data, offset=size)
            digest.update(data)
            size += len(data)
    return stored_object(os.path.basename(path), begun["file"], size, digest.hexdigest())


def save_stored(client: Client, environment: str, stored: tuple[str, str, str, int], sha256: Any, path: str) -> None:
    """Saves a file that an action returned. Fails the command where it is not what the server had."""
    name, _, file, size = stored
    target = os.path.join(path, name) if os.path.isdir(path) else path
    draft, digest = Path(target).with_name(f".{Path(target).name}.{os.getpid()}"), hashlib.sha256()
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as there:
            if size:
                with client.parts(f"/environments/{environment}/files/{file}") as parts:
                    for data in parts:
                        there.write(data)
                        digest.update(data)
        if size and digest.hexdigest() != sha256:
            out.fail(f"what came is not the file that the server had; nothing is saved in {out.shown(target)}")
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
    out.note(f"the result is saved in {out.shown(target)}, {out.plural(size, 'byte')}")
