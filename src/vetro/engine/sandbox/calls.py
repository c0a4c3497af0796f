"""Which system calls a task process may make, by machine. What is not listed is refused with EPERM.

An interpreter that computes, reads files and talks over the one pipe it was given needs these and no others. There is
no call in here that makes a process, a thread, a socket, a file or a name in a folder, that changes who the process is,
or that reaches another process.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Machine(NamedTuple):
    """The numbers of one machine."""

    #: How the kernel names its calling convention (AUDIT_ARCH_*).
    architecture: int
    numbers: dict[str, int]


#: Allowed with any arguments.
FREE: Final = frozenset({
    "read", "readv", "write", "writev", "pread64", "lseek", "close", "poll", "ppoll", "dup", "stat", "lstat", "fstat",
    "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "getdents64",
    "fadvise64", "brk", "munmap", "mremap", "madvise", "futex", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
    "sigaltstack", "restart_syscall", "setitimer", "getitimer", "clock_gettime", "clock_getres", "gettimeofday",
    "time", "times", "getrusage", "getrlimit", "getrandom", "uname", "sysinfo", "sched_yield", "getpid", "gettid",
    "getppid", "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups", "exit", "exit_group",
})  # fmt: skip
#: Allowed with some arguments only, see `filter`.
CHECKED: Final = frozenset({"open", "openat", "mmap", "mprotect", "fcntl", "ioctl", "prlimit64"})
#: Who asks for one of these is no accident: the process is killed.
DEADLY: Final = frozenset({
    "ptrace", "process_vm_readv", "process_vm_writev", "bpf", "userfaultfd", "init_module", "finit_module",
    "delete_module", "kexec_load", "kexec_file_load", "mount", "umount2", "pivot_root", "setns", "open_by_handle_at",
    "perf_event_open", "reboot", "swapon", "swapoff",
})  # fmt: skip

_X86_64 = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8, "mmap": 9,
    "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "ioctl": 16,
    "pread64": 17, "readv": 19, "writev": 20, "access": 21, "sched_yield": 24, "mremap": 25, "madvise": 28, "dup": 32,
    "getitimer": 36, "setitimer": 38, "getpid": 39, "exit": 60, "uname": 63, "fcntl": 72, "getcwd": 79, "readlink": 89,
    "gettimeofday": 96, "getrlimit": 97, "getrusage": 98, "sysinfo": 99, "times": 100, "ptrace": 101, "getuid": 102,
    "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110, "getgroups": 115, "getresuid": 118, "getresgid": 120,
    "sigaltstack": 131, "pivot_root": 155, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169,
    "init_module": 175, "delete_module": 176, "gettid": 186, "time": 201, "futex": 202, "getdents64": 217,
    "restart_syscall": 219, "fadvise64": 221, "clock_gettime": 228, "clock_getres": 229, "exit_group": 231,
    "kexec_load": 246, "openat": 257, "newfstatat": 262, "readlinkat": 267, "faccessat": 269, "ppoll": 271,
    "perf_event_open": 298, "prlimit64": 302, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
    "process_vm_writev": 311, "finit_module": 313, "getrandom": 318, "kexec_file_load": 320, "bpf": 321,
    "userfaultfd": 323, "statx": 332, "faccessat2": 439,
}  # fmt: skip

#: aarch64 has no old variants (open, stat, poll, access, readlink, time): the newer ones serve.
_AARCH64 = {
    "getcwd": 17, "dup": 23, "fcntl": 25, "ioctl": 29, "umount2": 39, "mount": 40, "pivot_root": 41, "faccessat": 48,
    "openat": 56, "close": 57, "getdents64": 61, "lseek": 62, "read": 63, "write": 64, "readv": 65, "writev": 66,
    "pread64": 67, "ppoll": 73, "readlinkat": 78, "newfstatat": 79, "fstat": 80, "exit": 93, "exit_group": 94,
    "futex": 98, "getitimer": 102, "setitimer": 103, "kexec_load": 104, "init_module": 105, "delete_module": 106,
    "clock_gettime": 113, "clock_getres": 114, "ptrace": 117, "sched_yield": 124, "restart_syscall": 128,
    "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "reboot": 142,
    "getresuid": 148, "getresgid": 150, "times": 153, "getgroups": 158, "uname": 160, "getrlimit": 163,
    "getrusage": 165, "gettimeofday": 169, "getpid": 172, "getppid": 173, "getuid": 174, "geteuid": 175, "getgid": 176,
    "getegid": 177, "gettid": 178, "sysinfo": 179, "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222,
    "fadvise64": 223, "swapon": 224, "swapoff": 225, "mprotect": 226, "madvise": 233, "perf_event_open": 241,
    "prlimit64": 261, "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
    "finit_module": 273, "getrandom": 278, "bpf": 280, "userfaultfd": 282, "statx": 291, "kexec_file_load": 294,
    "faccessat2": 439,
}  # fmt: skip

MACHINES: Final = {"x86_64": Machine(0xC000003E, _X86_64), "aarch64": Machine(0xC00000B7, _AARCH64)}
