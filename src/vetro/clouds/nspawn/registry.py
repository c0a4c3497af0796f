"""The clouds that have made something on this machine since it was started: id -> folder.

With it the things of a cloud whose folder somebody deleted are still found and removed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from vetro.clouds.nspawn import border, ip_forwarding, links, namespaces
from vetro.clouds.nspawn.cgroups import Cgroups

#: Gone after a restart of the machine, as what is noted there.
NOTES = Path("/run/vetro/clouds")
#: Where systemd-nspawn keeps a folder for each machine, and leaves it when it is killed.
PROPAGATE = Path("/run/systemd/nspawn/propagate")


def note(cloud: str, folder: Path, notes: Path = NOTES) -> None:
    """This cloud is about to make something."""
    notes.mkdir(parents=True, exist_ok=True, mode=0o755)
    if not (notes / cloud).exists():
        (notes / cloud).write_text(str(folder), "utf-8")


def forget(cloud: str, notes: Path = NOTES) -> None:
    """This cloud has nothing on this machine any more."""
    (notes / cloud).unlink(missing_ok=True)


def orphans(notes: Path = NOTES) -> dict[str, str]:
    """Clouds whose folder is gone: id -> where it was. Those of which this user may not know are left out."""
    found: dict[str, str] = {}
    with suppress(PermissionError):
        for path in sorted(notes.iterdir()) if notes.is_dir() else ():
            with suppress(PermissionError):
                if not Path(folder := path.read_text("utf-8")).is_dir():
                    found[path.name] = folder
    return found


def purge(cloud: str, notes: Path = NOTES) -> Iterator[str]:
    """Removes everything of a cloud that bears its id; a line for each thing. Raises `HostFailed`."""
    group = Cgroups().group(f"vetro-{cloud}")
    if group.exists():
        if group.pids():
            yield f"processes of {len(group.names()) - 1} server(s) of the cloud {cloud}"
        group.kill()
        group.remove()
    for name in sorted({*namespaces.names(cloud), *links.ours(cloud)}):
        yield from namespaces.remove(name)
    if border.present(cloud):
        border.remove(cloud)
        yield f"packet filter of the cloud {cloud}"
    for place in PROPAGATE.glob(f"{cloud}*"):
        shutil.rmtree(place, ignore_errors=True)
    ip_forwarding.switch_off(cloud)
    forget(cloud, notes)
