"""Whether this machine has a cloud helper, for whoever chooses among kinds of clouds: little is loaded for it."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

from vetro.clouds.drivers.errors import HelperAway
from vetro.clouds.kind_protocols import Lack
from vetro.diagnostics import TEXTS, Text, decode_messages
from vetro.frames import Decoder, FrameError, encode

#: Seconds that a helper has to answer, and to find out what it lacks: programs are started for that.
_GLANCE, _LOOK = 5.0, 20.0


def address() -> Path:
    """Where the helper of this machine listens: VETRO_CLOUD_HELPER, or its usual place."""
    return Path(os.environ.get("VETRO_CLOUD_HELPER") or "/run/vetro-cloud-helper/socket")


def note_of(folder: Path) -> Path:
    """The file with the name by which the helper knows the cloud of this folder; only clouds that use one have it."""
    return folder / "helper.json"


def lacks() -> Lack | None:
    """Why the helper of this machine cannot make servers, and what to do; None when it can. Raises `HelperAway`."""
    found = _asked("lacks", _LOOK)
    if found is None:
        return None
    reason, hint, *texts = found
    told = decode_messages({"reason": str(reason), "hint": hint, **({TEXTS: texts[0]} if texts else {})})
    return Lack(told["reason"], told["hint"])


def image_names() -> frozenset[str]:
    """What the images are called that the helper of this machine has; none where there is no helper. Raises
    `HelperAway`."""
    if not address().exists():
        return frozenset()
    return frozenset(map(str, _asked("image_names")))


def _asked(name: str, seconds: float = _GLANCE) -> Any:
    """The answer to a question that is about no cloud and takes no arguments."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(seconds)
            connection.connect(str(address()))
            connection.sendall(encode({"t": "call", "name": name, "args": []}))
            decoder = Decoder()
            while data := connection.recv(1 << 16):
                for message in decoder.feed(data):
                    if message["t"] == "failed":
                        raise HelperAway(message["message"])
                    return message["result"]
        raise HelperAway(Text("the cloud helper does not answer: it ended"))
    except PermissionError:
        raise HelperAway(Text("the cloud helper of this machine serves another user")) from None
    except (OSError, FrameError) as error:
        raise HelperAway(Text("the cloud helper does not answer: {error}", error=error)) from None
