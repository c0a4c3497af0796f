"""The way of a command into a guest: who may look into it meanwhile, what it brings along, how it ends."""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support import call_filters
from tests.support.needs import need, needs
from vetro.clouds.guest import entrance
from vetro.clouds.guest.exec import entering

pytestmark = [
    pytest.mark.attack("processes", "walls of guests"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a guest its numbers"),
]

FIRST = 700_000
_libc = ctypes.CDLL(None, use_errno=True)
_USER, _SEIZE, _DROP_BOUND, _SYS_TIME = 0x10000000, 0x4206, 24, 25
#: Namespaces as a guest has them; its first process sleeps.
_GUEST = (
    "import ctypes, os, sys; libc = ctypes.CDLL(None)\n"
    "assert libc.unshare(0x7c020000) == 0; print('unshared', flush=True); sys.stdin.readline()\n"
    "os.setgroups([]); os.setgid(0); os.setuid(0)\n"
    "if os.fork() == 0:\n"
    "    assert libc.prctl(24, 25, 0, 0, 0) == 0 and libc.mount(b'proc', b'/proc', b'proc', 0, None) == 0\n"
    "    libc.prctl(1, 9, 0, 0, 0); print('begun', flush=True); sys.stdin.read(); os._exit(0)\n"
    "os.wait()\n"
)


@pytest.fixture(scope="module")
def leader() -> Iterator[int]:
    words = [sys.executable, "-I", "-S", "-c", _GUEST]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as outer:
        assert outer.stdin and outer.stdout
        assert outer.stdout.readline() == "unshared\n"
        for kind in ("uid", "gid"):
            Path(f"/proc/{outer.pid}/{kind}_map").write_text(f"0 {FIRST} 65536")
        outer.stdin.write("\n")
        outer.stdin.flush()
        assert outer.stdout.readline() == "begun\n"
        yield int(Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text())


def start(leader: int, *words: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-I", "-S", str(entrance.__file__), str(leader), "--", *words]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(program, env=env, start_new_session=True, **streams)


def said(words: Sequence[str]) -> tuple[bytes, bytes, int]:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True)
    return done.stdout, done.stderr, done.returncode


def test_the_guests_root_cannot_trace_what_is_no_program_of_the_guest_yet(leader: int) -> None:
    """It would make a process of this machine's root write to this machine's programs (as CVE-2016-9962)."""
    with start(leader, "sh", "-c", "echo in; read line") as held:
        assert held.stdout and held.stdout.readline() == b"in\n"
        namespace = os.open(f"/proc/{leader}/ns/user", os.O_RDONLY)
        guest_root = os.fork()  # one that sees it sooner than a real one
        if guest_root == 0:
            ours = _libc.setns(namespace, _USER) == 0
            os.setgid(0)
            os.setuid(0)
            seized = _libc.ptrace(_SEIZE, held.pid, 0, 0) == 0
            try:
                os.readlink(f"/proc/{held.pid}/exe")
            except PermissionError:
                os._exit(2 if seized or not ours else 0)
            os._exit(3)
        os.close(namespace)
        assert os.waitstatus_to_exitcode(os.waitpid(guest_root, 0)[1]) == 0
        held.communicate(b"\n")


def test_a_command_brings_nothing_of_this_machine(leader: int) -> None:
    with start(leader, "cat", "/proc/self/environ", env={"VETRO_DATABASE_URL": "postgresql://u:secret@db"}) as held:
        assert held.communicate() == (b"", b"")
    script = "ls -l /proc/self/fd; id -u; cat /proc/self/uid_map; env"
    out, _, _ = said(entering(leader, [], ["sh", "-c", script], {"A": "b c"}))
    lines = out.decode().splitlines()
    assert len([line for line in lines if " -> " in line]) == 4, "three streams, and the folder that is listed"
    assert "0" in lines and ["0", str(FIRST), "65536"] in [line.split() for line in lines]
    assert "A=b c" in lines and not any(line.startswith("PYTEST") for line in lines)


def test_a_command_has_none_of_this_machine_s_keys(leader: int) -> None:
    """It may not even ask for keys, but the kernel uses those of the session for it."""
    keyctl = entrance._KEYCTL[os.uname().machine]
    have = (
        "import ctypes, os, sys; libc = ctypes.CDLL(None)\n"
        f"libc.syscall({keyctl}, 1, None, 0, 0, 0)\n"
        f"if libc.syscall({keyctl - 2}, b'user', b'vetro-test', b'secret', 6, -3) < 0: sys.exit(9)\n"
        "os.execvp(sys.argv[1], sys.argv[1:])\n"
    )
    host, _, code = said([sys.executable, "-c", have, "cat", "/proc/keys"])
    if code == 9:
        need("this kernel keeps no keys")
    assert b" vetro-test: " in host
    out, error, code = said([sys.executable, "-c", have, *entering(leader, [], ["cat", "/proc/keys"], {})])
    assert b"vetro-test" not in out and code == 0, error


#: Calls with their arguments, and what becomes of them. The last ones: newer than any, of x32, of the kernel's audit.
_TRIED = {
    "add_key": (248, errno.EPERM), "keyctl": (250, errno.EPERM), "init_module": (175, errno.EPERM),
    "kexec_load": (246, errno.EPERM), "bpf": (321, errno.EPERM), "perf_event_open": (298, errno.EPERM),
    "open_by_handle_at": (304, errno.EPERM), "swapon": (167, errno.EPERM), "quotactl": (179, errno.EPERM),
    "newer": (599, errno.ENOSYS), "x32": (0x40000000 + 39, errno.ENOSYS), "getpid": (39, 0),
}  # fmt: skip


@needs(shutil.which("perl"), "perl, which makes system calls")
@needs(os.uname().machine == "x86_64", "the numbers of x86_64")
def test_a_command_is_refused_the_calls_that_are_the_machine_s(leader: int) -> None:
    tries = [f"$! = 0; syscall({number}, 0, 0, 0, 0, 0); print $! + 0, qq( );" for number, _ in _TRIED.values()]
    audit = "$! = 0; syscall(41, 16, 3, 9); print $! + 0, qq( ); $! = 0; syscall(41, 16, 3, 0); print $! + 0"
    script = f"open F, '/proc/self/status'; print grep(/^Seccomp:/, <F>); {''.join(tries)} {audit}"
    out, error, _ = said(entering(leader, [], ["perl", "-e", script], {}))
    status, answers = out.decode().splitlines()
    assert status.split() == ["Seccomp:", "2"], error
    *found, audited, routed = map(int, answers.split())
    assert dict(zip(_TRIED, found, strict=True)) == {name: wanted for name, (_, wanted) in _TRIED.items()}
    assert (audited, routed) == (errno.EAFNOSUPPORT, 0)


@needs(ctypes.util.find_library("seccomp"), "libseccomp, which knows the numbers of calls")
def test_calls_have_the_numbers_that_they_have_everywhere() -> None:
    library = ctypes.CDLL(ctypes.util.find_library("seccomp"))
    for machine, conventions in entrance.MACHINES.items():
        code = [call_filters.read(entrance.call_filter(machine))]
        for convention, column in conventions:
            for name, numbers in entrance.REFUSED.items():
                number = library.seccomp_syscall_resolve_name_arch(ctypes.c_uint32(convention), name.encode())
                assert number == numbers[column] or (number < 0 and numbers[column] is None), (name, column)
                if numbers[column] is not None:
                    assert call_filters.answer(code, convention, number) == 0x50000 | errno.EPERM
            for name in ("read", "clone", "execve", "mount", "setns", "ptrace", "io_uring_setup", "cacheflush"):
                number = library.seccomp_syscall_resolve_name_arch(ctypes.c_uint32(convention), name.encode())
                assert number < 0 or call_filters.answer(code, convention, number) == call_filters.ALLOWED, name
        assert call_filters.answer(code, 0xC0000016, 0) == 0x50000 | errno.EPERM, "calls of another machine"
    assert entrance.call_filter("sparc64") == b""


def test_a_command_has_no_capability_that_the_guest_has_not(leader: int) -> None:
    def bound(text: str) -> int:
        return next(int(line.split()[1], 16) for line in text.splitlines() if line.startswith("CapBnd:"))

    out, _, _ = said(entering(leader, [], ["cat", "/proc/self/status"], {}))
    own = bound(Path(f"/proc/{leader}/status").read_text())
    assert bound(out.decode()) == own and not own >> _SYS_TIME & 1
    assert "CapEff:\t" + f"{own:016x}" in out.decode()


def test_keys_that_interrupt_are_for_the_command(leader: int) -> None:
    with start(leader, "sh", "-c", "trap 'echo told' INT; echo in; read line; echo on; read line; exit 4") as held:
        assert held.stdin and held.stdout and held.stdout.readline() == b"in\n"
        os.killpg(held.pid, signal.SIGINT)
        assert held.stdout.readline() == b"told\n"
        held.stdin.write(b"\n\n")
        held.stdin.flush()
        assert held.wait() == 4


def test_it_ends_as_the_command_does(leader: int) -> None:
    assert said(entering(leader, [], ["sh", "-c", "exit 7"], {}))[2] == 7
    assert said(entering(leader, [], ["sh", "-c", "kill -9 $$"], {}))[2] == -signal.SIGKILL
    assert said(entering(leader, [], ["sh", "-c", "kill -INT $$"], {}))[2] == -signal.SIGINT
    assert said(entering(leader, [], ["no-such-program"], {}))[2] == 127
    gone = subprocess.Popen(["true"])
    gone.wait()
    out, error, code = said(entering(gone.pid, [], ["true"], {}))
    assert (out, code) == (b"", 1) and error == b"the server cannot be entered: No such process\n"
    assert said(entering(os.getpid(), [], ["id"], {}))[:2] == (b"", b"the server cannot be entered: Invalid argument\n")
