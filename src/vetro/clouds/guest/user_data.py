"""A server's user data, taken apart on this machine into the steps that ``guest/boot.py`` does in the server.

Understands what clouds' boot programs do and packages use: one shell script, ``#cloud-config``, ``#include`` (left out
with a note), plain or gzipped MIME multiparts of those (AGENT.md 9). Of cloud-config: hostname, users, keys,
passwords, write_files, bootcmd, runcmd; packages and repositories are left out unless ``packages`` is True, since they
need mirrors of other distributions. What cannot be understood becomes a note on the server's console, not an error: as
on a real cloud the server starts all the same.
"""

from __future__ import annotations

import base64
import binascii
import email
import gzip
import zlib
from collections.abc import Iterator, Mapping
from email.message import Message
from typing import Any

from vetro.packages.yamltree import TreeError, plain, read_documents

#: Characters of user data; clouds take less.
LARGEST = 16 << 20
#: Parts and steps of one server.
MOST_STEPS = 2000

Step = dict[str, Any]


def steps_of(user_data: str, *, packages: bool = False) -> list[Step]:
    """What the boot helper has to do, in order; each step is plain JSON with its ``kind``."""
    if len(user_data) > LARGEST:
        return [_note(f"the user data has {len(user_data):,} characters, more than {LARGEST:,}: it is left out")]
    steps: list[Step] = []
    for kind, text in _parts(user_data):
        if kind == "cloud-config":
            steps += _config(text, packages)
        elif kind == "script":
            steps.append({"kind": "script", "text": text})
        else:
            steps.append(_note(f"a part of the user data of type {kind} is left out"))
    if len(steps) > MOST_STEPS:
        return [*steps[:MOST_STEPS], _note(f"the user data has more than {MOST_STEPS} steps: the others are left out")]
    # The name and early commands first, scripts last, as on a cloud; otherwise the order of the text.
    order = {"hostname": 0, "user": 1, "password": 1, "keys": 1, "file": 2, "command": 4, "script": 5, "note": 3}
    return sorted(steps, key=lambda step: -1 if step.get("early") else order[step["kind"]])


def _note(text: str) -> Step:
    return {"kind": "note", "text": text}


def _parts(text: str) -> Iterator[tuple[str, str]]:
    start = text.lstrip()
    if not start:
        return
    head = start[:4096].lower()
    if start.startswith("#!"):
        yield "script", start
    elif start.startswith("#cloud-config"):
        yield "cloud-config", start
    elif "mime-version:" in head or head.startswith(("content-type:", "from nobody")):
        yield from _message(email.message_from_string(start))
    elif start.startswith("H4sI"):
        data = _unpacked(start)
        yield from _parts(data) if data is not None else [("broken gzip", "")]
    elif start.startswith("#"):
        yield start.split()[0].lstrip("#") or "comment", ""
    else:
        yield "unknown text", ""


def _message(message: Message) -> Iterator[tuple[str, str]]:
    for part in message.walk():
        if part.is_multipart():
            continue
        payload = part.get_payload(decode=True)
        data = payload if isinstance(payload, bytes) else b""
        text = data.decode(part.get_content_charset() or "utf-8", "replace") if _known(part) else ""
        kind = part.get_content_type()
        if kind == "text/cloud-config":
            yield "cloud-config", text
        elif kind in ("text/x-shellscript", "text/x-shellscript-per-boot", "text/x-shellscript-per-instance"):
            yield "script", text
        elif kind in ("text/plain", "application/octet-stream") and text.lstrip().startswith("#"):
            # The part's first line says what it is.
            yield from ((found, body) for found, body in _parts(text))
        elif text.strip():
            yield kind, ""


def _known(part: Message) -> bool:
    try:
        "".encode(part.get_content_charset() or "utf-8")
    except LookupError:
        return False
    return True


def _unpacked(text: str) -> str | None:
    try:
        stream = zlib.decompressobj(wbits=31)
        data = stream.decompress(base64.b64decode(text), LARGEST)
    except (binascii.Error, ValueError, zlib.error, gzip.BadGzipFile):
        return None
    return None if stream.unconsumed_tail else data.decode("utf-8", "replace")


def _config(text: str, packages: bool) -> list[Step]:
    try:
        documents = read_documents(text, "cloud-config")
        config = plain(documents[0]) if documents else None
    except (TreeError, ValueError) as error:
        return [_note(f"the cloud-config is no YAML: {error}")]
    if config is None:
        return []
    if not isinstance(config, Mapping):
        return [_note("the cloud-config is no mapping: it is left out")]
    steps: list[Step] = []
    for key, value in config.items():
        reader = _READERS.get(str(key))
        if reader is not None:
            steps += reader(value)
        elif key in ("packages", "package_update", "package_upgrade", "apt_update", "apt_upgrade") and packages:
            steps += _packages(str(key), value)
        elif key in ("yum_repos", "apt", "apt_sources", "packages", "package_update", "package_upgrade", "apt_update"):
            steps.append(_note(f"'{key}' of the cloud-config is left out: install what you need in the script"))
        elif key not in ("preserve_hostname", "disable_root", "ssh_pwauth", "manage_etc_hosts", "locale", "timezone"):
            steps.append(_note(f"'{key}' of the cloud-config is not known here"))
    return steps


