"""A native class that a hostile package would like to have: it tries everything that a process can try.

Each attempt ends in ``done …`` or in ``refused NAME``, the name of the operating system's error. The functions can also
be called outside of a task process, to see that they do work where nothing forbids them.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any

from vetro.muranopl.types.native import method

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int) -> str:
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return str(result)


def inet_socket(where: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        return str(made.fileno())


def unix_socket(where: str) -> str:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.join(where, "socket"))
        return "bound"


def abstract_socket(where: str) -> str:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"\0vetro-test-{os.getpid()}")
        return "bound"


def socket_pair(where: str) -> str:
    for end in socket.socketpair():
        end.close()
    return "made"


def write_file(where: str) -> str:
    with open(os.path.join(where, "written"), "w") as file:
        return str(file.write("x"))


def append_file(where: str) -> str:
    with open(os.path.join(where, "journal.db"), "a") as file:
        return str(file.write("x"))


def cut_file(where: str) -> str:
    os.truncate(os.path.join(where, "journal.db"), 0)
    return "cut"


def make_folder(where: str) -> str:
    os.mkdir(os.path.join(where, "made"))
    return "made"


def remove_file(where: str) -> str:
    os.unlink(os.path.join(where, "journal.db"))
    return "removed"


def rename_file(where: str) -> str:
    os.rename(os.path.join(where, "journal.db"), os.path.join(where, "other"))
    return "renamed"


def link_file(where: str) -> str:
    os.symlink("/etc", os.path.join(where, "link"))
    return "linked"


def change_mode(where: str) -> str:
    os.chmod(os.path.join(where, "journal.db"), 0o777)
    return "changed"


def change_times(where: str) -> str:
    os.utime(os.path.join(where, "journal.db"), (1, 1))
    return "changed"


def read_journal(where: str) -> str:
    with open(os.path.join(where, "journal.db"), "rb") as file:
        return str(len(file.read()))


def list_journal(where: str) -> str:
    return ",".join(os.listdir(where))


def read_accounts(where: str) -> str:
    with open("/etc/passwd", "rb") as file:
        return str(len(file.read()))


def list_root(where: str) -> str:
    return ",".join(os.listdir("/"))


def read_own_memory_map(where: str) -> str:
    with open("/proc/self/maps", "rb") as file:
        return str(len(file.read()))


def read_memory_of(where: str) -> str:
    with open(f"/proc/{where}/mem", "rb", buffering=0) as file, open(f"/proc/{where}/maps", encoding="ascii") as maps:
        file.seek(int(maps.readline().split("-")[0], 16))
        return str(len(file.read(16)))


def read_environment_of(where: str) -> str:
    with open(f"/proc/{where}/environ", "rb") as file:
        return str(len(file.read()))


def signal_to(where: str) -> str:
    os.kill(int(where), signal.SIGCONT)
    return "sent"


def signal_by_descriptor(where: str) -> str:
    os.close(os.pidfd_open(int(where)))
    return "opened"


def vm_read(where: str) -> str:
    class Area(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    buffer = ctypes.create_string_buffer(8)
    local, remote = Area(ctypes.addressof(buffer), 8), Area(id(None), 8)
    return checked(libc.process_vm_readv(int(where), ctypes.byref(local), 1, ctypes.byref(remote), 1, 0))


def trace(where: str) -> str:
    libc.ptrace.restype = ctypes.c_long
    return checked(libc.ptrace(0x4206, int(where), None, None))  # PTRACE_SEIZE


def fork(where: str) -> str:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "forked"


def spawn(where: str) -> str:
    return str(os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1])


def run_program(where: str) -> str:
    return str(subprocess.run([sys.executable, "-c", ""], check=False).returncode)


def replace_itself(where: str) -> str:
    os.execv("/bin/true", ["true"])


def start_thread(where: str) -> str:
    thread = threading.Thread(target=lambda: None)
    try:
        thread.start()
    except RuntimeError:
        raise OSError(errno.EPERM, "no thread") from None
    thread.join()
    return "ran"


def become_root(where: str) -> str:
    os.setresuid(0, 0, 0)
    return str(os.geteuid())


def other_root(where: str) -> str:
    os.chroot(where)
    return "changed"


def new_namespace(where: str) -> str:
    return checked(libc.unshare(0x10000000))


def raise_limits(where: str) -> str:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    except ValueError:  # what Python makes of EPERM
        raise OSError(errno.EPERM, "not allowed") from None
    return "set"


def file_in_memory(where: str) -> str:
    os.close(os.memfd_create("x"))
    return "made"


def code_in_memory(where: str) -> str:
    with mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC):
        return "mapped"


def code_by_protection(where: str) -> str:
    libc.mmap.restype = ctypes.c_void_p
    area = libc.mmap(None, ctypes.c_size_t(4096), 3, 0x22, -1, ctypes.c_long(0))
    try:
        return checked(libc.mprotect(ctypes.c_void_p(area), ctypes.c_size_t(4096), 5))
    finally:
        libc.munmap(ctypes.c_void_p(area), ctypes.c_size_t(4096))


def owner_of_pipe(where: str) -> str:
    import fcntl

    fd = os.open(os.devnull, os.O_RDONLY) if os.path.exists(os.devnull) and where == "outside" else 0
    return str(fcntl.fcntl(fd, fcntl.F_SETOWN, 0))


def new_pipe(where: str) -> str:
    for end in os.pipe():
        os.close(end)
    return "made"


def sleep(where: str) -> str:
    time.sleep(0.001)
    return "slept"


def shared_memory(where: str) -> str:
    made = libc.shmget(0, 4096, 0o1600)
    checked(made)
    libc.shmctl(made, 0, None)
    return "made"


def kernel_keys(where: str) -> str:
    return checked(libc.syscall(250 if os.uname().machine == "x86_64" else 219, 0, -2, 0))  # keyctl


def ring(where: str) -> str:
    fd = libc.syscall(425, 1, ctypes.create_string_buffer(struct.calcsize("16Q")))  # io_uring_setup
    checked(fd)
    os.close(fd)
    return "made"


#: What may be tried in a folder of the test's own; all of these work where nothing forbids them.
IN_FOLDER = {
    f.__name__: f
    for f in (
        inet_socket, unix_socket, abstract_socket, socket_pair, read_journal, list_journal, write_file, append_file,
        change_mode, change_times, cut_file, make_folder, link_file, rename_file, read_accounts, list_root,
        read_own_memory_map, fork, spawn, run_program, start_thread, raise_limits, file_in_memory, code_in_memory,
        code_by_protection, new_pipe, sleep,
    )
}  # fmt: skip
#: What is tried only inside: it would end or change the test itself, or needs rights that it need not have.
INSIDE = {
    f.__name__: f
    for f in (remove_file, replace_itself, become_root, other_root, new_namespace, owner_of_pipe, shared_memory,
              kernel_keys, ring)
}  # fmt: skip
#: What is tried on another process.
ON_PROCESS = {f.__name__: f for f in (read_memory_of, read_environment_of, signal_to, signal_by_descriptor)}
#: The process is killed for it.
DEADLY = {f.__name__: f for f in (vm_read, trace)}
ALL = {**IN_FOLDER, **INSIDE, **ON_PROCESS, **DEADLY}


def attempt(what: str, where: str) -> str:
    """``done …`` or ``refused NAME``."""
    try:
        return f"done {ALL[what](where)}"
    except OSError as error:
        return f"refused {errno.errorcode.get(error.errno or 0, error.errno)}"


class Attacker:
    """Native methods of class t.Attacker."""

    @method(static=True)
    def attempt(what: str, where: str) -> str:
        return attempt(what, where)

    @method(static=True)
    def attempt_all(where: str, names: Any) -> Any:
        return {name: attempt(name, where) for name in names}

    @method(static=True)
    def stubborn() -> None:
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass

    @method(static=True)
    def lazy_imports() -> str:
        import colorsys
        import wave

        return f"{colorsys.rgb_to_hsv(0, 0, 0)[2]} {wave.__name__}"

    @method(static=True)
    def cached(cx: Any, name: str) -> bool:
        from vetro.muranopl.compiler.unit import bundle_key

        cache = cx.session.code_cache
        found = cache.get(bundle_key(cx.session.types.find(name))) is not None
        cache.put("0" * 64, b"poison")
        return found and cache.get("0" * 64) is None

    @method(static=True)
    def put_off(cx: Any, text: str) -> None:
        session = cx.session
        session.at_end(lambda: session.perform("test.late", {"text": text}))

    @method(static=True)
    def setting(cx: Any, name: str) -> Any:
        return cx.session.settings[name]


def register(registry: Any) -> None:
    """Adds the class."""
    registry.native_class("t.Attacker", Attacker)
