"""What drivers do inside a server with nothing but a command that runs there: files, configurations, signals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from vetro.clouds.drivers.base import ConfigResult, Signal
from vetro.clouds.drivers.errors import DriverError, GuestCommandFailed
from vetro.clouds.drivers.specs import ConfigSpec
from vetro.clouds.guest.console_text import LARGEST_LOG, plain_lines
from vetro.clouds.guest.exec import LARGEST_OUTPUT, Output
from vetro.clouds.guest.first_files import SEED


class Execute(Protocol):
    """Runs a command as root of the guest."""

    def __call__(self, command: Sequence[str], *, input: bytes = b"", timeout: float = 60) -> Output:
        """How it ended. Raises `GuestCommandFailed`."""
        ...  # pragma: no cover - protocol


#: Prints the end of what services said: the journal of systemd, or the files of `vetro.clouds.proot.systemctl`.
_JOURNAL = (
    "if [ -d /run/systemd/system ]; then"
    ' journalctl --quiet --all --no-pager --no-hostname --output=short-iso --lines="$1";'
    " elif cd /var/log/vetro-services 2>/dev/null; then"
    ' for file in *.log; do if [ -f "$file" ]; then tail -v -n "$1" -- "$file"; fi; done;'
    ' fi 2>&1 | tail -c "$2"'
)
_PUT = (
    'set -e; umask 077; mkdir -p -m 755 "$(dirname "$1")"; '
    'cat > "$1.vetro-new"; chmod "$2" "$1.vetro-new"; mv -f "$1.vetro-new" "$1"'
)


def put_file(execute: Execute, path: str, data: bytes, mode: int) -> None:
    """Writes a file as a whole. Raises `DriverError`, for a full disk, too."""
    _check(path)
    done = execute(["sh", "-c", _PUT, "sh", path, f"{mode & 0o7777:o}"], input=data)
    if done.code != 0:
        execute(["rm", "-f", f"{path}.vetro-new"])
        raise GuestCommandFailed(f"the file {path} cannot be written in the server: {_said(done)}")


def get_file(execute: Execute, path: str) -> bytes:
    """A file's content. Raises `DriverError` when there is none, or it is larger than 8 MiB."""
    _check(path)
    done = execute(["sh", "-c", 'test -f "$1" || { echo "it is no file" >&2; exit 1; }; cat -- "$1"', "sh", path])
    if done.code != 0:
        raise GuestCommandFailed(f"the file {path} cannot be read in the server: {_said(done)}")
    if done.cut:
        raise GuestCommandFailed(f"the file {path} of the server is larger than {LARGEST_OUTPUT >> 20} MiB")
    return done.stdout


def configure(execute: Execute, config: ConfigSpec) -> ConfigResult:
    """Applies a software configuration. Raises `DriverError` when the image has nothing for its group."""
    request = {
        "id": config.id,
        "group": config.group,
        "config": config.config,
        "inputs": dict(config.inputs),
        "timeout": config.timeout,
    }
    done = execute(
        ["python3", "-I", f"{SEED}/configure.py"], input=json.dumps(request).encode(), timeout=config.timeout + 30
    )
    try:
        result: Any = json.loads(done.stdout)
        if "refused" in result:
            raise DriverError(f"the configuration '{config.name}' cannot be applied: {result['refused']}")
        return ConfigResult(str(result["stdout"]), str(result["stderr"]), int(result["code"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise GuestCommandFailed(f"the configuration '{config.name}' could not be run: {_said(done)}") from None


def signals(execute: Execute, handle: str) -> list[Signal]:
    """Signals that a server sent to a wait handle, oldest first; what cannot be read is left out."""
    done = execute(["python3", "-I", f"{SEED}/vetro-signal", "--list", handle])
    found: list[Signal] = []
    for line in done.stdout.decode("utf-8", "replace").splitlines() if done.code == 0 else ():
        try:
            item = json.loads(line)
            found.append(Signal(str(item["status"]), str(item["id"]), item["data"], str(item["reason"])))
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return found


def journal(execute: Execute, lines: int) -> str:
    """The last lines that services of a server said. Raises `DriverError` where it does not run."""
    words = ["sh", "-c", _JOURNAL, "sh", str(max(1, lines)), str(LARGEST_LOG)]
    return plain_lines(execute(words, timeout=20).stdout, lines)


def _check(path: str) -> None:
    if not path.startswith("/") or "\0" in path:
        raise DriverError(f"'{path}' is no absolute path of a file in a server")


def _said(done: Output) -> str:
    return done.stderr.decode("utf-8", "replace").strip()[-500:] or f"status {done.code}"
