"""Lets packets of servers out: forwarding is switched on for our bridges and for the interfaces that lead outside only.

What an outside interface was set to before, and which clouds need it, is noted under `NOTES`; when the last cloud goes,
it is set back. The note is written first, so a killed process leaves at most a note too much.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vetro import file_lock
from vetro.clouds.drivers.errors import HostFailed

#: Gone after a restart of the machine, as the settings are.
NOTES = Path("/run/vetro/forwarding")
CONF = Path("/proc/sys/net/ipv4/conf")


@contextmanager
def _locked(notes: Path) -> Iterator[None]:
    notes.mkdir(parents=True, exist_ok=True, mode=0o755)
    with file_lock.exclusive(notes / "lock"):
        yield


def switch_on(cloud: str, interfaces: list[str], *, notes: Path = NOTES, conf: Path = CONF) -> None:
    """Forwards what comes in at these interfaces. Raises `HostFailed` where the machine does not let us."""
    with _locked(notes):
        for name in interfaces:
            setting = conf / name / "forwarding"
            try:
                before = setting.read_text("ascii").strip()
                if before != "1":
                    folder = notes / name
                    folder.mkdir(exist_ok=True)
                    (folder / "before").write_text(before, "ascii")
                if (notes / name).is_dir():
                    (notes / name / f"cloud-{cloud}").touch()
                if before != "1":
                    setting.write_text("1", "ascii")
            except OSError as error:
                raise HostFailed(f"packets cannot be forwarded at {name}: {error.strerror} ({setting})") from None


def switch_off(cloud: str, *, notes: Path = NOTES, conf: Path = CONF) -> list[str]:
    """This cloud needs no forwarding any more; gives the interfaces that were set back."""
    if not notes.is_dir():
        return []
    done: list[str] = []
    with _locked(notes):
        for folder in sorted(path for path in notes.iterdir() if path.is_dir()):
            (folder / f"cloud-{cloud}").unlink(missing_ok=True)
            if any(folder.glob("cloud-*")):
                continue
            before = folder / "before"
            if before.exists():
                try:
                    (conf / folder.name / "forwarding").write_text(before.read_text("ascii"), "ascii")
                    done.append(folder.name)
                except OSError:
                    pass  # the interface is gone
                before.unlink()
            folder.rmdir()
    return done
