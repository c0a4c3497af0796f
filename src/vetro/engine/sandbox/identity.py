"""Who the task process is: a user who owns nothing and may do nothing."""

from __future__ import annotations

import os
import signal

from vetro.engine.sandbox import kernel

#: User and group of tasks when the zygote is root: in the range that systems reserve and give to nobody.
TASK_ID = 65_521


def drop(*, keep_reading: bool, parent: int) -> str:
    """Becomes the tasks' user and gives up all capabilities; what is in force, for people.

    ``keep_reading`` keeps the capability to read files whatever their mode says: where Landlock says what can be read,
    packages need not be readable for everybody. Raises `OSError` when it stays the user it was, still without
    capabilities; the process ends when it cannot even give those up.
    """
    kept: tuple[int, ...] = (kernel.CAP_DAC_READ_SEARCH,) if keep_reading and os.geteuid() == 0 else ()
    try:
        text = _become_nobody(bool(kept)) if os.geteuid() == 0 else f"user {os.geteuid()}, that of the engine"
    finally:
        kernel.prctl(kernel.PR_CAP_AMBIENT, kernel.PR_CAP_AMBIENT_CLEAR_ALL)
        held = kernel.capabilities()
        kept = tuple(number for number in kept if held >> number & 1)  # a container's root may lack it
        kernel.set_capabilities(*kept)
        # Nobody but root may look into this process; set after the change of user, which resets it.
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent or kernel.capabilities() != sum(1 << number for number in kept):
            os._exit(1)  # the zygote died before the kernel was told to tell us; or what holds nowhere else failed
    return text + (", reading what the layer 'files' allows" if kept else ", no capabilities")


def _become_nobody(keep: bool) -> str:
    if keep:
        kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(TASK_ID, TASK_ID, TASK_ID)
    os.setresuid(TASK_ID, TASK_ID, TASK_ID)
    return f"user {TASK_ID}"