def _hostname(value: Any) -> list[Step]:
    name = "".join(c for c in str(value).partition(".")[0] if c.isalnum() or c == "-").strip("-")[:63]
    return [{"kind": "hostname", "hostname": name}] if name else []


def _commands(value: Any, early: bool = False) -> list[Step]:
    steps: list[Step] = []
    for command in value if isinstance(value, (list, tuple)) else ():
        words = [str(word) for word in command] if isinstance(command, (list, tuple)) else str(command)
        # Early commands run at every start, as on a cloud.
        steps.append({"kind": "command", "command": words, **({"early": True, "always": True} if early else {})})
    return steps


def _files(value: Any) -> list[Step]:
    steps: list[Step] = []
    for item in value if isinstance(value, (list, tuple)) else ():
        if not isinstance(item, Mapping) or not str(item.get("path", "")).startswith("/"):
            steps.append(_note("an entry of write_files has no absolute path: it is left out"))
            continue
        try:
            data = _content(item)
            mode = int(str(item.get("permissions", "0644")), 8)
        except (ValueError, zlib.error, EOFError) as error:
            steps.append(_note(f"the file {item['path']} of write_files is left out: {error}"))
            continue
        steps.append(
            {
                "kind": "file",
                "path": str(item["path"]),
                "data": base64.b64encode(data).decode(),
                "mode": mode & 0o7777,
                "owner": str(item.get("owner", "") or ""),
                "append": bool(item.get("append", False)),
            }
        )
    return steps


def _content(item: Mapping[str, Any]) -> bytes:
    text = str(item.get("content", "") or "")
    encoding = str(item.get("encoding", "") or "").lower()
    if encoding in ("b64", "base64"):
        return base64.b64decode(text)
    if encoding in ("gz", "gzip", "gz+b64", "gz+base64", "gzip+b64", "gzip+base64"):
        packed = base64.b64decode(text) if "+" in encoding else text.encode("latin-1")
        stream = zlib.decompressobj(wbits=31)
        data = stream.decompress(packed, LARGEST)
        if stream.unconsumed_tail:
            raise ValueError("it is too large when unpacked")
        return data
    return text.encode()


def _keys(value: Any) -> list[Step]:
    keys = [str(key) for key in value if "\n" not in str(key)] if isinstance(value, (list, tuple)) else []
    return [{"kind": "keys", "keys": keys}] if keys else []


def _users(value: Any) -> list[Step]:
    steps: list[Step] = []
    for item in value if isinstance(value, (list, tuple)) else ():
        if not isinstance(item, Mapping) or not item.get("name"):
            continue  # 'default' is the image's own user; ours has none but root
        groups = item.get("groups") or []
        names = groups.split(",") if isinstance(groups, str) else [str(group) for group in groups]
        sudo = item.get("sudo")
        steps.append(
            {
                "kind": "user",
                "name": str(item["name"]),
                "groups": ",".join(name.strip() for name in names),
                "shell": str(item.get("shell") or ""),
                "sudo": str(sudo[0] if isinstance(sudo, (list, tuple)) and sudo else sudo or ""),
                "keys": [str(key) for key in item.get("ssh_authorized_keys") or item.get("ssh-authorized-keys") or []],
            }
        )
    return steps


def _password(value: Any) -> list[Step]:
    return [{"kind": "password", "lines": f"root:{value}\n"}] if value and "\n" not in str(value) else []


def _chpasswd(value: Any) -> list[Step]:
    lines = value.get("list") if isinstance(value, Mapping) else None
    text = "\n".join(str(line) for line in lines) if isinstance(lines, (list, tuple)) else str(lines or "")
    return [{"kind": "password", "lines": text.strip() + "\n"}] if text.strip() else []


def _packages(key: str, value: Any) -> list[Step]:
    if key != "packages":
        return _commands([["apt-get", "-q", "update"]]) if value else []
    names = [str(name[0] if isinstance(name, (list, tuple)) else name) for name in value or ()]
    return _commands([["apt-get", "-q", "-y", "install", *names]]) if names else []


_READERS = {
    "hostname": _hostname,
    "fqdn": _hostname,
    "runcmd": _commands,
    "bootcmd": lambda value: _commands(value, early=True),
    "write_files": _files,
    "ssh_authorized_keys": _keys,
    "users": _users,
    "password": _password,
    "chpasswd": _chpasswd,
}
