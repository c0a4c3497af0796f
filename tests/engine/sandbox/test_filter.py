"""The system-call filter of both machines, run by a small machine of our own: aarch64 is checked on x86_64, too."""

from __future__ import annotations

import errno
import re
import struct
from functools import cache
from pathlib import Path

import pytest

from tests.support.needs import needs
from vetro.engine.sandbox.calls import CHECKED, DEADLY, FREE, MACHINES
from vetro.engine.sandbox.filter import install, program

ALLOW, REFUSE, KILL = "allow", "refuse", "kill"
VERDICTS = {0x7FFF0000: ALLOW, 0x80000000: KILL, 0x00050000 | errno.EPERM: REFUSE}
OLD_ONLY = {"open", "stat", "lstat", "poll", "access", "readlink", "time"}


@cache
def instructions(machine: str) -> list[tuple[int, int, int, int]]:
    """The filter as (operation, jump if true, jump if false, value)."""
    return list(struct.iter_unpack("=HBBI", program(machine)))


def verdict(machine: str, call: str | int, *arguments: int, architecture: int | None = None) -> str:
    """What the filter says of a call, by its name or number."""
    known = MACHINES[machine]
    number = known.numbers[call] if isinstance(call, str) else call
    given = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, known.architecture if architecture is None else architecture, 0, *given)
    code = instructions(machine)
    register, place = 0, 0
    while True:
        operation, yes, no, value = code[place]
        place += 1
        if operation == 0x20:
            (register,) = struct.unpack_from("<I", data, value)
        elif operation == 0x06:
            return VERDICTS[value]
        else:
            holds = {0x15: register == value, 0x45: register & value != 0, 0x35: register >= value}[operation]
            place += yes if holds else no


@pytest.fixture(params=sorted(MACHINES))
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_each_machine_has_a_number_for_each_call(machine: str) -> None:
    missing = (FREE | CHECKED | DEADLY) - set(MACHINES[machine].numbers)
    assert missing == (OLD_ONLY if machine == "aarch64" else set())
    assert len(set(MACHINES[machine].numbers.values())) == len(MACHINES[machine].numbers)


def test_free_calls_are_allowed_and_deadly_ones_kill(machine: str) -> None:
    for name, number in MACHINES[machine].numbers.items():
        wanted = KILL if name in DEADLY else ALLOW if name in FREE else None
        if wanted is not None:
            assert verdict(machine, number) == wanted, name


def test_all_other_numbers_are_refused(machine: str) -> None:
    known = set(MACHINES[machine].numbers.values())
    assert {verdict(machine, number) for number in range(600) if number not in known} == {REFUSE}


#: Calls that matter most, by number and machine: none is in any list.
@pytest.mark.parametrize(
    ("name", "x86_64", "aarch64"),
    [
        ("socket", 41, 198), ("connect", 42, 203), ("sendto", 44, 206), ("sendmsg", 46, 211), ("clone", 56, 220),
        ("fork", 57, None), ("vfork", 58, None), ("execve", 59, 221), ("kill", 62, 129), ("tgkill", 234, 131),
        ("unlink", 87, None), ("unlinkat", 263, 35), ("mkdirat", 258, 34), ("creat", 85, None), ("truncate", 76, 45),
        ("setuid", 105, 146), ("setresuid", 117, 147), ("capset", 126, 91), ("chroot", 161, 51), ("unshare", 272, 97),
        ("prctl", 157, 167), ("seccomp", 317, 277), ("memfd_create", 319, 279), ("execveat", 322, 281),
        ("clone3", 435, 435), ("openat2", 437, 437), ("io_uring_setup", 425, 425), ("pidfd_open", 434, 434),
        ("landlock_restrict_self", 446, 446), ("ftruncate", 77, 46), ("fchmodat", 268, 53), ("nanosleep", 35, 101),
        ("setrlimit", 160, 164), ("shmget", 29, 194), ("keyctl", 250, 219), ("pwrite64", 18, 68),
    ],
)  # fmt: skip
def test_what_reaches_outside_is_refused(name: str, x86_64: int, aarch64: int | None) -> None:
    assert verdict("x86_64", x86_64) == REFUSE
    if aarch64 is not None:
        assert verdict("aarch64", aarch64) == REFUSE


