"""Makes one layer of an overlay of two: ``layers.py IMAGE BELOW ABOVE...`` merges each into the first, in this order.

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


def merge(image: str, below: str, above: str) -> None:
    """Moves all of the layer ``above`` into the one below it, and removes it. Nothing when it is not there.

    ``image`` is what lies under both. Raises OSError; both are layers as before then.
    """
    if not os.path.isdir(above):
        return
    #: (into, from, the directory of the image that shows through there, whether what it holds was moved)
    todo: list[tuple[str, str, str | None, bool]] = [(below, above, image, False)]
    while todo:
        into, source, beneath, moved = todo.pop()
        if moved:
            _copy_attributes(source, into)
            os.rmdir(source)
            continue
        todo.append((into, source, beneath, True))
        with os.scandir(source) as found:
            entries = list(found)
        for entry in entries:
            target = os.path.join(into, entry.name)
            under = None if beneath is None else os.path.join(beneath, entry.name)
            if _is_whiteout(entry) and not (under is not None and _exists(under)):
                # It would hide nothing any more, and the kernel may list it, as a name that nobody can open.
                _remove(target)
                os.unlink(entry.path)
            elif not entry.is_dir(follow_symlinks=False):
                _remove_tree(target)
                os.replace(entry.path, target)
            elif _is_directory(target) and not _opaque(entry.path):
                shows = under is not None and _is_directory(under) and not _opaque(target)
                todo.append((target, entry.path, under if shows else None, False))
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


def _exists(path: str) -> bool:
    """Raises OSError where that cannot be said."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


def _is_directory(path: str) -> bool:
    return _exists(path) and stat.S_ISDIR(os.lstat(path).st_mode)


def _is_whiteout(entry: os.DirEntry[str]) -> bool:
    """Whether it is the mark that a name of a layer below is gone: a device of no number."""
    found = entry.stat(follow_symlinks=False)
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == 0


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
    for layer in sys.argv[3:]:
        merge(sys.argv[1], sys.argv[2], layer)
