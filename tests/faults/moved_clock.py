"""The wall clock of a command and all its children, moved while they run; what counts seconds stays as it is.

A library that is loaded before all others answers for the kernel and adds what a file says. (libfaketime 0.9.10 cannot
leave the monotonic clock alone: `time.sleep` then fails with EINVAL.)
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

from tests.support.needs import need

_SOURCE = """\
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long long *ahead;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("MOVED_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *found = file < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (found != MAP_FAILED) ahead = found;
}

int clock_gettime(clockid_t id, struct timespec *at) {
    int failed = (int)syscall(SYS_clock_gettime, id, at);
    if (!failed && ahead && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) at->tv_sec += *ahead;
    return failed;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
"""


class MovedClock:
    """``settings`` are for the environment of what goes by this clock; `set` moves it, for all that run, at once."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            need("a C compiler")
            raise AssertionError
        source, library = folder / "clock.c", folder / "clock.so"
        source.write_text(_SOURCE)
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source)], check=True, timeout=60)
        self._file = folder / "ahead"
        self._file.write_bytes(bytes(8))
        self.settings = {"LD_PRELOAD": str(library), "MOVED_CLOCK": str(self._file)}

    def set(self, seconds: float) -> None:
        """So many seconds ahead of the machine's from now on, or behind it."""
        handle = os.open(self._file, os.O_WRONLY)
        try:
            os.pwrite(handle, struct.pack("q", int(seconds)), 0)
        finally:
            os.close(handle)