@pytest.mark.parametrize(
    ("call", "arguments", "wanted"),
    [
        ("openat", (-100 & 0xFFFFFFFF, 1, 0o2000000), ALLOW),  # O_CLOEXEC
        ("openat", (3, 1, 0o200000 | 0o2000000), ALLOW),  # a folder
        ("openat", (3, 1, 0o1), REFUSE),
        ("openat", (3, 1, 0o2), REFUSE),
        ("openat", (3, 1, 0o3), REFUSE),
        ("openat", (3, 1, 0o100), REFUSE),  # O_CREAT, even for reading
        ("openat", (3, 1, 0o1000), REFUSE),  # O_TRUNC
        ("openat", (3, 1, 0o2000), REFUSE),  # O_APPEND
        ("openat", (3, 1, 0o20000000), REFUSE),  # O_TMPFILE
        ("openat", (3, 1, 0o10000000), REFUSE),  # O_PATH
        ("mmap", (0, 4096, 3, 0x22), ALLOW),
        ("mmap", (0, 4096, 5, 0x2), ALLOW),  # the code of a library, from its file
        ("mmap", (0, 4096, 7, 0x2), REFUSE),
        ("mmap", (0, 4096, 5, 0x22), REFUSE),
        ("mmap", (0, 4096, 4, 0x20), REFUSE),
        ("mprotect", (0, 4096, 3), ALLOW),
        ("mprotect", (0, 4096, 4), REFUSE),
        ("mprotect", (0, 4096, 5), REFUSE),
        ("fcntl", (3, 1030), ALLOW),
        ("fcntl", (3, 8), REFUSE),  # F_SETOWN: signals to others
        ("fcntl", (3, 1024), REFUSE),  # F_SETLEASE
        ("fcntl", (3, 4), REFUSE),
        ("ioctl", (3, 0x5401), ALLOW),
        ("ioctl", (3, 0x5412), REFUSE),  # TIOCSTI: typing for the terminal's user
        ("prlimit64", (0, 7, 0), ALLOW),
        ("prlimit64", (0, 7, 1), REFUSE),
        ("prlimit64", (0, 7, 1 << 32), REFUSE),  # a pointer whose lower half is zero
        ("prlimit64", (0, 9, 1), ALLOW),
        ("prlimit64", (1, 7, 0), REFUSE),
        ("prlimit64", (1, 9, 1), REFUSE),
    ],
)
def test_arguments_decide(machine: str, call: str, arguments: tuple[int, ...], wanted: str) -> None:
    assert verdict(machine, call, *arguments) == wanted


def test_the_old_open_is_looked_at_as_well() -> None:
    assert verdict("x86_64", "open", 1, 0) == ALLOW
    assert verdict("x86_64", "open", 1, 0o1101) == REFUSE


def test_another_calling_convention_kills(machine: str) -> None:
    assert verdict(machine, "read", architecture=0x40000003) == KILL  # 32 bits: other numbers
    if machine == "x86_64":
        assert verdict(machine, 0x40000000) == KILL  # x32


@needs(Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h").exists(), "the headers of the kernel")
def test_the_numbers_are_those_of_the_kernel() -> None:
    def numbers(path: str, pattern: str) -> dict[str, int]:
        return {m[1]: int(m[2]) for m in re.finditer(pattern, Path(path).read_text(), re.MULTILINE)}

    own = numbers("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", r"^#define __NR_(\w+)\s+(\d+)")
    assert {name: own[name] for name in MACHINES["x86_64"].numbers} == MACHINES["x86_64"].numbers
    common = numbers("/usr/include/asm-generic/unistd.h", r"^#define __NR(?:3264)?_(\w+)\s+(\d+)")
    common["newfstatat"] = common["fstatat"]
    assert {name: common[name] for name in MACHINES["aarch64"].numbers} == MACHINES["aarch64"].numbers


def test_a_machine_without_table_is_told() -> None:
    with pytest.raises(OSError, match="no list of system calls for riscv64"):
        install("riscv64")
