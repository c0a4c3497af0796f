"""`FolderSizes`: what folders of servers take on the disk, looked at seldom and within bounds."""

from __future__ import annotations

import os
import time
from pathlib import Path

#: Seconds for which a size holds; entries that are counted at most; seconds that all of one round may take.
_HOLDS, _MOST, _ROUND = 600.0, 50_000, 0.5


class FolderSizes:
    """Remembers sizes. A folder that is too large to be counted, or whose turn has not come, has none."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[float, int | None]] = {}

    def of(self, folders: dict[str, Path]) -> dict[str, int | None]:
        """By the same names. Whose size is oldest comes first; what no time is left for keeps the size it had."""
        now = time.monotonic()
        self._known = {path: self._known[path] for path in folders.values() if path in self._known}
        stale = [
            path
            for path in folders.values()
            if self._known.get(path, (0.0, None))[0] + _HOLDS < now or path not in self._known
        ]
        for path in sorted(stale, key=lambda one: self._known.get(one, (0.0, None))[0]):
            if time.monotonic() - now > _ROUND:
                break
            self._known[path] = (time.monotonic(), _size(path))
        return {name: self._known[path][1] if path in self._known else None for name, path in folders.items()}


def _size(folder: Path) -> int | None:
    size, count = 0, 0
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    count += 1
                    if count > _MOST:
                        return None
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:  # it went meanwhile
            continue
    return size
