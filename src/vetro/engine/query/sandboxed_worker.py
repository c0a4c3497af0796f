"""`sandboxed_worker`: a process in the sandbox of tasks that answers in bytes what it is asked in bytes.

For layers above that read what strangers made: archives, forms, pictures. They name a function of the installation
(`answering` of `Launcher`), which gets the `Installation` and gives a function of the pipe's descriptor; that one runs
inside. No package is loaded for it, and it has no effects: the pipe is all that it has.

Frames (`vetro.engine.task.messages`): ``{"t": "walled", "name", "readable", "memory_mib", "cpu_seconds"}`` goes in,
``{"t": "inside", "layers"}`` or ``{"t": "failed", "error"}`` comes out. After ``inside`` the pipe belongs to the two.
"""

from __future__ import annotations

from collections.abc import Sequence

from vetro.diagnostics import Text, decode_messages
from vetro.engine.task.launcher import FORK_SECONDS, Launcher, LauncherError, TaskProcess, TaskProcessEnded


def sandboxed_worker(
    launcher: Launcher, name: str, readable: Sequence[str] = (), *, memory_mib: int, cpu_seconds: float
) -> TaskProcess:
    """A process inside, with the function ``name`` waiting at `TaskProcess.stream`; the caller closes it.

    ``readable``: files and folders that it may read besides Python's own and the compile cache. ``memory_mib`` is what
    it may use beyond what it begins with, ``cpu_seconds`` its processor time. Raises `LauncherError` when there is no
    such process: also where a layer is missing that the launcher requires, or the user of tasks cannot read a path.
    """
    frame = {
        "t": "walled", "name": name, "readable": list(readable), "memory_mib": memory_mib, "cpu_seconds": cpu_seconds
    }  # fmt: skip
    for attempt in (1, 2):
        process = launcher.start()
        try:
            process.send(frame)
            message = process.receive(FORK_SECONDS)
            if message is None:
                raise LauncherError(Text("a process behind the walls did not answer"))
            if message["t"] != "inside":
                error = decode_messages(message["error"])
                failed = LauncherError(str(error["message"]))
                failed.hint = error.get("hint") or None
                raise failed
            return process
        except TaskProcessEnded:  # its zygote may have died; the next one may live
            process.close()
            if attempt == 2:
                raise LauncherError(Text("a process behind the walls died as soon as it was started")) from None
        except BaseException:
            process.close()
            raise
    raise AssertionError
