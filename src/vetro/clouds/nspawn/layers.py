"""Makes one layer of an overlay of two: ``layers.py BELOW ABOVE...`` merges each into the first, in this order.

A program of its own (`python -I -S`) that uses the standard library only, as the supervisor, which starts it while
nothing is mounted. What both together show is the same after each step, so one that was broken off is begun again.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys

#: The mark of a directory that hides what is below it; others of the overlay's own are no business of ours.
_OPAQUE, _OWN = "trusted.overlay.opaque", "trusted.overlay."


def merge(below: str, above: str) -> None:
    """Moves all of the layer ``above`` into the one below it, and removes it. Nothing when it is not there.

    Raises OSError; both are layers as before then.
    """
    if not os.path.isdir(above):
        return
    #: (into, from, whether what it holds was moved)
    todo = [(below, above, False)]
    while todo:
        into, source, moved = todo.pop()
        if moved:
            _copy_attributes(source, into)
            os.rmdir(source)
            continue
        todo.append((into, source, True))
        with os.scandir(source) as found:
            entries = list(found)
        for entry in entries:
            target = os.path.join(into, entry.name)
            if not entry.is_dir(follow_symlinks=False):
                _remove_tree(target)
                os.replace(entry.path, target)
            elif _is_directory(target) and not _opaque(entry.path):
                todo.append((target, entry.path, False))
            else:
                if os.path.lexists(target) and not _opaque(entry.path):
                    # A file or a mark of removal: what is further below was hidden, and stays so.
                    os.setxattr(entry.path, _OPAQUE, b"y", follow_symlinks=False)
                _remove(target)
                os.rename(entry.path, target)


def _remove(path: str) -> None:
    if _is_directory(path):
        _remove_tree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _remove_tree(path: str) -> None:
    """Removes a directory with what is in it; nothing when it is none."""
    if _is_directory(path):
        subprocess.run(["rm", "-rf", "--one-file-system", "--", path], check=True, stdin=subprocess.DEVNULL)


def _is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _opaque(path: str) -> bool:
    try:
        return os.getxattr(path, _OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


def _copy_attributes(source: str, into: str) -> None:
    """Owner, mode, times and attributes of a directory."""
    found = os.lstat(source)
    names = {name for name in os.listxattr(source, follow_symlinks=False) if not name.startswith(_OWN)}
    for name in os.listxattr(into, follow_symlinks=False):
        if name not in names and not name.startswith(_OWN):
            os.removexattr(into, name, follow_symlinks=False)
    os.chown(into, found.st_uid, found.st_gid, follow_symlinks=False)
    os.chmod(into, stat.S_IMODE(found.st_mode))
    for name in names:
        os.setxattr(into, name, os.getxattr(source, name, follow_symlinks=False), follow_symlinks=False)
    os.utime(into, ns=(found.st_atime_ns, found.st_mtime_ns), follow_symlinks=False)


if __name__ == "__main__":
    for layer in sys.argv[2:]:
        merge(sys.argv[1], layer)
