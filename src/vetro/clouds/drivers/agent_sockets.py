"""The socket at which the agent of one server is heard, in the folder that only that server sees."""

from __future__ import annotations

import os
import socket
from pathlib import Path

#: Connections that wait to be taken.
_WAITING = 4
SOCKET = "agent.sock"


def listen(folder: Path) -> tuple[socket.socket, int]:
    """A socket in place of the one that was there, and a descriptor that stands for its name (`stands`).

    Whoever gets both closes them. Raises OSError.
    """
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        try:
            os.unlink(SOCKET, dir_fd=directory)
        except FileNotFoundError:
            pass
        # The path through the descriptor is short whatever the folder is called: socket paths have 107 bytes.
        listener.bind(f"/proc/self/fd/{directory}/{SOCKET}")
        # The guest's root has another user id here; who sees the folder is the server that it belongs to.
        os.chmod(SOCKET, 0o666, dir_fd=directory)
        listener.listen(_WAITING)
        return listener, os.open(SOCKET, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except BaseException:
        listener.close()
        raise
    finally:
        os.close(directory)


def stands(mark: int) -> bool:
    """Whether the socket is still where it was made."""
    return os.fstat(mark).st_nlink > 0
