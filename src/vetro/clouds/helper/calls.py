"""What the cloud helper may be asked: methods of drivers with the types of their arguments, and how errors come back.

A request is one frame (`vetro.frames`) on a connection of its own: ``{"t": "call", "cloud", "name", "args"}``. The
answer is ``{"t": "done", "result"}`` or ``{"t": "failed", "code", "message", "hint"}``. Before it, the helper may ask
``{"t": "known", "what", "id"}``, whether the cloud has a server or network (`sweep`), and gets ``{"t": "known",
"known"}``; that a command runs it says by ``{"t": "begun"}``, and answers when it has ended. Descriptors go beside a
frame: both sockets of a command with its request, the socket of an agent with the answer.
"""

from __future__ import annotations

import base64
import binascii
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

from vetro.clouds.drivers.specification import parser
from vetro.clouds.drivers.specs import ConfigSpec, GroupSpec, NetworkSpec, ServerSpec, VolumeSpec
from vetro.clouds.drivers.values import Address, Id, Name, QueueName, Text, ValueInvalid, number, short, text
from vetro.clouds.interface import Owner

#: Bytes of a request: the largest server has 16 Mi characters of user data.
LARGEST_REQUEST = 64 << 20
#: Bytes of all words of a command.
_LONGEST_WORDS = 64 << 10


def _data(value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise ValueInvalid(f"{short(value)} is no Base64") from None


def _words(value: Any) -> tuple[str, ...]:
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(word, str) and "\0" not in word for word in value)
    ):
        raise ValueInvalid("a command is a list of words without the character U+0000")
    if sum(len(text(word).encode("utf-8", "surrogateescape")) + 1 for word in value) > _LONGEST_WORDS or not value[0]:
        raise ValueInvalid(f"the words of a command have at most {_LONGEST_WORDS} bytes")
    return tuple(value)


def _terminal(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2:
        raise ValueInvalid(f"{short(value)} is no size of a terminal")
    return number(value[0], 1, 1000, "number of columns"), number(value[1], 1, 1000, "number of rows")


Data = Annotated[bytes, _data]
Lines = Annotated[int, lambda value: number(value, 0, 100_000, "number of lines")]
Mode = Annotated[int, lambda value: number(value, 0, 0o7777, "mode of a file")]
Words = Annotated[Sequence[str], _words]
Terminal = Annotated[tuple[int, int] | None, _terminal]

#: Each request by its name: what it takes. Those of drivers are their methods.
CALLS: Mapping[str, tuple[Any, ...]] = {
    "create": (ServerSpec,),
    "update": (ServerSpec,),
    "start": (Id,),
    "stop": (Id,),
    "delete": (Id,),
    "ensure_network": (NetworkSpec,),
    "delete_network": (Id,),
    "networks": (),
    "taken": (),
    "routed": (Name, Sequence[Address]),
    "ensure_group": (GroupSpec,),
    "delete_group": (Id,),
    "ensure_volume": (VolumeSpec,),
    "delete_volume": (Id,),
    "console": (Id, Lines),
    "journal": (Id, Lines),
    "put_file": (Id, Text, Data, Mode),
    "get_file": (Id, Text),
    "statuses": (Sequence[Id],),
    "server_metrics": (Sequence[Id],),
    "agents_run": (Sequence[Id],),
    "snapshot_methods": (Sequence[Id],),
    "take_snapshot": (Id, Id),
    "revert_to_snapshot": (Id, Id),
    "drop_snapshot": (Id, Id),
    "configure": (Id, ConfigSpec),
    "signals": (Id, Sequence[Id]),
    "quarantined": (),
    "sweep": (),
    "clear": (),
    # Not of drivers: what is missing for servers, images, the socket of an agent, a command that runs on.
    "lacks": (),
    "images": (),
    "image_names": (),
    "begin_build": (Name,),
    "last_build": (),
    "agent_socket": (QueueName, Owner),
    "listen": (QueueName,),
    "run_command": (Id, Words, Terminal, bool),
}
#: Requests that are about no cloud.
WITHOUT_CLOUD = frozenset({"lacks", "images", "image_names", "begin_build", "last_build"})
#: Descriptors that come with a request.
DESCRIPTORS = {"run_command": 2}


@functools.cache
def _parsers(name: str) -> tuple[Callable[[Any], Any], ...]:
    return tuple(parser(hint) for hint in CALLS[name])


def arguments(name: Any, given: Any) -> tuple[Any, ...]:
    """The arguments of a request as what they have to be. Raises `ValueInvalid`."""
    if not isinstance(name, str) or name not in CALLS:
        raise ValueInvalid(f"{short(name)} is nothing that the cloud helper may be asked")
    parsers = _parsers(name)
    if not isinstance(given, list) or len(given) != len(parsers):
        raise ValueInvalid(f"'{name}' takes {len(parsers)} arguments")
    return tuple(parse(value) for parse, value in zip(parsers, given, strict=True))


def plain(value: Any) -> Any:
    """Arguments and results as JSON has them."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if is_dataclass(value):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return str(value)  # addresses, networks, paths
